"""Installs the pinned agent CLIs from their registries: `python -m tests.agents.install [NAME …]`.

What is there in the right version stays as it is. One that cannot be had does not keep the others away; the
exit status tells.
"""

import json
import os
import subprocess
import sys
import time
from collections.abc import Iterator

from tests.agents.pin import PINS, Pin, cache, program, version

LIMIT = 1200  # seconds for one CLI: the largest has 700 MB


def install(name: str) -> str | None:
    """Install one CLI; what went wrong, or None."""
    folder = os.path.join(cache(), name)
    os.makedirs(folder, exist_ok=True)
    for command in _commands(folder, PINS[name]):
        try:
            done = subprocess.run(
                command, cwd=folder, text=True, timeout=LIMIT, check=False,
                stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
            )  # fmt: skip
        except (OSError, subprocess.TimeoutExpired) as error:
            return str(error)
        if done.returncode:
            return done.stdout[-2000:].strip()
    return None if program(name) else f"it came without {PINS[name].program}"


def _commands(folder: str, pin: Pin) -> Iterator[list[str]]:
    if pin.registry == "pip":
        yield [sys.executable, "-m", "venv", folder]
        quiet = ["--quiet", "--disable-pip-version-check"]
        yield [os.path.join(folder, "bin", "pip"), "install", *quiet, *pin.packages]
    else:
        manifest = os.path.join(folder, "package.json")
        with open(manifest, "w", encoding="utf-8") as file:
            json.dump({"private": True}, file)
        # Their scripts fetch things that the tests do not need; some declare a newer node than is here.
        yield ["npm", "install", "--no-audit", "--no-fund", "--ignore-scripts", "--force", *pin.packages]


def main() -> int:
    names = sys.argv[1:] or list(PINS)
    if unknown := [name for name in names if name not in PINS]:
        print(f"No such CLI: {', '.join(unknown)}. There are {', '.join(PINS)}.", file=sys.stderr)
        return 2
    print(f"Agent CLIs in {cache()}", flush=True)
    failed: list[str] = []
    for name in names:
        print(f"  {name:9} {version(name):9} ", end="", flush=True)
        if program(name):
            print("there")
            continue
        print("installing … ", end="", flush=True)
        begun = time.monotonic()
        error = install(name)
        print(f"FAILED\n{error}" if error else f"done in {time.monotonic() - begun:.0f} s", flush=True)
        failed += [name] if error else []
    if failed:
        print(f"Without {', '.join(failed)}: their tests will be skipped.", file=sys.stderr)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
