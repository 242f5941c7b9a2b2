"""What `import postroom` gives."""

import ast
import enum
import inspect
import textwrap
from collections.abc import Callable

import postroom
from pages.form import NOTE


def python() -> str:
    """Every exported name, `open` and every method of a room, as their docstrings tell them."""
    classes = [name for name in postroom.__all__ if name not in ("open", "Room", "Mailbox")]
    module = inspect.getdoc(inspect.getmodule(postroom.Room)) or ""
    return (
        "# Python\n\n"
        + NOTE
        + "`import postroom` gives these names; nothing else is promised to stay. Errors are in "
        "`postroom.errors` ([list](errors.md)), and the payloads of the built-in types in "
        "`postroom.payloads` ([list](types.md)), which `message.payload_as` reads.\n\n## Open a room\n\n"
        + _function("postroom.open", postroom.open)
        + "\n## `Room`\n\n"
        + f"{inspect.getdoc(postroom.Room)}\n\n{module.partition(chr(10) * 2)[2]}\n\n"
        "It is also a context manager, which closes it at the end. `AsyncRoom` has the same "
        "methods, to be awaited; `listen` and `events` are for `async for`.\n\n"
        + _methods("room", postroom.Room)
        + "\n## `Mailbox`\n\n"
        + f"```text\n{_signature('postroom.Mailbox', postroom.Mailbox.__init__, 'Mailbox')}\n```\n\n"
        + f"{inspect.getdoc(postroom.Mailbox)}\n\n"
        + _methods("mailbox", postroom.Mailbox)
        + "\n## Types\n\n"
        "| name | what it is | what is in it |\n| --- | --- | --- |\n"
        + "".join(_class(name, getattr(postroom, name)) for name in classes)
    )


def _methods(instance: str, kind: type) -> str:
    methods = [
        (name, method)
        for name, method in vars(kind).items()
        if inspect.isfunction(method) and not name.startswith("_")
    ]
    return "\n".join(_function(f"{instance}.{name}", method) for name, method in methods)


def _function(name: str, function: Callable[..., object]) -> str:
    """A heading, the signature as it is written in the source, and the docstring."""
    told = inspect.getdoc(function)
    text = f"\n{told}\n" if told else ""
    return f"### `{name}`\n\n```text\n{_signature(name, function)}\n```\n{text}"


def _signature(name: str, function: Callable[..., object], returns: str = "") -> str:
    [node] = ast.parse(textwrap.dedent(inspect.getsource(function))).body
    assert isinstance(node, ast.FunctionDef)
    assert node.returns is not None
    arguments = ast.unparse(node.args).removeprefix("self").removeprefix(", ")
    returns = returns or ast.unparse(node.returns).replace("LocalRoom", "Room")
    return f"{name}({arguments}) -> {returns}".replace("'", "").replace("=", " = ")


def _class(name: str, kind: type) -> str:
    told = (inspect.getdoc(kind) or "").partition("\n\n")[0].replace("\n", " ")
    if issubclass(kind, enum.Enum):
        inside = [str(member.name) for member in kind]
    else:
        properties = [key for key, value in vars(kind).items() if isinstance(value, property)]
        methods = [f"{key}()" for key, value in vars(kind).items() if inspect.isfunction(value)]
        inside = [*getattr(kind, "_fields", ()), *properties, *(methods if issubclass(kind, tuple) else ())]
    names = ", ".join(f"`{one}`" for one in inside if not one.startswith("_"))
    return f"| `{name}` | {told} | {names} |\n"
