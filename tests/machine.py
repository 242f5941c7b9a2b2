"""What a test needs of the machine beyond Python: mounts, namespaces, other users.

Where it cannot be had, the test is skipped by name. Under CI a machine without namespaces fails instead, so
that nobody mistakes one that proves nothing for one that proves everything.
"""

import functools
import os
import shutil
import subprocess

import pytest


def lacks(what: str) -> None:
    """Skip by name; under CI, fail."""
    if os.environ.get("CI") == "true":
        pytest.fail(f"this machine has no {what}, and CI must not skip what needs it")
    pytest.skip(f"NOT TESTED HERE: no {what}")


@functools.cache
def _works(*command: str) -> bool:
    if shutil.which(command[0]) is None:
        return False
    return subprocess.run(command, capture_output=True, check=False, timeout=30).returncode == 0


def unshare(*flags: str) -> list[str]:
    """The words that start a command in namespaces of its own; as root without a user namespace."""
    command = ["unshare", *flags] if os.geteuid() == 0 else ["unshare", "-r", *flags]
    if not _works(*command, "true"):
        lacks(f"`{' '.join(command)}`")
    return command


def sealed(path: str) -> tuple[str, ...]:
    """The words that run a command where a directory is a read-only file system, as in a sandbox."""
    script = 'mount --bind "$0" "$0" && mount -o remount,ro,bind "$0" && exec "$@"'
    return (*unshare("-m"), "sh", "-c", script, path)


def other_user() -> int:
    """A user id that is not ours and that we may become."""
    if os.geteuid() != 0:
        pytest.skip("NOT TESTED HERE: only root can act as another user")
    return 65534
