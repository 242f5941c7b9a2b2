"""What this process can know about the machine it runs on: who lives, and where files are.

Everything platform-specific sits here, guarded: /proc, Unix sockets and user ids may be absent.
"""

import _socket  # what `socket` wraps, at a tenth of its cost to a start
import os
import sys
import time
from collections.abc import Iterator

from postroom.errors import InvalidValue

# Where no mount table names them otherwise, these do not give SQLite the locks it needs.
_UNSAFE_FILE_SYSTEMS = frozenset((
    "nfs", "nfs4", "cifs", "smb3", "smbfs", "9p", "afs", "ceph", "glusterfs", "lustre", "ocfs2", "gfs2",
    "beegfs", "davfs", "virtiofs", "fakeowner", "vboxsf", "prl_fs", "vmhgfs",
))  # fmt: skip

_LISTENING = "0A"  # the state of a socket, as /proc names it
_LOOPBACK, _ANYWHERE = "0100007F:", "00000000:"  # addresses, likewise, on a machine of this byte order
_FIRST_PTS = 136  # the first of the device numbers of pseudo-terminals, 256 terminals each
_STARTING = 100  # milliseconds that a process may have run before it can ask

_boot: str | None = None
_identity: tuple[int, str] = (0, "")  # (pid it was made in, identity): a forked child makes its own


def has_unix_sockets() -> bool:
    return hasattr(_socket, "AF_UNIX") and sys.platform != "win32"


def _read(path: str) -> str:
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def boot() -> str:
    """Eight characters that differ between boots; empty where the system does not say."""
    global _boot  # noqa: PLW0603 - a cache
    if _boot is None:
        _boot = _read("/proc/sys/kernel/random/boot_id").strip()[:8]
    return _boot


def _pid_namespace() -> str:
    try:
        return os.readlink("/proc/self/ns/pid")[5:-1]
    except OSError:
        return ""


def _start_and_state(pid: int) -> tuple[str, str]:
    """A process's start time in ticks and its state letter; empty where /proc does not say."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return (fields[19], fields[0]) if len(fields) > 19 else ("", "")


def identity() -> str:
    """This process as evidence: `pid.start.boot.namespace`, never the same for two processes."""
    global _identity  # noqa: PLW0603 - a cache, keyed by pid
    pid = os.getpid()
    if _identity[0] != pid:
        _identity = (pid, f"{pid}.{_start_and_state(pid)[0]}.{boot()}.{_pid_namespace()}")
    return _identity[1]


def identity_of(pid: int) -> str:
    """Another process of this machine, as `identity` names this one."""
    return f"{pid}.{_start_and_state(pid)[0]}.{boot()}.{_pid_namespace()}"


def pid_of(process: str) -> int:
    """The number of a process that `identity` names; 0: it names none."""
    return int(process.partition(".")[0] or 0)


def started_at() -> int:
    """When this process began, in milliseconds since the epoch; never told too late."""
    start = _start_and_state(os.getpid())[0]
    if not start or not hasattr(time, "CLOCK_BOOTTIME"):
        return time.time_ns() // 1_000_000 - _STARTING
    since_boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    return time.time_ns() // 1_000_000 - since_boot + int(start) * 1000 // os.sysconf("SC_CLK_TCK")


def began_at(process: str) -> int:
    """When the process that `identity` names began, in milliseconds since the epoch; 0: nobody can tell."""
    start = [*process.split("."), ""][1]
    if not start or not hasattr(time, "CLOCK_BOOTTIME"):
        return 0
    since_boot = time.clock_gettime_ns(time.CLOCK_BOOTTIME) // 1_000_000
    return time.time_ns() // 1_000_000 - since_boot + int(start) * 1000 // os.sysconf("SC_CLK_TCK")


def ancestors(pid: int | None = None, most: int = 32) -> Iterator[int]:
    """The processes above one, the nearest first; none where the system does not say."""
    above = os.getppid() if pid is None else _parent(pid)
    while above > 1 and most:
        yield above
        above, most = _parent(above), most - 1


def lineage(pid: int | None = None, most: int = 32) -> list[str]:
    """The processes above one as `identity` names them, the nearest first; the first of all, too."""
    found: list[str] = []
    above, tail = os.getppid() if pid is None else _parent(pid), f".{boot()}.{_pid_namespace()}"
    while above > 0 and len(found) < most:
        fields = _read(f"/proc/{above}/stat").rpartition(")")[2].split()
        if len(fields) < 20:
            break
        found.append(f"{above}.{fields[19]}{tail}")
        above = int(fields[1])
    return found


def is_elsewhere(process: str) -> bool:
    """Whether a process belongs to another space of process numbers, so that nobody here can see it."""
    return [*process.split("."), "", "", ""][3] != _pid_namespace()


def _parent(pid: int) -> int:
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[1]) if len(fields) > 1 else 0


def program(pid: int) -> str:
    """What a process is called; empty where the system does not say."""
    return _read(f"/proc/{pid}/comm").strip()


def executable(pid: int) -> str:
    """The file that a process runs, whatever it calls itself; empty where the system does not say."""
    return _target(f"/proc/{pid}/exe").removesuffix(" (deleted)")


def started_with(process: str) -> tuple[list[str], str]:
    """The command line of a process of this machine, and its directory; empty where it is not told."""
    at = f"/proc/{process.partition('.')[0]}"
    return _read(f"{at}/cmdline").split("\0")[:-1], _target(f"{at}/cwd")


def processes() -> list[int]:
    """All that can be seen from here; none where the system does not say."""
    try:
        return [int(name) for name in os.listdir("/proc") if name.isdecimal()]
    except OSError:
        return []


def environment(pid: int) -> dict[str, str]:
    """With which a process was started; empty where that is not told."""
    pairs = (entry.partition("=") for entry in _read(f"/proc/{pid}/environ").split("\0"))
    return {name: value for name, found, value in pairs if found}


def listens(pid: int) -> list[int]:
    """The ports at which a process listens on loopback, where they can be reached from here."""
    if _target(f"/proc/{pid}/ns/net") != _target("/proc/self/ns/net"):
        return []
    try:
        files = [_target(f"/proc/{pid}/fd/{name}") for name in os.listdir(f"/proc/{pid}/fd")]
    except OSError:
        return []
    sockets = {name[8:-1] for name in files if name.startswith("socket:[")}
    rows = [line.split() for line in _read(f"/proc/{pid}/net/tcp").splitlines()[1:]]
    return [
        int(row[1].partition(":")[2], 16)
        for row in rows
        if row[3] == _LISTENING and row[9] in sockets and row[1].startswith((_LOOPBACK, _ANYWHERE))
    ]


def terminal(pid: int) -> int:
    """The controlling terminal of a process, as `device` names it; 0: it has none."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return int(fields[4]) & 0xFFFFFFFF if len(fields) > 4 else 0


def has_terminal() -> bool:
    """Whether this process has a terminal that is still there."""
    try:
        os.close(os.open("/dev/tty", os.O_RDONLY | os.O_NOCTTY))
    except OSError:
        return False
    return True


def key_read_ago(pid: int) -> float | None:
    """Seconds since what was typed at the terminal of a process was read, to within some ten.

    None where the system does not say: Linux notes it at the device of the terminal, every 8 seconds.
    """
    own = terminal(pid)
    path = f"/dev/pts/{((own >> 8) & 0xFFF) - _FIRST_PTS << 8 | own & 0xFF | (own >> 12) & 0xFFF00}"
    try:
        return max(0.0, time.time() - os.stat(path).st_atime) if own == device(path) else None
    except OSError:
        return None


def is_in_foreground(pid: int) -> bool:
    """Whether what is typed at its terminal goes to a process; yes, where the system does not say."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return len(fields) < 6 or fields[2] == fields[5]


def foreground(pid: int) -> int:
    """The first of the group of processes to which the terminal of a process sends what is typed; 0: none."""
    fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
    return max(0, int(fields[5])) if len(fields) > 5 else 0


def group(leader: int) -> list[int]:
    """The processes of a group; none where the system does not say."""
    found: list[int] = []
    for pid in processes():
        fields = _read(f"/proc/{pid}/stat").rpartition(")")[2].split()
        if len(fields) > 2 and fields[2] == str(leader):
            found.append(pid)
    return found


def device(path: str) -> int:
    """A terminal by its path, as /proc numbers it."""
    number = os.stat(path).st_rdev
    major, minor = os.major(number), os.minor(number)
    return (minor & 0xFF) | (major << 8) | ((minor & ~0xFF) << 12)


def on_path(name: str) -> str:
    """Where a program is, by PATH; empty if nowhere. What lies in the directory we stand in is not meant."""
    for directory in os.environ.get("PATH", "").split(":"):
        path = os.path.join(directory, name)
        if directory.startswith("/") and os.access(path, os.X_OK) and os.path.isfile(path):
            return path
    return ""


def own_shell() -> str:
    """The shell of the user of this process; empty where the system does not say."""
    try:
        import pwd  # noqa: PLC0415 - absent on Windows

        return pwd.getpwuid(os.getuid()).pw_shell
    except (ImportError, KeyError):  # a user without an entry
        return ""


def tell(path: str, data: bytes, patience: float) -> None:
    """Write to a socket in the file system. `OSError` where nobody reads it."""
    link = _socket.socket(_socket.AF_UNIX, _socket.SOCK_STREAM)
    try:
        link.settimeout(patience)
        link.connect(path)
        while data:
            data = data[link.send(data) :]
    finally:
        link.close()


def _target(link: str) -> str:
    try:
        return os.readlink(link)
    except OSError:
        return ""


def lock(descriptor: int) -> bool:
    """Whether this process now has a file for itself, until it closes it; never where files have no locks."""
    try:
        import fcntl  # noqa: PLC0415 - absent on Windows

        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except (ImportError, OSError):
        return False
    return True


def is_gone(process: str) -> bool:
    """True only when it is certain that the process named by an `identity` has ended.

    A process in another container cannot be judged from here, and is not called gone.
    """
    if process == identity():
        return False
    if is_of_earlier_boot(process):
        return True
    pid_text, start, _, namespace = [*process.split("."), "", "", ""][:4]
    if namespace != identity().split(".")[3] or not (pid_text.isascii() and pid_text.isdigit()):
        return False
    pid = int(pid_text)
    if start:
        now_start, state = _start_and_state(pid)
        if now_start:
            return now_start != start or state in "ZX"
    return not _pid_exists(pid)


def is_of_earlier_boot(process: str) -> bool:
    """True only when it is certain that the machine was started anew since that process ran."""
    its_boot, my_boot = [*process.split("."), "", ""][2], identity().split(".")[2]
    return bool(its_boot and my_boot) and its_boot != my_boot


def _pid_exists(pid: int) -> bool:
    if sys.platform == "win32":
        import ctypes  # noqa: PLC0415 - only where os.kill(pid, 0) would end the process

        kernel = ctypes.windll.kernel32
        handle = kernel.OpenProcess(0x1000, False, pid)
        if handle:
            kernel.CloseHandle(handle)
        return bool(handle)
    try:
        os.kill(pid, 0)
    except (ProcessLookupError, OverflowError):
        return False
    except OSError:
        return True  # it exists and is not ours
    return True


def give_way() -> None:
    """Let those run now whom this process has just woken.

    The kernel expects a process that wakes another to go to sleep, and on a virtual machine, where a halted
    processor does not count as idle, it puts the other behind it. There it would wait for as long as the one
    who woke it had something else to do.
    """
    if hasattr(os, "sched_yield"):
        os.sched_yield()


def user() -> int:
    """The number of the user of this process; 0 where users have none."""
    return os.getuid() if hasattr(os, "getuid") else 0


def owner_is_other(path: str) -> bool:
    """Whether a file belongs to someone else; False where the platform has no user ids."""
    if not hasattr(os, "geteuid"):
        return False
    try:
        return os.stat(path).st_uid != os.geteuid()
    except OSError:
        return False


def allow_files(number: int) -> None:
    """Let this process have so many files open, or as many as it may be given; never fewer than before."""
    try:
        import resource  # noqa: PLC0415 - only the daemon needs it, and not every platform has it
    except ImportError:
        return
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = number if hard == resource.RLIM_INFINITY else min(number, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))


def private_directory(path: str) -> None:
    """Make a directory for our eyes only, and each one above it that is missing (`makedirs` opens those)."""
    try:
        os.mkdir(path, 0o700)
    except FileExistsError:
        return
    except FileNotFoundError:
        private_directory(os.path.dirname(path))
        os.makedirs(path, 0o700, exist_ok=True)


def plain(name: str) -> str:
    """The name of one file in a directory; `InvalidValue` for what would lead elsewhere."""
    if not name or name[0] == "." or "/" in name or "\0" in name:
        raise InvalidValue(f"{name!r} is no name of a file"[:200])
    return name


def replace(path: str, data: bytes, mode: int = 0o600) -> None:
    """Put a file in the place of another: whoever reads it finds the old or the new, never a part.

    Until then it has a name by which nobody looks for anything, and if it comes to nothing it is gone.
    """
    directory, name = os.path.split(path)
    temporary = os.path.join(directory, f".{name}.{os.getpid()}")
    try:
        with open(os.open(temporary, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, mode), "wb") as file:
            file.write(data)
        os.chmod(temporary, mode)  # what a file mode creation mask, or an earlier process, may have changed
        os.replace(temporary, path)
    except OSError:
        try:
            os.unlink(temporary)
        except OSError:
            pass
        raise


def unsafe_file_system(path: str, mounts: str | None = None) -> str:
    """The name of the network or FUSE file system a path lies on, or an empty string."""
    real = os.path.realpath(path)
    best, kind = "", ""
    for line in (_read("/proc/self/mountinfo") if mounts is None else mounts).splitlines():
        left, _, right = line.partition(" - ")
        fields = left.split()
        if len(fields) < 5 or not right:
            continue
        point = fields[4].encode().decode("unicode_escape").encode("latin-1").decode(errors="replace")
        if (real == point or real.startswith(point.rstrip("/") + "/")) and len(point) >= len(best):
            best, kind = point, right.split()[0]
    return kind if kind in _UNSAFE_FILE_SYSTEMS or kind == "fuse" or kind.startswith("fuse.") else ""
