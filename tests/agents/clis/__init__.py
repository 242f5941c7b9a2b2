"""The agent CLIs the rig can run, by name: one module each, in the order of `postroom.runtimes`."""

import importlib
import pkgutil

from postroom.runtimes import NAMES
from tests.agents.cli import Cli

_FOUND = sorted((each.name for each in pkgutil.iter_modules(__path__)), key=NAMES.index)
CLIS: dict[str, Cli] = {name: importlib.import_module(f"{__name__}.{name}").CLI for name in _FOUND}
