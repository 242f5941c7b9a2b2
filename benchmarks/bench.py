"""One run of the benchmark: what was asked for, where files go, and how progress is told."""

import contextlib
import os
import random
import sys
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from benchmarks import peers
from benchmarks.peers.contract import Endpoint, Peer

T = TypeVar("T")


@dataclass(frozen=True)
class Bench:
    quick: bool
    folder: Path
    chosen: Sequence[str]
    skipped: dict[str, str] = field(default_factory=dict[str, str])
    broken: list[str] = field(default_factory=list[str])
    _order: random.Random = field(default_factory=lambda: random.Random(2))
    _start: float = field(default_factory=time.monotonic)

    def say(self, text: str) -> None:
        print(f"[{time.monotonic() - self._start:6.1f} s] {text}", file=sys.stderr, flush=True)

    def pick(self, quick: T, full: T) -> T:
        return quick if self.quick else full

    def peers(self, wanted: Sequence[str]) -> list[Peer]:
        """Those wanted by the case, chosen by the user, and able to run here."""
        usable: list[Peer] = []
        for name in wanted:
            if name not in self.chosen:
                continue
            try:
                peer = peers.load(name)
            except ModuleNotFoundError as error:
                self.skipped[name] = f"the Python package {error.name} is not installed"
                continue
            if reason := peer.missing():
                self.skipped[name] = reason
            else:
                usable.append(peer)
        return usable

    def shuffled(self, items: Sequence[T]) -> list[T]:
        """Another order each round, the same in every run: nobody is always measured first."""
        return self._order.sample(items, len(items))

    @contextlib.contextmanager
    def serve(self, peer: Peer, mailboxes: int) -> Iterator[Endpoint]:
        folder = self.folder / f"{peer.name}-{len(os.listdir(self.folder))}"
        folder.mkdir()
        with peer.serve(str(folder), mailboxes) as endpoint:
            yield {**endpoint, "files": str(folder)}
