"""What a file is, from its name and its first bytes, and how a piece of text is shown as code.

A table of our own: `mimetypes` reads the machine's files, and so tells each machine something else.
"""

# Endings, and the word by which a fence names the language.
_CODE = (
    "c h:c cc:cpp cpp hpp:cpp cs:csharp css dart diff patch:diff ex:elixir exs:elixir go hs:haskell"
    " java jl:julia js:javascript mjs:javascript jsx kt:kotlin lua mk:makefile ml:ocaml php pl:perl proto"
    " py:python pyi:python r rb:ruby rs:rust scala sh:sh bash:bash zsh:zsh fish:fish sql swift tcl tf:hcl"
    " ts:typescript tsx vue zig"
)
_TYPES = (
    "png:image/png jpg:image/jpeg jpeg:image/jpeg gif:image/gif webp:image/webp bmp:image/bmp"
    " svg:image/svg+xml ico:image/x-icon avif:image/avif heic:image/heic tif:image/tiff tiff:image/tiff"
    " mp3:audio/mpeg wav:audio/wav ogg:audio/ogg flac:audio/flac m4a:audio/mp4 opus:audio/opus"
    " mp4:video/mp4 webm:video/webm mov:video/quicktime pdf:application/pdf zip:application/zip"
    " gz:application/gzip tgz:application/gzip tar:application/x-tar bz2:application/x-bzip2"
    " xz:application/x-xz zst:application/zstd 7z:application/x-7z-compressed whl:application/zip"
    " json:application/json jsonl:application/x-ndjson ipynb:application/json xml:application/xml"
    " yaml:application/yaml yml:application/yaml toml:application/toml wasm:application/wasm"
    " sqlite:application/vnd.sqlite3 db:application/vnd.sqlite3 html:text/html htm:text/html csv:text/csv"
    " tsv:text/tab-separated-values md:text/markdown markdown:text/markdown txt:text/plain log:text/plain"
    " rst:text/x-rst tex:text/x-tex ini:text/plain cfg:text/plain conf:text/plain"
)
_LANGUAGES = {end: word or end for end, _, word in (entry.partition(":") for entry in _CODE.split())}
_NAMED = {end: kind for end, _, kind in (entry.partition(":") for entry in _TYPES.split())} | {
    end: f"text/x-{word}" for end, word in _LANGUAGES.items()
}
_NAMES = {"makefile": "makefile", "dockerfile": "dockerfile"}  # what goes without an ending
_SIGNS = (
    (b"\x89PNG\r\n", "image/png"), (b"\xff\xd8\xff", "image/jpeg"), (b"GIF8", "image/gif"),
    (b"%PDF-", "application/pdf"), (b"PK\x03\x04", "application/zip"), (b"\x1f\x8b", "application/gzip"),
    (b"SQLite format 3\0", "application/vnd.sqlite3"), (b"\x7fELF", "application/x-elf"),
)  # fmt: skip
_TEXT = frozenset((
    "application/json", "application/x-ndjson", "application/xml", "application/yaml", "application/toml",
    "image/svg+xml",
))  # fmt: skip

BINARY, PLAIN = "application/octet-stream", "text/plain"


def guess(name: str, head: bytes) -> str:
    """The media type: what the name says, unless the first bytes contradict it; else what those say."""
    named = _NAMED.get(_ending(name)) or (f"text/x-{language(name)}" if language(name) else None)
    if named is not None:
        return BINARY if is_text(named) and b"\0" in head else named
    found = next((kind for sign, kind in _SIGNS if head.startswith(sign)), None)
    return found or (PLAIN if _is_utf8(head) else BINARY)


def is_text(media_type: str) -> bool:
    """Whether such a file can be read as it is."""
    return media_type.startswith("text/") or media_type in _TEXT


def is_image(media_type: str) -> bool:
    return media_type.startswith("image/")


def language(name: str) -> str:
    """The word by which a fence names what a file of that name is written in; empty when it is no code."""
    lower = name.lower()
    word = _LANGUAGES.get(_ending(name)) or _NAMES.get(lower.partition(".")[0], "")
    if word:
        return word
    kind = _NAMED.get(_ending(name), "").rpartition("/")[2]
    return kind if kind in ("json", "yaml", "toml", "xml", "html") else ""


def fenced(text: str, word: str = "") -> str:
    """A text as a block of code that nothing in it can close."""
    fence = "```"
    while fence in text:
        fence += "`"
    return f"{fence}{word}\n{text.rstrip()}\n{fence}"


def _ending(name: str) -> str:
    return name.lower().rpartition(".")[2] if "." in name else ""


def _is_utf8(head: bytes) -> bool:
    """Whether these bytes may begin a text; the last character may be cut."""
    if b"\0" in head:
        return False
    try:
        head.decode()
    except UnicodeDecodeError as exc:
        return len(head) - exc.start < 4 and exc.reason == "unexpected end of data"
    return True
