"""The bridge to an agent in a pane of tmux. The pane, and the agent in it, outlive us."""

import os
import shutil
from collections.abc import Callable

from postroom import host
from postroom.bridges.contract import (
    Assent,
    Attachable,
    Berth,
    Capabilities,
    Delivered,
    Heard,
    Interrupted,
    Launch,
    Observation,
    Text,
)
from postroom.bridges.terminal.profile import profile_of
from postroom.bridges.terminal.typist import Typist
from postroom.bridges.tmux.death import exit_code
from postroom.bridges.tmux.format import literal
from postroom.bridges.tmux.pane import Pane
from postroom.bridges.tmux.place import standing
from postroom.bridges.tmux.server import Server, Target, at, own_socket, server_of, target
from postroom.errors import BridgeError, NotFound
from postroom.model.ladder import Evidence
from postroom.runtimes.screen import Profile

NAME = "tmux"
ABOUT = "a pane of tmux, in which people may type, too"
CAPABILITIES = Capabilities(screen=True, proves=(Evidence.TERMINAL,), interrupts=True)
BY_CALLER = True  # who asks for an agent starts it: in their own tmux, with their own environment
SESSION = "postroom"  # where agents are started unless another is named
LABEL = "@postroom_agent"  # the name that a pane bears
_SIZE = ("-x", "140", "-y", "50")
_NOTHING = ("sh", "-c", "read _")  # what a pane runs before its agent
_MADE = "#{pane_id} #{pid} #{session_name}:#{window_index}.#{pane_index}"
_PASSED = ("PATH", "VIRTUAL_ENV", "POSTROOM_HOME", "POSTROOM_PROJECT")


class TmuxBridge:
    """See `postroom.bridges.contract.Bridge`."""

    name = NAME

    def __init__(self, berth: Berth, profile: Profile) -> None:
        self._target = target(berth.pane)
        self._label = str(berth.details.get("label") or "")
        self._process = berth.process
        self._profile = profile
        self._is_end_told = False
        self._typist = Typist(Pane(self._target, berth.process, self._label), profile)

    def capabilities(self) -> Capabilities:
        return CAPABILITIES._replace(busy=self._profile.queues)

    def setup(self) -> None:
        """Let the pane bear its agent's name, by which it is found again."""
        if self._label:
            label(self._target, self._label)

    def observe(self) -> Observation:
        return self._typist.observe()

    def deliver(self, text: Text, assent: Assent) -> Delivered:
        return self._typist.deliver(text, assent)

    def attend(self, ring: Callable[[], None]) -> None:
        """A pane tells nobody when it changes: whoever waits for a proof looks again."""

    def receive(self) -> list[Heard]:
        return [*self._typist.receive(), *self._end()]

    def _end(self) -> list[Heard]:
        if self._is_end_told or not host.is_gone(self._process):
            return []
        self._is_end_told = True
        code = exit_code(self._target, self._process)
        return [] if code is None else [Heard(exit_code=code)]

    def interrupt(self) -> Interrupted:
        return self._typist.interrupt()

    def answer(self, question: str, option: str) -> bool:
        """What its screen asks, people answer there."""
        return False

    def screen(self, lines: int = 0) -> str:
        return self._typist.screen(lines)

    def terminal(self) -> Attachable | None:
        """Whoever wants to see it attaches to tmux."""
        return None

    def close(self) -> None:
        self._typist.close()


def open(berth: Berth) -> TmuxBridge:
    return TmuxBridge(berth, profile_of(berth))


def start(launch: Launch) -> Berth:
    """In a window of its own; its last screen stays when it ends, to be read.

    What ran before is started again in the same server: if that has ended, `NotFound`.
    """
    _refuse_another(str(launch.details.get("server") or ""))
    server = Server(str(launch.details.get("socket") or own_socket()))
    session = str(launch.details.get("session") or SESSION)
    command = _command(launch)
    os.makedirs(os.path.dirname(server.socket), 0o700, exist_ok=True)
    pane, holder, place = server.run(_window(server, session, launch)).strip().split(" ", 2)
    where = Target(pane, server.socket, server_of(int(holder)))
    # Not before the pane is prepared: a program may end, or ask for the pane's name, at once.
    at(where, ["set-option", "-p", "-t", pane, "remain-on-exit", "on"])
    label(where, launch.address)
    again = ["respawn-pane", "-k", "-t", pane, "-c", literal(launch.cwd), *_environment(launch), "--"]
    pid = at(where, [*again, *command], ["display-message", "-p", "-t", pane, "#{pane_pid}"])
    kept = {"socket": where.socket, "server": where.server}  # where it is started again
    return Berth(
        launch.agent, launch.address, host.identity_of(int(pid)), str(where), launch.runtime,
        {**launch.details, "label": launch.address, "place": place, **kept},
    )  # fmt: skip


def _refuse_another(server: str) -> None:
    if server and server_of(int(server.partition(".")[0])) != server:
        raise NotFound("the tmux server in which it ran has ended", hint="Start it anew: postroom spawn")


def _window(server: Server, session: str, launch: Launch) -> list[str]:
    """The words that open a window in which nothing runs yet."""
    name = launch.address.rpartition("/")[2]
    made = ["-d", "-P", "-F", _MADE, "-n", literal(name), "-c", literal(launch.cwd)]
    if _has_session(server, session):
        return ["new-window", *made, "-t", f"={session}:", "--", *_NOTHING]
    return ["new-session", *made, "-s", literal(session), *_SIZE, "--", *_NOTHING]


def _environment(launch: Launch) -> list[str]:
    given = {key: launch.env[key] for key in _PASSED if key in launch.env}
    given["POSTROOM_AGENT"] = launch.address
    return [word for key, value in given.items() for word in ("-e", f"{key}={value}")]


def _command(launch: Launch) -> list[str]:
    """By its own path, and never through a shell: what tmux gets as one word it would give to one."""
    program = shutil.which(launch.command[0], path=launch.env.get("PATH"))
    if program is None:
        raise BridgeError(f"there is no program {launch.command[0]!r}", hint="Is it on your PATH?")
    return [host.on_path("env") or "env", program, *launch.command[1:]]


def _has_session(server: Server, name: str) -> bool:
    try:
        server.run(["has-session", "-t", f"={name}"])
    except BridgeError:
        return False
    return True


def label(where: Target, name: str) -> None:
    """Let a pane bear a name; with none, it bears none."""
    words = ["-t", where.id, LABEL, name] if name else ["-u", "-t", where.id, LABEL]
    at(where, ["set-option", "-p", *words])


def end(berth: Berth) -> None:
    """End a pane and what runs in it, if that is what was started there; else nothing is left of it."""
    where = target(berth.pane)
    try:
        if standing(where).root == host.pid_of(berth.process):
            at(where, ["kill-pane", "-t", where.id])
    except NotFound:
        pass
    except BridgeError:
        if not host.is_gone(berth.process):
            raise
