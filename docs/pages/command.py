"""The command line: its commands, settings and errors."""

import inspect

from pages.form import NOTE
from postroom import errors
from postroom.cli import catalog
from postroom.cli.catalog import build, load
from postroom.cli.fault import exit_code
from postroom.config import ENVIRONMENT, HELP, Settings, environment_name


def commands() -> str:
    """Every command's own help."""
    page = [
        "# Commands\n",
        NOTE,
        "Every command takes `--as`, `--project`, `--home`, `--json` and `--quiet`.\n",
    ]
    group = ""
    for name, entry in catalog.COMMANDS.items():
        if entry[1] != group:
            group = entry[1]
            page.append(f"\n## {group}\n")
        text = build(name, load(entry)).format_help().partition("options of every command:")
        examples = text[2].partition("examples:\n")[2].rstrip()
        page.append(f"\n### `postroom {name}`\n\n```text\n{text[0].rstrip()}\n```\n")
        if examples:
            page.append(f"\n```sh\n{inspect.cleandoc(examples)}\n```\n")
    return "".join(page)


def settings() -> str:
    """Every setting, its default and its environment variable."""
    rows = [
        f"| `{key}` | `{default}` | `{environment_name(key)}` | {HELP[key]} |\n"
        for key, default in Settings._field_defaults.items()
    ]
    alone = [f"| `{name}` | {what} |\n" for name, what in ENVIRONMENT.items()]
    return (
        "# Settings\n\n"
        + NOTE
        + "In `config.toml` (`postroom status` shows where it is: in `POSTROOM_HOME`, else in "
        "`~/.config/postroom` on Linux), or in the environment, which wins.\n\n"
        "| key | default | environment | meaning |\n| --- | --- | --- | --- |\n" + "".join(rows) + "\n"
        "A table `[agents.NAME]` declares an agent: `role`, `capabilities`, `description`, `supervisor`; "
        "`runtime` and `directory`, whose sessions are its; and how `postroom up` brings it up: `pane`, "
        "where it is adopted, or `command`, with `bridge`, `session`, `restart` and `profile`; or `bridge = "
        '"files"`, with the `directory` of the tree in which its mailbox lies. `channel` is kept for later: '
        "no chat is served yet.\n\n"
        "A table `[profiles.NAME]` says what the terminal of a program looks like that is no agent CLI we "
        "know: `prompt` (a pattern for how the line begins in which one types), `submit` (a key), `busy` (a "
        "list of patterns), `dialogs` (a table: a pattern by the name of each), `stop` (a list of keys), "
        "`lines` (true or false), and the `programs` it is for (a list). `postroom up` refuses one that is "
        "wrong.\n\n"
        "A table `[types.NAME]` registers a type of message: [types of your own](../howto/own-types.md).\n\n"
        "Only in the environment:\n\n| variable | meaning |\n| --- | --- |\n" + "".join(alone)
    )


def error_codes() -> str:
    """Every error's code, the exit code it ends a command with, and its meaning."""
    rows: list[str] = []
    for error in vars(errors).values():
        if isinstance(error, type) and issubclass(error, errors.PostroomError):
            meaning = (error.__doc__ or "").strip()
            rows.append(
                f"| `{error.code}` | {exit_code(error())} | {meaning} | {error.hint.replace('|', ' ')} |\n"
            )
    return (
        "# Errors\n\n"
        + NOTE
        + 'With `--json` an error is `{"error": code, "message": …, "hint": …}` on stderr.\n'
        "Exit codes: 0 done, 1 failed, 2 wrong usage, 3 not found, 4 timed out, 5 refused,"
        " 6 the change is stored, but a later step failed.\n"
        "With 6 the error has the `id`, if a message was stored: do not repeat the command.\n\n"
        "| code | exit | meaning | what to do |\n| --- | --- | --- | --- |\n" + "".join(rows)
    )
