"""What runs a hook: the nearest process above it that is no shell."""

from postroom import host

_NO_AGENTS = ("tmux", "screen", "sshd", "systemd", "login", "init", "su", "cron", "containerd", "docker")
_SHELLS = ("sh", "bash", "dash", "zsh", "fish", "env", "timeout", "setsid", "nice")


def agent() -> int:
    """Its number; 0 where that is nothing that could be an agent: it is gone, or a person typed this."""
    for pid in host.ancestors():
        if (program := host.program(pid)) not in _SHELLS:
            return 0 if program.startswith(_NO_AGENTS) else pid
    return 0
