"""The arguments of one command. Options may stand anywhere, and only the command that runs is built."""

import argparse
from typing import NoReturn

from postroom.errors import UsageError

WIDTH = 79
PAGE = 500  # no list the room gives is longer

# argparse has its words translated while it is built, which costs more than all its other work; and `error`
# below must know them.
argparse.__dict__["_"] = str


class Formatter(argparse.RawDescriptionHelpFormatter):
    """Help of a fixed width: asking the terminal would import shutil on every start."""

    def __init__(self, prog: str) -> None:
        super().__init__(prog, max_help_position=26, width=WIDTH)

    def _fill_text(self, text: str, width: int, indent: str) -> str:
        """Paragraphs are wrapped; what is set in, as the examples are, stays as it is."""
        import textwrap

        parts = text.split("\n\n")
        return "\n\n".join(
            part if part.startswith(" ") or "\n " in part else textwrap.fill(part, width) for part in parts
        )


class Parser(argparse.ArgumentParser):
    """An argument parser that raises our errors, and takes options before, between and after the rest."""

    def __init__(self, command: str, description: str = "", examples: str = "") -> None:
        super().__init__(
            prog=f"postroom {command}", description=description, epilog=examples and f"examples:\n{examples}",
            formatter_class=Formatter, add_help=False, allow_abbrev=False,
        )  # fmt: skip
        self.command = command
        self._positionals.title = "arguments"
        self._given: list[str] = []

    def format_help(self) -> str:
        words = [_usage(action) for action in self.words()]
        words += [f"{a.option_strings[-1]} {a.metavar}" for a in self.options() if a.required]
        rest = [word for word in words if word.startswith("-- ")]  # after which all is the command's own
        self.usage = " ".join(["%(prog)s", *(one for one in words if one not in rest), "[OPTIONS]", *rest])
        return super().format_help()

    def add_everywhere(self) -> None:
        """The options every command takes."""
        group = self.add_argument_group("options of every command")
        group.add_argument("--as", dest="caller", metavar="NAME", help="who is calling (else POSTROOM_AGENT)")
        group.add_argument(
            "--project", metavar="PROJECT", help="the project to stand in (else that of this directory)"
        )
        group.add_argument("--home", metavar="DIR", help="where the room is (else POSTROOM_HOME)")
        group.add_argument(
            "--json", action="store_true", help="print JSON: one document, or one line an item"
        )
        group.add_argument("--quiet", action="store_true", help="print the data alone")
        group.add_argument("-h", "--help", action="store_true", help="show this text")

    def options(self) -> list[argparse.Action]:
        """What can be given by name, but what is not for people."""
        return [action for action in self._get_optional_actions() if action.help != argparse.SUPPRESS]

    def words(self) -> list[argparse.Action]:
        """What is given by its place."""
        return self._get_positional_actions()

    def add_limit(self, default: int) -> None:
        self.add_argument(
            "-n", "--limit", metavar="N", type=_count, default=default, help=f"at most so many ({default})"
        )

    def read(self, arguments: list[str]) -> argparse.Namespace:
        """Parse; raises `UsageError` with what is wrong and where to look it up."""
        options, words = self._sort(arguments)
        self._given = words
        if "-h" in options or "--help" in options:
            return argparse.Namespace(help=True)
        return self.parse_args([*options, "--", *words] if words else options)

    def _sort(self, arguments: list[str]) -> tuple[list[str], list[str]]:
        """Options, each in one piece, and the rest: argparse cannot take an optional word after an option."""
        options: list[str] = []
        words: list[str] = []
        rest = iter(arguments)
        for argument in rest:
            name, equals, value = argument.partition("=")
            if argument == "--":
                words.extend(rest)
            elif not _is_option(name):
                words.append(argument)
            elif name not in self._option_string_actions and self._is_valued(name[:2]):
                options.append(argument)  # -n1
            elif (action := self._option_string_actions.get(name)) is None:
                raise self._unknown(name)
            elif action.nargs == 0:
                options.append(argument)
            else:
                value = value if equals else next(rest, "--")
                if value == "--" or (not equals and value in self._option_string_actions):
                    self.error(f"{name} needs a value")
                options.append(f"{name}={value}")
        return options, words

    def _is_valued(self, name: str) -> bool:
        action = self._option_string_actions.get(name)
        return action is not None and action.nargs != 0

    def _unknown(self, name: str) -> UsageError:
        from postroom.near import meant, near

        known = [option[2:] for option in self._option_string_actions if option.startswith("--")]
        found = [f"--{option}" for option in near(name.lstrip("-"), known)]
        hint = f"{meant(found)} See: postroom help {self.command}".lstrip()
        return UsageError(f"there is no option {name!r}", hint=hint, option=name, near=found)

    def _check_value(self, action: argparse.Action, value: object) -> None:
        """Refuse what is none of the words that can stand there, with those that can."""
        if action.choices is None or value in action.choices:
            return
        from postroom.near import either, meant, near

        known = [str(choice) for choice in action.choices]
        found = near(str(value), known)
        hint = f"{meant(found)} See: postroom help {self.command}".lstrip()
        wrong = f"{self.command} takes {either(known)}, not {value!r}"
        raise UsageError(wrong, hint=hint, near=found)

    def _quoted(self) -> str:
        """The command as it was given, with what is too much in its last word."""
        import shlex

        at = len(self.words()) - 1
        return shlex.join(["postroom", self.command, *self._given[:at], " ".join(self._given[at:])])

    def error(self, message: str) -> NoReturn:
        hint = f"See: postroom help {self.command}"
        if message.startswith("unrecognized arguments:"):
            message = "too many" + message.removeprefix("unrecognized").replace(" -- ", " ", 1)
            last = self.words()[-1].dest if self.words() else ""
            if last in ("body", "query"):
                hint = f"Put a text of several words in quotes. {hint}"
            elif last == "option":
                hint = f"Put an option of several words in quotes: {self._quoted()}"
        elif message.startswith("the following arguments are required:"):
            message = f"{self.command} needs{message.partition(':')[2]}"
        raise UsageError(message, hint=hint)


def _usage(action: argparse.Action) -> str:
    word = str(action.metavar)
    if action.nargs == "*":
        return f"[{word} ...]"
    return word if action.required else f"[{word}]"


def _count(text: str) -> int:
    if not (text.isascii() and text.isdigit() and len(text) <= 3 and 1 <= int(text) <= PAGE):
        raise argparse.ArgumentTypeError(f"must be a number from 1 to {PAGE}, not {text!r}")
    return int(text)


def _is_option(name: str) -> bool:
    """`-` is a word (standard input), and so are `-5` and `- a list in a body`."""
    return name[:1] == "-" and name != "-" and not name[1].isdigit() and not any(map(str.isspace, name))
