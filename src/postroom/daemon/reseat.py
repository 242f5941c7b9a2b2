"""An agent that was quit and started again in its adopted pane is reached there again, by itself.

That is told by the processes of the pane alone; tmux is not asked. A pane that is gone is forgotten.
"""

from postroom import host
from postroom.bridges import manifest as manifests
from postroom.bridges.manifest import Manifest
from postroom.bridges.tmux.candidate import in_front
from postroom.runtimes import NAMES

_LOOKS = 15  # at a program that is not the agent: one that starts may take a moment to be told


class Reseat:
    """Looks after the panes whose agents have ended."""

    def __init__(self, home: str) -> None:
        self._home = home
        self._looks: dict[str, tuple[int, int]] = {}  # by agent: at which program, and how often

    def look(self, manifest: Manifest) -> bool:
        """Whether something is to be kept otherwise than before. The agent of that manifest has ended."""
        root = str(manifest.details.get("root") or "")
        if manifest.is_ours or not root or manifests.get(self._home, manifest.agent) is None:
            return False  # nobody wants it back
        if host.is_gone(root):
            manifests.remove(self._home, manifest.agent)
            return True
        process = self._again(manifest, host.pid_of(root))
        if process:
            self._looks.pop(manifest.agent, None)
            manifests.put(self._home, manifest._replace(process=process))
        return bool(process)

    def _again(self, manifest: Manifest, root: int) -> str:
        """The process of the same program in front of the pane; empty: there is none."""
        leader = host.foreground(root)
        seen, looks = self._looks.get(manifest.agent, (0, 0))
        looks = looks + 1 if seen == leader else 1
        self._looks[manifest.agent] = leader, looks
        if looks > _LOOKS:
            return ""
        runtime = manifest.runtime
        known = {} if runtime in NAMES else {str(manifest.details.get("program")): runtime or "given"}
        pid, found = in_front(root, known)
        return host.identity_of(pid) if found and found == (runtime or "given") else ""
