"""The guard of a sandbox: bounds a program, locks it in, and ends it when it starts too many processes. Linux, stdlib
only, a program of its own: it is run as text, and imports nothing of ours.

Run with the JSON of {prefix, processes, limits, seccomp, descriptors, landlock} and the argv of the program. Its
variables are those of ours that begin with `prefix`, without it: so none of them says what is loaded into the guard or
into bubblewrap, outside of the sandbox. `seccomp` is a filter in hexadecimal; without `landlock` the child is
bubblewrap, which finds the variables and the filter on `descriptors`, and with it the guard locks its child in by
itself. Exits as the program did. 125: the sandbox could not be set up, or there
were too many processes; a line says which.
"""

import ctypes
import json
import os
import resource
import select
import signal
import stat
import struct
import sys
import time
from contextlib import suppress
from typing import Any, NoReturn

BROKEN = 125
LOOK_SECONDS = 0.02
REST = 8
"""Times as long as a look took: to look at many processes takes a while, and we come before others."""
SWEEPS = 100
THREADS = 4
"""Of each process, for the limit of the kernel, which counts these, and all of the user."""

_PR_SET_SECCOMP = 22
_PR_CAPBSET_DROP = 24
_PR_SET_CHILD_SUBREAPER = 36
_PR_SET_NO_NEW_PRIVS = 38
_SECCOMP_MODE_FILTER = 2
_CREATE_RULESET, _ADD_RULE, _RESTRICT_SELF = 444, 445, 446
_PATH_BENEATH = 1
_OF_FILES = 0b1100000000000111
"""Of the rights in Landlock those that a file can have: to execute, write, read, truncate and control it."""
_CAPABILITY_VERSION = 0x20080522
_CAPABILITIES = 64

libc = ctypes.CDLL(None, use_errno=True)


def main() -> None:
    told = json.loads(sys.argv[1])
    for name, most in told["limits"].items():
        _limit(getattr(resource, name), most)
    libc.prctl(_PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0)
    before = _threads()
    _limit(resource.RLIMIT_NPROC, before + THREADS * told["processes"])
    _come_first()
    child = os.fork()
    if child == 0:
        _become(told)
    _watch(child, told["processes"], before)


def _become(told: dict[str, Any]) -> NoReturn:
    """Turns this process into the program, locked in."""
    argv = sys.argv[2:]
    doing = "cannot set up the sandbox"
    try:
        code, env = bytes.fromhex(told["seccomp"]), _variables(os.fsencode(told["prefix"]))
        if told["landlock"] is None:
            for content, descriptor in zip((_settings(env), code), told["descriptors"], strict=True):
                _hand_over(content, descriptor)
            env = {}
        else:
            _drop_capabilities()
            _lock_in(told["landlock"])
            _filter(code)
        doing = f"cannot start {argv[0]}"
        os.execvpe(argv[0], argv, env)
    except (OSError, ValueError) as error:
        _say(f"{doing}: {getattr(error, 'strerror', None) or error}")
    finally:
        os._exit(BROKEN)


def _watch(child: int, most: int, before: int) -> NoReturn:
    """Waits for the program; `most` processes of its tree may be there at a time."""
    pidfd, pause = os.pidfd_open(child), LOOK_SECONDS
    while not select.select([pidfd], [], [], pause)[0]:
        since = time.monotonic()
        _bury(child)
        threads = _threads()
        before = min(before, threads)
        if threads - before > most // 2 and len(_below(os.getpid())) > most:
            os.kill(child, signal.SIGKILL)
            _end_all()
            _say(f"[ended: it had more than {most} processes]")
            os._exit(BROKEN)
        pause = max(LOOK_SECONDS, (time.monotonic() - since) * REST)
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    if code < 0:
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
        if -code not in (signal.SIGKILL, signal.SIGSTOP):
            signal.signal(-code, signal.SIG_DFL)
        os.kill(os.getpid(), -code)
    os._exit(code)


def _come_first() -> None:
    """No number of processes keeps us from ending them: the kernel's own limit does not bind root, who may do this. Not
    in real time: nothing else would run where there are many guards with much to count."""
    with suppress(OSError):
        os.sched_setscheduler(0, os.SCHED_OTHER | os.SCHED_RESET_ON_FORK, os.sched_param(0))
        os.setpriority(os.PRIO_PROCESS, 0, -20)


def _bury(child: int) -> None:
    """Reaps the orphans that came to us; the program itself is waited for elsewhere."""
    while (ended := os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG | os.WNOWAIT)) is not None:
        if ended.si_pid == child:
            return
        os.waitpid(ended.si_pid, 0)


def _end_all() -> None:
    """In a bounded number of sweeps: the next to see to it is who started us."""
    for _ in range(SWEEPS):
        found = _below(os.getpid())
        for number in (signal.SIGSTOP, signal.SIGKILL):
            for pid in found:
                with suppress(ProcessLookupError, PermissionError):
                    os.kill(pid, number)
        if not found:
            return
        with suppress(ChildProcessError):
            while os.waitid(os.P_ALL, 0, os.WEXITED | os.WNOHANG) is not None:
                continue


def _limit(number: int, most: int) -> None:
    hard = resource.getrlimit(number)[1]
    bounded = most if hard == resource.RLIM_INFINITY else min(most, hard)
    resource.setrlimit(number, (bounded, bounded))


def _threads() -> int:
    """How many there are on the whole machine: cheap, and enough to know when to count."""
    with open("/proc/loadavg", encoding="ascii") as file:
        return int(file.read().split()[3].partition("/")[2])


def _below(root: int) -> list[int]:
    """The descendants of a process."""
    children: dict[int, list[int]] = {}
    for name in os.listdir("/proc"):
        if name.isdigit():
            try:
                with open(f"/proc/{name}/stat", "rb") as file:
                    parent = int(file.read().rpartition(b")")[2].split()[1])
            except (OSError, ValueError, IndexError):  # it ended while we looked
                continue
            children.setdefault(parent, []).append(int(name))
    found = [root]
    for above in found:
        found += children.get(above, [])
    return found[1:]


def _variables(prefix: bytes) -> dict[bytes, bytes]:
    return {name[len(prefix) :]: value for name, value in os.environb.items() if name.startswith(prefix)}


def _settings(env: dict[bytes, bytes]) -> bytes:
    """Options of bubblewrap: as arguments of it everybody could read them."""
    options = [b"--clearenv"]
    for name, value in env.items():
        options += [b"--setenv", name, value]
    return b"".join(option + b"\0" for option in options)


def _hand_over(content: bytes, descriptor: int) -> None:
    memory = os.memfd_create("for bubblewrap")
    with os.fdopen(os.dup(memory), "wb") as file:
        file.write(content)
    os.lseek(memory, 0, os.SEEK_SET)
    os.dup2(memory, descriptor)


def _drop_capabilities() -> None:
    """Also root is nobody special in the sandbox, and becomes it by no program."""
    for number in range(_CAPABILITIES):
        libc.prctl(_PR_CAPBSET_DROP, number, 0, 0, 0)
    header = struct.pack("=Ii", _CAPABILITY_VERSION, 0)
    _check(libc.capset(header, struct.pack("=6I", 0, 0, 0, 0, 0, 0)))


def _lock_in(landlock: dict[str, Any]) -> None:
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    attributes = struct.pack("=QQQ", landlock["files"], landlock["network"], landlock["scoped"])
    ruleset = _check(libc.syscall(_CREATE_RULESET, attributes, ctypes.c_size_t(len(attributes)), 0))
    for path, rights in (*landlock["rules"], (f"/proc/{os.getpid()}", landlock["own"])):
        _allow(ruleset, path, rights)
    _check(libc.syscall(_RESTRICT_SELF, ruleset, 0))
    os.close(ruleset)


def _allow(ruleset: int, path: str, rights: int) -> None:
    """What is not there, or not for us, is not allowed either."""
    try:
        descriptor = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return
    if not stat.S_ISDIR(os.fstat(descriptor).st_mode):
        rights &= _OF_FILES
    rule = struct.pack("=Qi", rights, descriptor)
    _check(libc.syscall(_ADD_RULE, ruleset, _PATH_BENEATH, rule, 0))
    os.close(descriptor)


def _filter(code: bytes) -> None:
    program = ctypes.create_string_buffer(code, len(code))
    header = struct.pack("@HP", len(code) // 8, ctypes.addressof(program))
    _check(libc.prctl(_PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
    _check(libc.prctl(_PR_SET_SECCOMP, _SECCOMP_MODE_FILTER, header, 0, 0))


def _check(result: int) -> int:
    if result < 0:
        raise OSError(ctypes.get_errno(), os.strerror(ctypes.get_errno()))
    return int(result)


def _say(line: str) -> None:
    os.write(2, line.encode("utf-8", "replace") + b"\n")


if __name__ == "__main__":
    main()
