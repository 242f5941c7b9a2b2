"""Settings, where a room lives, and which project a directory belongs to.

One list of options, `Settings`: the config file's keys, the `POSTROOM_*` environment names and the
reference page all come from it.
"""

import os
import sys
from typing import Any, NamedTuple

from postroom import host
from postroom.errors import InvalidValue, NotHere
from postroom.home import ELSEWHERE, named
from postroom.home import beside as beside  # noqa: PLC0414 - it is ours, too
from postroom.home import default as default_home


class Settings(NamedTuple):
    """Every option with its default."""

    durability: str = "normal"
    lease_seconds: float = 15.0
    max_unproven: int = 5
    sweep_seconds: float = 30.0
    busy_seconds: float = 5.0
    gate_seconds: float = 3600.0
    max_hops: int = 20
    max_recipients: int = 25
    routes: str = "open"
    directions: str = "warn"
    sender_rate: int = 60
    sender_quota: int = 0
    recipient_rate: int = 0
    recipient_quota: int = 10_000
    digest_seconds: float = 0.0
    max_body_bytes: int = 1_048_576
    max_payload_bytes: int = 262_144
    max_attachment_bytes: int = 26_214_400
    spill_bytes: int = 16_384
    reserve_bytes: int = 4 << 20
    journal_rotate_bytes: int = 8_388_608
    claude_teams: str = "off"
    record_tools: str = "off"
    wake_by_socket: str = "off"
    mailbox_rate: int = 1000
    mailbox_file_bytes: int = 8_388_608
    mailbox_gzip_seconds: float = 86_400.0
    ack_rung: str = "seen"
    http_port: int = 7678
    http_host: str = "127.0.0.1"
    http_rate: int = 200
    tls_cert: str = ""
    tls_key: str = ""
    log_level: str = "info"
    log_bytes: int = 5_242_880
    log_files: int = 3
    otel: str = "off"

    @property
    def is_limiting(self) -> bool:
        """Whether anything must be asked before something is sent."""
        limits = self.sender_rate or self.sender_quota or self.recipient_quota
        return bool(limits) or self.routes == "strict"


HELP = {
    "durability": "`normal` survives any process crash; `full` also power loss, at one disk sync a write"
    " (none for a `take`)",
    "lease_seconds": "how long a claim may stand before it is handed over",
    "max_unproven": "after how many unproven attempts a delivery is dead and its sender gets one bounce",
    "sweep_seconds": "how often a waiter looks though nothing rang (±20 %; half as often in a quiet room)",
    "busy_seconds": "how long to try for the room's write lock",
    "gate_seconds": "how long a `decision_gate` that does not say so waits before it is denied",
    "max_hops": "how often agents may answer each other in a thread until a person does; 0: without end",
    "max_recipients": "how many a message may reach without being confirmed (`--yes`); 0: without end",
    "routes": "`open`: everybody may write to everybody unless a route forbids it; `strict`: only where one"
    " allows it",
    "directions": "check the roles of sender and recipient against the type's direction: `off`, `warn`"
    " (tell the sender) or `refuse`",
    "sender_rate": "how many messages one may send at once, and then each minute; 0: without end",
    "sender_quota": "how many messages one may send at once, and then each day; 0: without end",
    "recipient_rate": "how many of those sent to one are offered each minute; others wait; 0: without end",
    "recipient_quota": "how many messages may wait for one; more are refused; 0: without end",
    "digest_seconds": "small messages wait for the next multiple of this, to be offered together; 0: at once",
    "max_body_bytes": "the largest body accepted",
    "max_payload_bytes": "the largest payload or metadata accepted, as JSON",
    "max_attachment_bytes": "the largest file that may be attached",
    "spill_bytes": "a body larger than this is shown to an agent as its beginning and the path of a file",
    "reserve_bytes": "disk space kept so that mail can be read when the disk is full; 0 = none",
    "journal_rotate_bytes": "the size at which a journal file is closed and gzipped",
    "claude_teams": "`on`: mail may go into the inboxes of teams of Claude Code (`postroom teams`), which"
    " nothing documents; `off`: it may not",
    "record_tools": "`on`: hooks note, as events, each tool an agent has used and what came of it (Claude"
    " Code, Codex, Gemini CLI, Qwen Code, Copilot CLI); `off`: they do not",
    "wake_by_socket": "`on`: an idle Claude Code is woken by its own, undocumented socket, sooner than by the"
    " file it watches; `off`: by that file alone",
    "mailbox_rate": "how many letters are taken out of one file mailbox at once, and then each minute; others"
    " wait in it; 0: without end",
    "mailbox_file_bytes": "the largest file that is taken out of a file mailbox",
    "mailbox_gzip_seconds": "when what was done with in a file mailbox is gzipped; 0: never",
    "ack_rung": "the rung at which `Mailbox.wait_for_ack` is content: `stored`, `offered`, `seen` or `acked`",
    "http_port": "the port at which the daemon serves the page and the API; 0: at none",
    "http_host": "the address it serves at; another than that of this machine itself needs `tls_cert`",
    "http_rate": "how many requests one caller may make each second, five times as many at once; 0: any",
    "tls_cert": "the path of a certificate (PEM): the page and the API are then served by HTTPS",
    "tls_key": "the path of its key; empty: it is in the same file",
    "log_level": "what the daemon's log has: `debug`, `info`, `warning` or `error`, and what is worse",
    "log_bytes": "the size at which the daemon's log begins anew",
    "log_files": "how many earlier ones of that size are kept",
    "otel": "`on`: the daemon tells OpenTelemetry, as spans, what becomes of mail (the extra `otel`);"
    " `off`: it does not",
}

# What is set in the environment alone.
ENVIRONMENT = {
    "POSTROOM_AGENT": "who is calling, as `--as` says it",
    "POSTROOM_TOKEN": "a secret that proves who is calling: `postroom tokens`",
    "POSTROOM_HOME": "where the room is, as `--home` says it: a directory, or a server's address",
    "POSTROOM_PROJECT": "the project to stand in, as `--project` says it",
    "TRACEPARENT": "where the caller stands in a trace; what it sends carries that (with `TRACESTATE`)",
    "POSTROOM_DEBUG": "any value shows the traceback of an error",
    "NO_COLOR": "any value takes the colours away",
}

_SWITCH = ("off", "on")
_CHOICES = {
    "durability": ("normal", "full"), "routes": ("open", "strict"),
    "directions": ("off", "warn", "refuse"), "record_tools": _SWITCH,
    "wake_by_socket": _SWITCH, "ack_rung": ("stored", "offered", "seen", "acked"),
    "claude_teams": _SWITCH, "log_level": ("debug", "info", "warning", "error"), "otel": _SWITCH,
}  # fmt: skip
_SMALLEST = {
    "lease_seconds": 0.001,
    "sweep_seconds": 0.01,
    "gate_seconds": 0.001,
    "max_unproven": 1,
    "max_body_bytes": 1,
    "max_attachment_bytes": 1,
    "journal_rotate_bytes": 1,
    "mailbox_file_bytes": 1,
    "log_bytes": 1,
}
_LARGEST = {"http_port": 1 << 16, "log_files": 100}
_TABLES: dict[str, Any] = {"route": [], "agents": {}, "profiles": {}}  # what a file may have besides, empty
_ALL = "See them all: postroom help settings"


def environment_name(key: str) -> str:
    return "POSTROOM_" + key.upper()


def checked(key: str, value: Any) -> Any:
    """A setting's value in its own type, or a clear error."""
    default = Settings._field_defaults[key]
    if key in _CHOICES:
        if value not in _CHOICES[key]:
            raise InvalidValue(f"{key} must be one of {', '.join(_CHOICES[key])}, not {value!r}", key=key)
        return value
    if isinstance(default, str):
        if not isinstance(value, str) or not value.isprintable():
            raise InvalidValue(f"{key} must be text, not {_shown(value)}", key=key)
        return value
    kind = int if isinstance(default, int) else float
    try:
        number = kind(value)
        if isinstance(value, bool) or (isinstance(value, float) and kind is int and number != value):
            raise ValueError
    except (TypeError, ValueError, OverflowError):
        what = "a whole number" if kind is int else "a number"
        raise InvalidValue(f"{key} must be {what}, not {_shown(value)}", key=key) from None
    if not _SMALLEST.get(key, 0) <= number < _LARGEST.get(key, 1 << 53):
        raise InvalidValue(f"{key} is out of range: {_shown(value)}", key=key)
    return number


def _shown(value: Any) -> str:
    try:
        return repr(value)[:80]
    except ValueError:  # more digits than Python writes out
        return "a number of thousands of digits"


class Declared(NamedTuple):
    """What a config file says besides the settings, as it stands there: who reads it checks it."""

    routes: list[Any]
    agents: dict[str, Any]
    profiles: dict[str, Any] = {}  # noqa: RUF012 - read only: of terminals, by their names


NOTHING_DECLARED = Declared([], {})


def settings(home: str) -> Settings:
    """The config file's settings, overridden by the environment."""
    return load(home)[0]


def load(home: str) -> tuple[Settings, Declared]:
    """The settings, and what else is declared."""
    values, declared = _from_file(config_path(home))
    for key in Settings._fields:
        if (text := os.environ.get(environment_name(key))) is not None:
            values[key] = checked(key, text)
    return Settings(**values), declared


def config_path(home: str) -> str:
    """`config.toml` in the room's home; by the platform's convention when the home is the default one."""
    if os.environ.get("POSTROOM_HOME") or home != default_home() or sys.platform in ("win32", "darwin"):
        return os.path.join(home, "config.toml")
    base = os.environ.get("XDG_CONFIG_HOME") or os.path.expanduser("~/.config")
    return os.path.join(base, "postroom", "config.toml")


Found = tuple[dict[str, Any], Declared]


def _from_file(path: str) -> Found:
    try:
        about = os.stat(path)
    except OSError:
        return {}, NOTHING_DECLARED
    stamp = [about.st_mtime_ns, about.st_size]
    compiled = path.removesuffix(".toml") + ".compiled.json"
    return _compiled(compiled, stamp) or _compile(path, compiled, stamp)


def _compiled(path: str, stamp: list[int]) -> Found | None:
    """The file as JSON, if made from it as it is now: reading TOML costs a third of a start.

    Damaged, or made by another version, it counts for nothing.
    """
    import json  # noqa: PLC0415 - only where there is a config file

    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        if found["stamp"] != stamp:
            return None
        values = {key: checked(key, value) for key, value in found["settings"].items()}
        return values, Declared(found["routes"], found["agents"], found["profiles"])
    except (OSError, ValueError, TypeError, KeyError, AttributeError, InvalidValue):
        return None


def _compile(path: str, compiled: str, stamp: list[int]) -> Found:
    found = document(path)
    found.pop("types", None)  # these have a registry of their own
    values: dict[str, Any] = {}
    wrong: list[InvalidValue] = []
    for key in list(found):
        try:
            values[key] = _table(key, found.pop(key)) if key in _TABLES else _setting(key, found.pop(key))
        except InvalidValue as exc:
            wrong.append(exc)
    if wrong:
        raise _refusal(path, wrong)
    declared = Declared(*(values.pop(key, type(empty)()) for key, empty in _TABLES.items()))
    keep(compiled, {"stamp": stamp, "settings": values, **declared._asdict()})
    return values, declared


def _table(key: str, value: Any) -> Any:
    if type(value) is not type(_TABLES[key]):
        written = f"[[{key}]]" if _TABLES[key] == [] else f"[{key}.NAME]"
        raise InvalidValue(f"{key} is written as {written}", hint="Mend that file.")
    return value


def _setting(key: str, value: Any) -> Any:
    if key not in Settings._fields:
        from postroom.near import near  # noqa: PLC0415 - only for who is refused

        known = [*Settings._fields, *_TABLES, "types"]
        raise InvalidValue(f"there is no setting {key!r}", hint=_ALL, key=key, near=near(key, known))
    if key == "routes" and isinstance(value, list):
        hint = "Write each as [[route]]; routes is open or strict."
        raise InvalidValue("routes are written as [[route]]", hint=hint)
    return checked(key, value)


def _refusal(path: str, wrong: list[InvalidValue]) -> InvalidValue:
    """One error for all that is wrong with a file."""
    from postroom.near import meant  # noqa: PLC0415 - only for who is refused

    unknown = [one for one in wrong if "near" in one.facts]
    hints = [meant(one.facts["near"]) if one in unknown else one.hint for one in wrong]
    told = [*dict.fromkeys(filter(None, hints)), *([_ALL] if unknown else [])]
    more = {"problems": [str(one) for one in wrong]} if len(wrong) > 1 else wrong[0].facts
    words = "; ".join(map(str, wrong))
    return InvalidValue(f"{path}: {words}", hint=" ".join(told) or None, path=path, **more)


def document(path: str) -> dict[str, Any]:
    """All that is in a config file; a clear error when it is no TOML."""
    import tomllib  # noqa: PLC0415 - only after the file has changed

    try:
        with open(path, "rb") as file:
            return tomllib.load(file)
    except RecursionError:
        raise InvalidValue(f"{path}: nested too deep", hint="Mend that file.", path=path) from None
    except (OSError, ValueError) as exc:
        raise InvalidValue(f"{path}: {exc}", hint="Mend that file, or move it away.", path=path) from None


def keep(path: str, compiled: dict[str, Any]) -> None:
    """Keep what was compiled for the next start. A directory that cannot be written only costs time."""
    import json  # noqa: PLC0415

    try:
        host.replace(path, json.dumps(compiled).encode())
    except (OSError, TypeError):  # TOML has dates, JSON has none
        pass


def address(explicit: str | None = None) -> str:
    """That of the daemon which serves the room, elsewhere; empty where the room is a directory."""
    found = named(explicit)
    return found if found.startswith(ELSEWHERE) else ""


def home(explicit: str | None = None) -> str:
    """The directory that holds a room: store, run files, journals."""
    if url := address(explicit):
        raise NotHere(f"that needs the files of the room, which are elsewhere: {url}", url=url)
    return named(explicit)


def is_usual(where: str) -> bool:
    """Whether commands find that room without being told where it is."""
    try:
        return home() == where
    except NotHere:
        return False


def project_root(start: str | None = None) -> str:
    """The main directory of the git repository around `start`, the same for all its worktrees; or ''."""
    try:
        here = os.path.realpath(start or os.getcwd())
    except OSError:
        return ""
    while True:
        git = os.path.join(here, ".git")
        if _is_repository(git):
            return here
        if os.path.isfile(git):
            return _common_root(here, git)
        parent = os.path.dirname(here)
        if parent == here:
            return ""
        here = parent


def worktree(start: str) -> tuple[str, str]:
    """The checkout around a directory, or that directory itself; and the branch it is on, if any."""
    here = first = os.path.realpath(start)
    while not (_is_repository(git := os.path.join(here, ".git")) or os.path.isfile(git)):
        above = os.path.dirname(here)
        if above == here:
            return first, ""
        here = above
    try:
        if os.path.isfile(git):
            with open(git, encoding="utf-8") as file:
                git = os.path.join(here, file.read().removeprefix("gitdir:").strip())
        with open(os.path.join(git, "HEAD"), encoding="utf-8") as file:
            head = file.read().strip()
    except (OSError, ValueError):
        return here, ""
    return here, head.removeprefix("ref: refs/heads/") if head.startswith("ref: ") else head[:12]


def _is_repository(git: str) -> bool:
    """As git sees it: sandboxes of agents leave empty directories of that name behind, in /tmp for one."""
    return os.path.isfile(os.path.join(git, "HEAD"))


def _common_root(worktree: str, git_file: str) -> str:
    """Follow a worktree's `.git` file to the repository it belongs to."""
    try:
        with open(git_file, encoding="utf-8") as file:
            git = os.path.join(worktree, file.read().removeprefix("gitdir:").strip())
        with open(os.path.join(git, "commondir"), encoding="utf-8") as file:
            common = os.path.realpath(os.path.join(git, file.read().strip()))
    except (OSError, ValueError):
        return worktree  # a submodule, or a worktree whose repository is gone
    return os.path.dirname(common) if os.path.basename(common) == ".git" else common


def slug(root: str) -> str:
    """A project name from a directory's name."""
    name = "".join(
        c if c.isascii() and (c.isalnum() or c in "-_") else "-" for c in os.path.basename(root).lower()
    )
    return name.strip("-_")[:48] or "project"
