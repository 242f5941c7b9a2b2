"""Names that are easily remembered, for agents whom nobody gave one."""

import os
from collections.abc import Callable

_FIRST = (
    "amber", "ample", "arctic", "autumn", "bold", "brave", "breezy", "bright", "brisk", "calm", "candid",
    "clever", "cobalt", "copper", "coral", "cosmic", "crisp", "dapper", "deft", "early", "eager", "fair",
    "fleet", "frosty", "gentle", "golden", "hardy", "hazel", "humble", "indigo", "ivory", "jade", "jolly",
    "keen", "kind", "lively", "lucid", "lunar", "mellow", "merry", "misty", "nimble", "noble", "olive",
    "patient", "placid", "plucky", "proud", "quick", "quiet", "rapid", "rosy", "rustic", "sage", "silver",
    "snowy", "solar", "spry", "steady", "sunny", "swift", "tidy", "vivid", "witty",
)  # fmt: skip
_SECOND = (
    "badger", "beaver", "bison", "bobcat", "condor", "crane", "cricket", "curlew", "dingo", "dolphin",
    "egret", "elk", "falcon", "ferret", "finch", "fox", "gecko", "gibbon", "hare", "hawk", "heron",
    "hornet", "ibex", "ibis", "jackal", "jay", "kestrel", "kiwi", "koala", "lark", "lemur", "llama", "lynx",
    "magpie", "marten", "mole", "moose", "newt", "ocelot", "orca", "osprey", "otter", "owl", "panda",
    "pelican", "petrel", "plover", "puffin", "quail", "raven", "robin", "salmon", "seal", "shrew",
    "sparrow", "stoat", "stork", "swan", "tapir", "tern", "toad", "viper", "wombat", "wren",
)  # fmt: skip


def memorable(is_taken: Callable[[str], bool]) -> str:
    """A name that is not taken: two words, and a number when the words have run out."""
    for n in range(40):
        first, second, number = os.urandom(3)
        name = f"{_FIRST[first % len(_FIRST)]}-{_SECOND[second % len(_SECOND)]}"
        if n >= 20:
            name += f"-{number}"
        if not is_taken(name):
            return name
    return f"agent-{os.urandom(4).hex()}"
