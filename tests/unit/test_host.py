"""Who lives and who is gone, and which file systems cannot be trusted with a lock."""

import os
import signal
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from postroom import host
from postroom.errors import InvalidValue
from tests import machine
from tests.process import Child

needs_proc = pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="tells of /proc")


@pytest.fixture
def child():
    with Child("idle") as child:
        yield child


def test_this_process_is_not_gone():
    assert not host.is_gone(host.identity())
    assert host.identity() is host.identity()


@pytest.mark.core
def test_a_process_that_runs_is_not_gone_and_a_killed_one_is(child: Child):
    identity = child.hear()
    assert identity != host.identity()
    assert not host.is_gone(identity)
    child.kill()
    assert host.is_gone(identity)


def test_a_stopped_process_is_not_gone(child: Child):
    identity = child.hear()
    child.signal(signal.SIGSTOP)
    os.waitpid(child.pid, os.WUNTRACED)
    assert not host.is_gone(identity)
    child.signal(signal.SIGCONT)


@needs_proc
def test_a_zombie_is_gone(child: Child):
    identity = child.hear()
    child.signal(signal.SIGKILL)
    os.waitid(os.P_PID, child.pid, os.WEXITED | os.WNOWAIT)  # dead, and not yet collected
    assert os.path.exists(f"/proc/{child.pid}")
    assert host.is_gone(identity)


@needs_proc
def test_a_process_that_got_the_number_of_a_dead_one_is_not_taken_for_it(child: Child):
    pid, start, boot, namespace = child.hear().split(".")
    assert not host.is_gone(f"{pid}.{start}.{boot}.{namespace}")
    assert host.is_gone(f"{pid}.{int(start) - 1}.{boot}.{namespace}")


@needs_proc
def test_a_process_of_another_boot_is_gone(child: Child):
    pid, start, boot, namespace = child.hear().split(".")
    assert boot
    assert host.is_gone(f"{pid}.{start}.{'0' * 8}.{namespace}")


@needs_proc
def test_a_process_in_another_pid_namespace_cannot_be_judged():
    with Child("idle", prefix=machine.unshare("--pid", "--fork", "--mount-proc")) as child:
        identity = child.hear()
        assert identity.split(".")[3] != host.identity().split(".")[3]
        assert not host.is_gone(identity)
        child.kill()
        assert not host.is_gone(identity)  # its number may be anyone's here


@needs_proc
def test_a_process_in_a_container_does_not_call_one_outside_gone(child: Child):
    outside = child.hear()
    with Child("judge", outside, prefix=machine.unshare("--pid", "--fork", "--mount-proc")) as inside:
        assert inside.hear() is False


def test_a_forked_child_has_an_identity_of_its_own():
    code = (
        "import os, sys\nfrom postroom import host\nmine = host.identity()\nr, w = os.pipe()\n"
        "if os.fork() == 0:\n"
        "    os.write(w, host.identity().encode()); os._exit(host.is_gone(mine))\n"
        "pid, status = os.wait()\n"
        "child = os.read(r, 999).decode()\n"
        "sys.exit(status or child == mine or not host.is_gone(child))\n"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False, timeout=30).returncode == 0


@pytest.mark.parametrize("text", ["", ".", "...", "1"])
def test_what_names_no_process_is_not_called_gone(text: str):
    assert not host.is_gone(text)


@pytest.mark.parametrize(("pid", "gone"), [("", False), ("9" * 30, True), ("-1", False), ("\u00b2", False)])
def test_an_absurd_process_number_is_no_error(pid: str, gone: bool):
    _, start, boot, namespace = host.identity().split(".")
    assert host.is_gone(f"{pid}.{start}.{boot}.{namespace}") == gone


def test_without_proc_the_number_alone_is_asked(monkeypatch: pytest.MonkeyPatch, child: Child):
    pid = child.hear().split(".")[0]
    monkeypatch.setattr(host, "_read", lambda path: "")
    monkeypatch.setattr(host, "_pid_namespace", lambda: "")
    monkeypatch.setattr(host, "_boot", "")
    monkeypatch.setattr(host, "_identity", (0, ""))
    assert host.identity() == f"{os.getpid()}..."
    assert not host.is_gone(f"{pid}...")
    child.kill()
    assert host.is_gone(f"{pid}...")


# owners


def test_a_file_of_our_own_is_not_anothers_and_neither_is_one_that_is_missing(tmp_path):
    (tmp_path / "mine").touch()
    assert not host.owner_is_other(str(tmp_path / "mine"))
    assert not host.owner_is_other(str(tmp_path / "missing"))


def test_a_file_of_another_user_is_anothers(tmp_path):
    stranger = machine.other_user()
    (tmp_path / "theirs").touch()
    os.chown(tmp_path / "theirs", stranger, stranger)
    assert host.owner_is_other(str(tmp_path / "theirs"))


# file systems, from mount tables as machines show them

DEBIAN = """\
22 27 0:21 / /proc rw,relatime - proc proc rw
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw,discard
30 27 0:27 / /dev/shm rw,relatime - tmpfs tmpfs rw,size=24682416k
36 27 0:31 / /home rw,relatime shared:1 - nfs4 server:/export/home rw,vers=4.2,addr=10.0.0.1
40 27 0:40 / /home/ana/local rw,relatime - xfs /dev/vdb rw
41 27 0:41 / /mnt/my\\040share rw,relatime - cifs //nas/share rw
42 27 0:42 / /mnt/straße rw,relatime - fuse.sshfs ana@host: rw
43 27 0:43 / /mnt/back\\134slash rw,relatime - nfs server:/x rw
44 27 0:44 / /homestead rw,relatime - btrfs /dev/vdc rw
"""
WSL = """\
60 33 0:27 / / rw,relatime - ext4 /dev/sdc rw
71 60 0:40 / /mnt/c rw,noatime - 9p drvfs rw,dirsync,aname=drvfs;path=C:\\;uid=1000
"""
DOCKER_DESKTOP = """\
500 400 0:150 / / rw,relatime - overlay overlay rw,lowerdir=/var/lib/docker/overlay2/l/A
510 500 0:33 /Users/ana/src /src rw,relatime - virtiofs virtiofs0 rw
511 500 0:34 / /cache rw,relatime - fuse.grpcfuse grpcfuse rw
512 500 0:35 / /plain rw,relatime - fuse /dev/fuse rw
513 500 0:36 /Users/ana/mail /mail rw,relatime - fakeowner /run/host_mark/Users rw,fakeowner
514 500 254:1 /docker/volumes/own/_data /volume rw,relatime - ext4 /dev/vda1 rw
"""
LIMA = """\
27 1 254:1 / / rw,relatime - ext4 /dev/vda1 rw
40 27 0:40 / /Users/ana rw,nosuid,nodev,relatime - fuse.sshfs :/Users/ana rw,user_id=501
41 27 0:41 / /qemu rw,relatime - 9p mount0 rw,access=client,trans=virtio
42 27 0:42 / /vz rw,relatime - virtiofs mount1 rw
"""
GVISOR = """\
1 0 0:20 / / rw - overlay none rw
5 1 0:24 / /mail rw - 9p none rw,trans=fd,rfdno=7,wfdno=7,aname=/,dfltuid=4294967294
"""
GUEST = """\
27 1 8:1 / / rw,relatime - ext4 /dev/sda1 rw
50 27 0:50 / /mnt/hgfs rw,relatime - vmhgfs .host:/ rw
51 27 0:51 / /mnt/open rw,relatime - fuse.vmhgfs-fuse vmhgfs-fuse rw
52 27 0:52 / /media/sf_mail rw,relatime - vboxsf mail rw
"""
STACKED = """\
27 1 254:0 / / rw,relatime - ext4 /dev/vda rw
50 27 0:50 / /data rw - nfs server:/data rw
51 50 0:51 / /data rw - tmpfs tmpfs rw
"""


@pytest.mark.promise("network-file-system")
@pytest.mark.parametrize(
    ("path", "mounts", "kind"),
    [
        ("/var/lib/room", DEBIAN, ""),
        ("/home", DEBIAN, "nfs4"),
        ("/home/ana/.local/share/postroom", DEBIAN, "nfs4"),
        ("/home/ana/local/postroom", DEBIAN, ""),
        ("/homestead/postroom", DEBIAN, ""),
        ("/homeless", DEBIAN, ""),
        ("/mnt/my share/x", DEBIAN, "cifs"),
        ("/mnt/straße/x", DEBIAN, "fuse.sshfs"),
        ("/mnt/back\\slash/x", DEBIAN, "nfs"),
        ("/dev/shm/x", DEBIAN, ""),
        ("/home/ana", WSL, ""),
        ("/mnt/c/Users/ana", WSL, "9p"),
        ("/src/app", DOCKER_DESKTOP, "virtiofs"),
        ("/cache/x", DOCKER_DESKTOP, "fuse.grpcfuse"),
        ("/plain/x", DOCKER_DESKTOP, "fuse"),
        ("/mail/builder", DOCKER_DESKTOP, "fakeowner"),
        ("/volume/builder", DOCKER_DESKTOP, ""),
        ("/root", DOCKER_DESKTOP, ""),
        ("/Users/ana/mail", LIMA, "fuse.sshfs"),
        ("/qemu/mail", LIMA, "9p"),
        ("/vz/mail", LIMA, "virtiofs"),
        ("/mail/builder", GVISOR, "9p"),
        ("/tmp/x", GVISOR, ""),
        ("/mnt/hgfs/x", GUEST, "vmhgfs"),
        ("/mnt/open/x", GUEST, "fuse.vmhgfs-fuse"),
        ("/media/sf_mail/x", GUEST, "vboxsf"),
        ("/data/x", STACKED, ""),
        ("/x", "", ""),
        ("/x", "garbage\n - \n1 2 3 4 5 -\n", ""),
    ],
)
def test_network_shared_and_fuse_file_systems_are_told_from_local_ones(path: str, mounts: str, kind: str):
    assert host.unsafe_file_system(path, mounts) == kind


def test_a_link_is_followed_to_where_the_files_really_are(tmp_path):
    (tmp_path / "real").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "real")
    point = os.path.realpath(tmp_path / "real")
    mounts = f"27 1 254:0 / / rw - ext4 /dev/vda rw\n28 27 0:9 / {point} rw - nfs s:/ rw\n"
    assert host.unsafe_file_system(str(tmp_path / "link" / "new"), mounts) == "nfs"


def test_this_machines_own_mount_table_can_be_read(tmp_path):
    assert isinstance(host.unsafe_file_system(str(tmp_path)), str)


@pytest.mark.parametrize("mode", [0o600, 0o700])
def test_a_file_that_takes_anothers_place_is_whole_and_has_its_mode(tmp_path: Path, mode: int):
    path = tmp_path / "file"
    path.write_bytes(b"old")
    path.chmod(0o644)
    mask = os.umask(0o377)
    try:
        host.replace(str(path), b"new", mode)
    finally:
        os.umask(mask)
    assert (path.read_bytes(), stat.S_IMODE(path.stat().st_mode)) == (b"new", mode)
    assert os.listdir(tmp_path) == ["file"]


def test_a_file_that_cannot_take_anothers_place_leaves_nothing(tmp_path: Path):
    (tmp_path / "directory").mkdir()
    with pytest.raises(OSError, match="directory"):
        host.replace(str(tmp_path / "directory"), b"new")
    assert os.listdir(tmp_path) == ["directory"]


@pytest.mark.parametrize("name", ["", ".", "..", ".hidden", "../precious", "a/b", "/etc/passwd", "a\0b"])
def test_a_name_that_leads_elsewhere_names_no_file(name: str):
    with pytest.raises(InvalidValue):
        host.plain(name)
    assert host.plain("a1b2.c3") == "a1b2.c3"
