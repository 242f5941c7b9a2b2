"""What every test may ask for: a home of its own, rooms in it, and an environment that says nothing."""

import os
import signal
import tempfile
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Any

import pytest
from hypothesis import settings

from postroom.config import Settings
from postroom.room.local import LocalRoom
from postroom.runtimes import SESSION_ENV, SIGNS
from tests.attached import MakeFile
from tests.clockwork import Clock

if TYPE_CHECKING:
    from tests.stores import S3, Sshd

OpenRoom = Callable[..., LocalRoom]
UNLIMITED = Settings(sender_rate=0)

# The same examples every time, so that a change is to blame for a failure; other ones where it is asked for.
settings.register_profile("same", derandomize=True, database=None, deadline=None)
settings.register_profile("other", database=None, deadline=None)
settings.load_profile("other" if os.environ.get("POSTROOM_TEST_RANDOM") else "same")

if signal.getsignal(signal.SIGINT) is signal.SIG_IGN:  # a script has these tests run in the background
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.fixture(autouse=True)
def _own_environment(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing a developer has set may decide a test, and no test may reach a developer's room."""
    for name in [name for name in os.environ if name.startswith(("POSTROOM_", "GIT_"))]:
        monkeypatch.delenv(name)
    # An agent may run the tests, or a person in a pane.
    for name in ("TMUX", "TMUX_PANE", *SIGNS, *filter(None, SESSION_ENV.values())):
        monkeypatch.delenv(name, raising=False)
    nobody = str(tmp_path_factory.getbasetemp() / "nobody")
    monkeypatch.setenv("HOME", nobody)
    monkeypatch.setenv("POSTROOM_SENDER_RATE", "0")  # tests send as fast as they can
    monkeypatch.setenv("POSTROOM_RESERVE_BYTES", "0")  # there are thousands of rooms
    monkeypatch.setenv("POSTROOM_HTTP_PORT", "0")  # two daemons at once cannot have the same
    for name in ("XDG_DATA_HOME", "XDG_CONFIG_HOME"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def home(tmp_path: os.PathLike[str]) -> str:
    """A directory in which a room may be made."""
    return os.path.join(tmp_path, "home")


@pytest.fixture(scope="module")
def s3() -> "Iterator[S3]":
    from tests.stores import S3

    with S3() as server:
        yield server


@pytest.fixture(scope="module")
def sshd(tmp_path_factory: pytest.TempPathFactory) -> "Iterator[Sshd]":
    from tests.stores import Sshd

    with Sshd(str(tmp_path_factory.mktemp("sshd"))) as server:
        yield server


@pytest.fixture
def scratch() -> Iterator[str]:
    """A directory in memory where there is one: for what makes hundreds of rooms and no claim about disks."""
    base = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="postroom-", dir=base) as directory:
        yield directory


@pytest.fixture
def clock() -> Clock:
    return Clock()


@pytest.fixture
def open_room(home: str) -> Iterator[OpenRoom]:
    """Opens rooms in the same home, all in project `p`, and closes them at the end."""
    opened: list[LocalRoom] = []

    def opener(agent: str | None = None, **options: Any) -> LocalRoom:
        settings = options.pop("settings", UNLIMITED)
        room = LocalRoom(options.pop("home", home), settings, agent=agent, project="p", **options)
        opened.append(room)
        return room

    yield opener
    for room in opened:
        room.close()


@pytest.fixture
def room(open_room: OpenRoom) -> LocalRoom:
    """A room, spoken for by `planner`, in which `planner` and `builder` have addresses."""
    room = open_room("planner")
    room.join("planner")
    room.join("builder")
    return room


@pytest.fixture
def make(tmp_path: os.PathLike[str]) -> MakeFile:
    """Makes a file with some content; its path."""

    def maker(name: str, text: bytes = b"some content") -> str:
        path = os.path.join(tmp_path, name)
        with open(path, "wb") as file:
            file.write(text)
        return path

    return maker
