"""The state directory: what it promises, whose it is, who holds it, what room is left."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from pathlib import Path

from abey.runtime.disk import floor, in_words
from abey.runtime.doctor.findings import Finding, counted, error, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject
from abey.runtime.doctor.survey import Survey, survey

NETWORK = re.compile(r"nfs|cifs|smb|9p$|ceph|gluster|afs$|lustre|fuse\.(sshfs|rclone|s3fs|gcsfuse)|davfs")
MEMORY = ("tmpfs", "ramfs", "rootfs")
SOFT_QUOTA = 5 << 30
ANOTHER_PLACE = "choose another ABEY_STATE_DIR"
NAMED = 5
"""So many of many are named."""


def durability(host: Host, subject: Subject) -> Iterator[Finding]:
    """What a record that was acknowledged survives, and whether the file system can keep that."""
    chosen = subject.running.durability if subject.running else subject.env.get("ABEY_DURABILITY", "power")
    kind = filesystem(host, _existing(host, subject.state_dir))
    on = f" on {kind}" if kind else ""
    if chosen == "process":
        advice = "unset ABEY_DURABILITY and `abey daemon restart` where power failures matter"
        yield info("durability", f"process: records survive kill -9, not a power failure{on}", advice)
    elif kind in MEMORY:
        what = f"power was asked for, but {subject.state_dir} is in memory ({kind}): a restart of the machine ends it"
        yield warning("durability", what, ANOTHER_PLACE)
    elif kind is not None and NETWORK.match(kind):
        what = f"power was asked for, but {subject.state_dir} is on a network ({kind}), which may not keep it"
        yield warning("durability", what, f"{ANOTHER_PLACE}, on a disk of this machine")
    elif chosen == "power":
        yield ok("durability", f"power: records survive a power failure{on}")


def state(host: Host, subject: Subject) -> Iterator[Finding]:
    """Whether the state directory is ours, and for us only."""
    path = subject.state_dir
    try:
        found = host.status(path)
    except FileNotFoundError:
        yield from _absent(host, path)
        return
    if stat.S_ISLNK(found.st_mode):
        found = host.status(Path(os.path.realpath(path)))
    if not stat.S_ISDIR(found.st_mode):
        yield error("permissions", f"{path} is not a folder", f"move it away, or {ANOTHER_PLACE}")
    elif found.st_uid != host.uid:
        yield error("permissions", f"{path} belongs to user {found.st_uid}, not to {host.uid}", ANOTHER_PLACE)
    elif not host.writable(path):
        yield error("permissions", f"{path} cannot be written to", f"`chmod 700 {path}`, or {ANOTHER_PLACE}")
    elif stat.S_IMODE(found.st_mode) & 0o077:
        mode = stat.S_IMODE(found.st_mode)
        yield warning("permissions", f"{path} is open to others (mode {mode:04o})", f"`chmod 700 {path}`")
    else:
        yield ok("permissions", f"{path} is for its owner only")


def lock(host: Host, subject: Subject) -> Iterator[Finding]:
    """Whether files can be locked there, and who holds the lock of the daemon."""
    path = subject.state_dir / "daemon.lock"
    if (odd := _no_file(host, path)) is not None:
        yield error("lock", odd, f"move {path} away")
        return
    try:
        host.lock(_existing(host, subject.state_dir))
        held = host.lock(path)
    except PermissionError as refused:
        yield error("lock", f"{path} cannot be opened: {refused.strerror}", f"`chmod 600 {path}`")
        return
    except OSError as refused:
        what = f"the file system of {subject.state_dir} cannot lock files: {refused.strerror or refused}"
        yield error("lock", what, f"{ANOTHER_PLACE}, on a file system with flock")
        return
    if subject.running is not None:
        yield ok("lock", f"held by the daemon, pid {subject.running.pid}")
    elif held == "held":
        who = _holder(host, path)
        what = f"{who} holds {path}"
        yield info("lock", what, "it is the one daemon of this state directory; `abey daemon stop` ends it")
    else:
        yield ok("lock", "files can be locked, and no daemon holds the state directory")


def socket(host: Host, subject: Subject) -> Iterator[Finding]:
    """Whether the daemon's socket can be where it belongs."""
    path, folder = subject.socket, subject.socket.parent
    address = subject.state_dir / "daemon.addr"
    if (odd := _no_file(host, address)) is not None:
        yield error("socket", odd, f"move {address} away")
    try:
        found = host.status(folder)
    except FileNotFoundError:
        parent = _existing(host, folder)
        if host.writable(parent):
            yield ok("socket", f"{path}: its folder is made when the daemon starts")
        else:
            yield error("socket", f"{folder} cannot be made in {parent}", "choose another ABEY_RUNTIME_DIR")
        return
    if not stat.S_ISDIR(found.st_mode):
        yield error("socket", f"{folder} is not a folder", "move it away, or choose another ABEY_RUNTIME_DIR")
    elif found.st_uid != host.uid or not host.writable(folder):
        yield error("socket", f"{folder} is not ours to write to", "choose another ABEY_RUNTIME_DIR")
    elif _is_in_the_way(host, path):
        yield error("socket", f"{path} is a folder, where the socket belongs", f"move {path} away")
    else:
        yield ok("socket", str(path))


def disk(host: Host, subject: Subject) -> Iterator[Finding]:
    """The room that is left: below the floor no session and no tool is started."""
    space = host.space(_existing(host, subject.state_dir))
    needed = floor(space)
    said = f"{in_words(space.free)} are free, {in_words(needed)} are kept for records"
    if space.free < needed:
        what = f"{said}: no session and no tool is started"
        yield error("disk", what, "make room on the disk; `abey gc --dry-run` says what abey can spare")
    elif space.free < 2 * needed:
        yield warning("disk", said, "make room on the disk; `abey gc --dry-run` says what abey can spare")
    else:
        yield ok("disk", said)


def contents(host: Host, subject: Subject) -> Iterator[Finding]:
    """The files of the state directory: how much they take, whether they are for us only, what was left behind."""
    try:
        found = survey(host, subject.state_dir)
    except FileNotFoundError:
        return
    some = "" if found.complete else f" in the first {found.files} files"
    yield from _size(found, some)
    for paths, what, advice in (
        (found.strangers, "of another user", "`chown` them to the user of the daemon, or move them away"),
        (found.open_to_others, "open to others", f"`chmod -R go-rwx {subject.state_dir}`"),
    ):
        if paths:
            yield warning("permissions", f"{counted(len(paths), 'file')}{some} {what}: {_named(paths)}", advice)
    if found.temporary:
        what = f"{counted(len(found.temporary), 'temporary file')}{some} left behind: {_named(found.temporary)}"
        yield info("leftovers", what, "`abey gc` removes them")
    if found.complete and not (found.strangers or found.open_to_others or found.temporary):
        yield ok("leftovers", "nothing was left behind, and every file is for its owner only")


def filesystem(host: Host, path: Path) -> str | None:
    """The type of the file system that `path` is on, None where the system does not tell."""
    try:
        mounts = host.text("/proc/mounts")
    except OSError:
        return None
    real, best, kind = os.path.realpath(path), -1, None
    for line in mounts.splitlines():
        words = line.split(" ")
        if len(words) < 3:
            continue
        place = re.sub(r"\\([0-7]{3})", lambda code: chr(int(code[1], 8)), words[1])
        if len(place) >= best and os.path.commonpath((real, place)) == place:
            best, kind = len(place), words[2]
    return kind


def _absent(host: Host, path: Path) -> Iterator[Finding]:
    parent = _existing(host, path)
    if host.writable(parent):
        yield info("permissions", f"{path} does not exist yet", "`abey daemon start` makes it")
    else:
        what = f"{path} cannot be made: {parent} cannot be written to"
        yield error("permissions", what, f"`chmod` {parent}, or {ANOTHER_PLACE}")


def _existing(host: Host, path: Path) -> Path:
    """`path`, or the nearest folder above it that there is."""
    for one in (path, *path.parents):
        try:
            host.status(one)
        except OSError as missing:
            if missing.errno not in (errno.ENOENT, errno.ENOTDIR):
                raise
            continue
        return one
    return Path("/")


def _holder(host: Host, path: Path) -> str:
    found = re.match(rb"pid (\d+)\n", host.read(path))
    return f"the daemon with pid {int(found[1])}" if found else "another daemon"


def _no_file(host: Host, path: Path) -> str | None:
    """What to say where something else than a file, or nothing, has this name."""
    try:
        is_file = stat.S_ISREG(host.status(path).st_mode)
    except OSError:  # nothing is there; or it cannot be looked at, which is said elsewhere
        return None
    return None if is_file else f"{path} is not a file, and the daemon cannot start"


def _is_in_the_way(host: Host, path: Path) -> bool:
    try:
        return stat.S_ISDIR(host.status(path).st_mode)
    except FileNotFoundError:
        return False


def _size(found: Survey, some: str) -> Iterator[Finding]:
    said = f"abey's files take {in_words(found.bytes)}{some}"
    if found.bytes > SOFT_QUOTA:
        yield warning(
            "quota",
            f"{said}, more than {in_words(SOFT_QUOTA)}",
            "`abey gc` puts away what is old; archive or delete what is not needed",
        )
    else:
        yield ok("quota", said)


def _named(paths: tuple[str, ...]) -> str:
    more = f" and {len(paths) - NAMED} more" if len(paths) > NAMED else ""
    return ", ".join(paths[:NAMED]) + more
