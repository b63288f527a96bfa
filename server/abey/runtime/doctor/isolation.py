"""What keeps tools in bounds here: their processes, a sandbox, the limits of the system."""

from collections.abc import Iterator

from abey.runtime.doctor.findings import Finding, info, ok, warning
from abey.runtime.doctor.host import Host
from abey.runtime.doctor.subject import Subject

FEW_DESCRIPTORS = 1024
FEW_WATCHES = 8192
HELPS = "install bubblewrap, where user namespaces are allowed"
WAITS = "answer such a call with `abey session complete` or `abey session deny`"


def processes(host: Host, subject: Subject) -> Iterator[Finding]:
    """Whether anything of a tool can outlive its call."""
    leaves_nothing = subject.running.leaves_nothing if subject.running else host.platform == "linux"
    if leaves_nothing:
        yield ok("processes", "no process of a tool outlives its call or the daemon")
    else:
        what = "tools run in process groups: a process that leaves its group outlives its call"
        yield warning("processes", what, "let no tool start programs that detach, or run abey on Linux with /proc")


def sandbox(host: Host, subject: Subject) -> Iterator[Finding]:
    """What runs the calls that are to be isolated."""
    ours = (subject.state_dir, subject.config_dir, subject.socket.parent)
    name, why = host.sandbox(ours, subject.env)
    if name is None:
        yield info(
            "sandbox", f"no call is run isolated here, and one that asks for it waits: {why}", f"{HELPS}; {WAITS}"
        )
    elif why:
        what = f"calls that ask for it run isolated by {name}, without writing to their folder: {why}"
        yield info("sandbox", what, f"{HELPS}, and they can write")
    else:
        yield ok("sandbox", f"calls that ask for it run isolated by {name}")


def descriptors(host: Host, _: Subject) -> Iterator[Finding]:
    """How many files may be open: each client and each running tool takes some."""
    soft, hard = host.descriptors()
    if 0 <= soft < FEW_DESCRIPTORS:
        what = f"{soft} files may be open at a time (at most {hard})"
        yield warning("descriptors", what, f"`ulimit -n {FEW_DESCRIPTORS}` before the daemon is started")
    else:
        yield ok("descriptors", f"{'any number of' if soft < 0 else soft} files may be open at a time")


def inotify(host: Host, _: Subject) -> Iterator[Finding]:
    """How many files this user may have watched; said only where the system tells."""
    try:
        watches = int(host.text("/proc/sys/fs/inotify/max_user_watches"))
        instances = int(host.text("/proc/sys/fs/inotify/max_user_instances"))
    except (OSError, ValueError):
        return
    said = f"{watches} files may be watched, by {instances} watchers"
    if watches < FEW_WATCHES:
        advice = f"`sysctl fs.inotify.max_user_watches={FEW_WATCHES}` as root where an editor misses changes"
        yield info("inotify", said, advice)
    else:
        yield ok("inotify", said)
