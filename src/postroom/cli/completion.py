"""Completion for bash, zsh and fish, written from the table of commands and their parsers."""

from typing import TYPE_CHECKING, NamedTuple

from postroom.cli import catalog
from postroom.runtimes import NAMES

if TYPE_CHECKING:
    from argparse import Action

ADDRESSES, IDS, TYPES, FILES = "@addresses", "@ids", "@types", "@files"

# What an argument's metavar says about its values.
_VALUES = {
    "TO": ADDRESSES,
    "NAME": ADDRESSES,
    "ID": IDS,
    "TYPE": TYPES,
    "DIR": FILES,
    "PATH": FILES,
    "FILE": FILES,
    "FORMAT": "plain markdown",
    "RUNG": "stored offered seen acked",
    "STATE": "stored offered seen acked bounced expired withdrawn dead",
    "LEVEL": "urgent high normal low",
    "CLASS": "turn tool interrupt",
    "BRIDGE": "tmux pty lines stream",
    "RUNTIME": " ".join(NAMES),
}
_VALUED_BEFORE = "--as|--project|--home"  # what also says whose mail and which room is meant


class Option(NamedTuple):
    """One option: its names, what its value may be (None: it has none), its help."""

    names: list[str]
    values: str | None
    help: str


class Command(NamedTuple):
    """One command: its options, and the values of each of its words."""

    name: str
    help: str
    options: list[Option]
    words: list[str]


def commands() -> list[Command]:
    found: list[Command] = []
    for name, entry in catalog.COMMANDS.items():
        parser = catalog.build(name, catalog.load(entry))
        options = [
            Option(
                list(action.option_strings),
                None if action.nargs == 0 else _values(action),
                action.help or "",
            )
            for action in parser.options()
        ]
        words = [_values(word) for word in parser.words()]
        found.append(Command(name, entry[2], options, words))
    return [*found, Command("help", "what a command does", [], [" ".join(catalog.COMMANDS)])]


def _values(action: "Action") -> str:
    return " ".join(action.choices) if action.choices else _VALUES.get(str(action.metavar), "")


def script(shell: str) -> str:
    return {"bash": _bash, "zsh": _zsh, "fish": _fish}[shell](commands())


# bash


def _bash(table: list[Command]) -> str:
    cases = "\n".join(_bash_case(command) for command in table)
    names = " ".join(command.name for command in table)
    return f"""\
# Completion of postroom for bash. Load it with: eval "$(postroom completion bash)"
_postroom() {{
    local cur=${{COMP_WORDS[COMP_CWORD]}} prev=${{COMP_WORDS[COMP_CWORD-1]}} cmd= word=0 i=1
    local options= valued= values=
    COMPREPLY=()
    while (( i < COMP_CWORD )); do
        case ${{COMP_WORDS[i]}} in
            {_VALUED_BEFORE}) (( i += 2 )) ;;
            -*) (( i += 1 )) ;;
            *) cmd=${{COMP_WORDS[i]}}; (( i += 1 )); break ;;
        esac
    done
    if [[ -z $cmd ]]; then
        options='--as --project --home --json --quiet --help --version' values='{names}'
    fi
    case $cmd in
{cases}
    esac
    case $prev in
        --as) values=@addresses ;;
        --home) values=@files ;;
        *) if [[ $cur == -* ]]; then values=$options; fi ;;
    esac
    case $values in
        @addresses|@ids|@types)
            local said=()
            for (( i = 1; i < COMP_CWORD - 1; i++ )); do
                case ${{COMP_WORDS[i]}} in
                    {_VALUED_BEFORE}) said+=("${{COMP_WORDS[i]}}" "${{COMP_WORDS[i+1]}}") ;;
                esac
            done
            values=$(postroom completion --list "${{values#@}}" "${{said[@]}}" 2>/dev/null) ;;
        @files) COMPREPLY=($(compgen -f -- "$cur")); return ;;
    esac
    COMPREPLY=($(compgen -W "$values" -- "$cur"))
}}
_postroom_word() {{
    # How many words stand between the command and the cursor, leaving out options and their values ($1).
    word=0
    while (( i < COMP_CWORD )); do
        if [[ " $1 " == *" ${{COMP_WORDS[i]}} "* ]]; then (( i += 2 )); continue; fi
        [[ ${{COMP_WORDS[i]}} == -* ]] || (( word += 1 ))
        (( i += 1 ))
    done
}}
complete -o default -F _postroom postroom
"""


def _bash_case(command: Command) -> str:
    every = [name for option in command.options for name in option.names]
    valued = [name for option in command.options if option.values is not None for name in option.names]
    words = "\n".join(f"                {n}) values='{values}' ;;" for n, values in enumerate(command.words))
    chosen = "\n".join(
        f"                {'|'.join(option.names)}) values='{option.values}' ;;"
        for option in command.options
        if option.values is not None
    )
    return f"""\
        {command.name})
            options='{" ".join(every)}' valued='{" ".join(valued)}'
            _postroom_word "$valued"
            case $word in
{words}
                *) values= ;;
            esac
            case $prev in
{chosen or "                '') ;;"}
            esac ;;"""


# zsh

_ZSH_ACTIONS = {
    ADDRESSES: "_postroom_addresses",
    IDS: "_postroom_ids",
    TYPES: "_postroom_types",
    FILES: "_files",
}


def _zsh(table: list[Command]) -> str:
    names = "\n".join(f"        {_zsh_quoted(f'{c.name}:{c.help}')}" for c in table)
    cases = "\n".join(_zsh_case(command) for command in table)
    return f"""\
#compdef postroom
# Completion of postroom for zsh. Load it with: source <(postroom completion zsh)
_postroom_list() {{
    local -a found said
    local -i i
    for (( i = 1; i < CURRENT - 1; i++ )); do
        case $words[i] in
            {_VALUED_BEFORE}) said+=("$words[i]" "$words[i+1]") ;;
        esac
    done
    found=(${{(f)"$(postroom completion --list $1 $said 2>/dev/null)"}})
    compadd -a found
}}
_postroom_addresses() {{ _postroom_list addresses }}
_postroom_ids() {{ _postroom_list ids }}
_postroom_types() {{ _postroom_list types }}
_postroom() {{
    local -a commands
    commands=(
{names}
    )
    if (( CURRENT == 2 )); then
        _describe command commands
        return
    fi
    local command=$words[2]
    shift words
    (( CURRENT -= 1 ))
    case $command in
{cases}
    esac
}}
if [[ ${{funcstack[1]}} == _postroom ]]; then
    _postroom "$@"
elif (( $+functions[compdef] )); then
    compdef _postroom postroom
fi
"""


def _zsh_case(command: Command) -> str:
    arguments: list[str] = []
    for option in command.options:
        value = (
            "" if option.values is None else f":{option.names[-1].lstrip('-')}:{_zsh_action(option.values)}"
        )
        arguments += [_zsh_quoted(f"{name}[{_zsh_text(option.help)}]{value}") for name in option.names]
    arguments += [_zsh_quoted(f"{n}::word:{_zsh_action(v)}") for n, v in enumerate(command.words, 1)]
    return f"        {command.name}) _arguments " + " \\\n            ".join(arguments) + " ;;"


def _zsh_action(values: str) -> str:
    return _ZSH_ACTIONS.get(values) or (f"({values})" if values else " ")


def _zsh_text(text: str) -> str:
    return text.replace("[", "(").replace("]", ")").replace(":", " ")


def _zsh_quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


# fish

_FISH_VALUES = {
    ADDRESSES: "(__postroom_list addresses)",
    IDS: "(__postroom_list ids)",
    TYPES: "(__postroom_list types)",
}
_FISH_LIST = """\
function __postroom_list
    set -l words (commandline -opc)
    set -l said
    for i in (seq (math (count $words) - 1))
        if contains -- $words[$i] --as --project --home
            set -a said $words[$i] $words[(math $i + 1)]
        end
    end
    postroom completion --list $argv[1] $said 2>/dev/null
end"""


def _fish(table: list[Command]) -> str:
    lines = [
        "# Completion of postroom for fish. Load it with: postroom completion fish | source",
        _FISH_LIST,
        "complete -c postroom -f",
    ]
    for command in table:
        lines.append(
            f"complete -c postroom -n __fish_use_subcommand -a {command.name} -d {_fish_quoted(command.help)}"
        )
    for command in table:
        seen = f"complete -c postroom -n '__fish_seen_subcommand_from {command.name}'"
        lines += [f"{seen} {_fish_option(option)}" for option in command.options]
        lines += [f"{seen} {_fish_arguments(values)}" for values in dict.fromkeys(command.words) if values]
    return "\n".join(lines) + "\n"


def _fish_option(option: Option) -> str:
    names = [f"-l {name[2:]}" if name.startswith("--") else f"-s {name[1:]}" for name in option.names]
    takes = "-r" if option.values == FILES else "-x"
    value = "" if option.values is None else f" {takes} {_fish_arguments(option.values)}".rstrip()
    return " ".join(names) + value + f" -d {_fish_quoted(option.help)}"


def _fish_arguments(values: str) -> str:
    if values == FILES:
        return "-F"
    return f"-a {_fish_quoted(_FISH_VALUES.get(values, values))}" if values else ""


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"
