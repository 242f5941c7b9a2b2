"""Every type of message there is: ours, and those users have registered.

What users register is compiled into one file beside their config (see `registration`), so that no send looks
for packages or reads TOML.
"""

from typing import TYPE_CHECKING

from postroom.errors import InvalidSchema, UnknownType
from postroom.protocol.builtin import ALIASES, GROUPS, Definition, built_in, is_name, names

if TYPE_CHECKING:
    from postroom.protocol.registration import Registered

_looked: "dict[str, Registered]" = {}  # by home: what of packages this process found when it looked


def find(name: str, home: str = "") -> Definition:
    """A type by its name: ours, or one registered in the config of that home; else `UnknownType`.

    A name that is not known is looked for once in the packages installed now, before it is refused.
    """
    found = built_in(name)
    if found is not None:
        return found
    if home and is_name(name):
        from postroom.protocol import registration  # noqa: PLC0415 - only for types that are not ours

        yours = registration.registered(home)
        if name not in yours.types and name not in yours.problems:
            if home not in _looked:
                _looked[home] = registration.refresh(home).of_packages()
            yours = _looked[home]
        if name in yours.types:
            return yours.types[name]
        if name in yours.problems:
            raise InvalidSchema(f"type {name!r} cannot be used: {yours.problems[name]}", type=name)
    raise unknown(name, home)


def every(home: str = "") -> list[Definition]:
    """All types, in their groups."""
    found = [find(name) for name in names()]
    if home:
        from postroom.protocol import registration  # noqa: PLC0415 - not on the mail path

        found += registration.registered(home).types.values()
    return sorted(found, key=lambda one: (GROUPS.index(one["group"]), one["name"]))


def unknown(name: str, home: str) -> UnknownType:
    from postroom.near import meant, near  # noqa: PLC0415 - only for who is refused

    there = [*(one["name"] for one in every(home)), *ALIASES]
    found = near(name.replace("-", "_"), there)
    see = "See: postroom types; to have a type of your own: postroom help types"
    return UnknownType(
        f"there is no type {name[:80]!r}",
        hint=f"{meant(found)} {see}".lstrip(), type=name[:80], near=found,
    )  # fmt: skip
