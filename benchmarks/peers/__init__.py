"""The systems measured, one module each, loaded by name so that a worker imports only its own."""

from importlib import import_module

from benchmarks.peers.contract import Peer

MODULES = {
    "floor": "datagram",
    "postroom-listen": "room",
    "postroom-listen-full": "room",
    "postroom-take": "room",
    "postroom-take-full": "room",
    "nats": "jetstream",
    "nats-always": "jetstream",
    "redis": "redis_streams",
    "redis-always": "redis_streams",
    "litequeue": "litequeue_polled",
    "sqlite-polled": "sqlite_polled",
}


def load(name: str) -> Peer:
    """ModuleNotFoundError when the peer's client is not installed."""
    module = import_module(f"{__name__}.{MODULES[name]}")
    return module.VARIANTS[name]
