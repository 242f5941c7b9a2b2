"""The programs that run inside a runtime: plain ES modules, one beside the module of each that takes one."""

import json
import os
import re

from postroom import config
from postroom.runtimes.contract import NUDGE
from postroom.text import encode


def program(name: str, room: str) -> str:
    """The text of a runtime's plugin, for the room at a home directory."""
    path = os.path.join(os.path.dirname(os.path.abspath(__file__)), f"{name}.js")
    with open(path, encoding="utf-8") as file:
        content = file.read()
    facts = {
        "HOOK": config.beside(room, "hook"), "LIFE": config.beside(room, "life"),
        "OUTBOX": config.beside(room, "outbox"),
        "RUN": os.path.join(room, "run"), "NUDGE": NUDGE,
    }  # fmt: skip
    for fact, value in facts.items():
        content = content.replace(f'"%{fact}%"', encode(value), 1)
    return content


def program_in(text: str) -> str:
    """What a plugin's text has it run, if it is one of ours that runs something; else empty."""
    found = re.search(r'^const HOOK = ("[^\n]*")', text, re.MULTILINE)
    try:
        return json.loads(found[1]) if found else ""
    except ValueError:  # somebody has made it another
        return ""
