"""One pane as a terminal: what it shows, whose it is, and keys pressed only while it is as it was."""

import os
import time

from postroom import host
from postroom.bridges.terminal.port import View
from postroom.bridges.terminal.screen import Screen, parse
from postroom.bridges.terminal.shell import is_shell
from postroom.bridges.tmux.camera import Shot, camera, places
from postroom.bridges.tmux.server import Server, Target, at, script, server_of
from postroom.errors import BridgeError

_DONE, _NOT = "done", "withheld"
_SAY_DONE, _SAY_NOT = (["display-message", "-p", word] for word in (_DONE, _NOT))
_buffers = iter(range(1 << 62))


class Pane:
    """A pane in which a process runs that was registered; another one there is not it."""

    def __init__(self, target: Target, process: str, label: str = "") -> None:
        self._target = target
        self._process = process
        self._label = label  # the name that the pane bears; empty: any
        self._server = Server(target.socket)
        self._camera = camera(self._server)
        self._last: tuple[tuple[str, int, int], Screen, dict[str, int]] | None = None

    def look(self) -> View:
        shot = self._camera.look(self._target.id)
        alive = self._is_same(shot)
        now, facts = time.time(), shot.facts
        alone = facts["window_panes"] == "1"
        screen, found = self._shown(shot)
        return View(
            screen, shot.at, alive,
            foreground=alive and host.is_in_foreground(host.pid_of(self._process)),
            shell=is_shell(self._process),
            in_mode=facts["pane_in_mode"] != "0" or facts["pane_input_off"] == "1",
            synchronised=facts["pane_synchronized"] == "1",
            typed_ago=max(0.0, now - shot.typed_at) if shot.typed_at else None,
            moved_ago=max(0.0, now - int(facts["window_activity"] or 0)) if alone else None,
            facts=shot.condition(found),
        )  # fmt: skip

    def _shown(self, shot: Shot) -> tuple[Screen, dict[str, int]]:
        """Its screen, and the words by which it is known again; as it was, where nothing has changed."""
        key = shot.text, int(shot.facts["cursor_y"]), int(shot.facts["pane_width"])
        if self._last is None or self._last[0] != key:
            screen = parse(*key)
            self._last = key, screen, places([line.text for line in screen.lines])
        return self._last[1:]

    def _is_same(self, shot: Shot) -> bool:
        """Whether the registered process still runs in this very pane."""
        facts = shot.facts
        if facts["pane_dead"] != "0" or host.is_gone(self._process):
            return False
        if self._label and facts["@postroom_agent"] != self._label:
            return False
        if server_of(int(facts["pid"])) != self._target.server:
            return False
        try:
            return host.terminal(host.pid_of(self._process)) == host.device(facts["pane_tty"])
        except OSError:
            return False

    def paste(self, text: str, view: View) -> bool:
        """Framed by tmux where the program asked for that; its newlines stay what they are."""
        pane, buffer = self._target.id, f"postroom-{os.getpid()}-{next(_buffers)}"
        paste = script(["paste-buffer", "-p", "-r", "-d", "-b", buffer, "-t", pane], _SAY_DONE)
        leave = script(["delete-buffer", "-b", buffer], _SAY_NOT)
        load = ["load-buffer", "-b", buffer, "-"]
        return self._said(load, ["if-shell", "-F", "-t", pane, view.facts, paste, leave], given=text)

    def press(self, key: str, view: View | None = None) -> bool:
        pane = self._target.id
        if view is None:
            at(self._target, ["send-keys", "-t", pane, key])
            return True
        press = script(["send-keys", "-t", pane, key], _SAY_DONE)
        return self._said(["if-shell", "-F", "-t", pane, view.facts, press, script(_SAY_NOT)])

    def _said(self, *commands: list[str], given: str = "") -> bool:
        said = self._server.run(*commands, given=given).strip()
        if said not in (_DONE, _NOT):
            raise BridgeError(f"tmux answered {said[:80]!r}")
        return said == _DONE

    def scrollback(self, lines: int) -> str:
        shown = ["capture-pane", "-p", "-t", self._target.id, "-S", f"-{lines}"]
        return at(self._target, shown).rstrip()

    def close(self) -> None:
        """The pane runs on."""
