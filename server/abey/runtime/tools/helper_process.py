"""The process helper: starts programs, leaves nothing of their trees (security.md, Processes). Linux, stdlib only.

Run with the number of a connected SOCK_SEQPACKET socket; it says `ready`, and when the socket ends it kills whatever
still runs and ends. A datagram is one program to start, with its descriptors: a file with its JSON ({argv, cwd, env}),
where its output goes, or its stdin, stdout and stderr, a pipe whose end means *kill it*, and a pipe for lines of JSON:
{supervisor}, its pid, once there is one, then how the program ended: {exit}, {signal}, {killed} or {fault}. Every
program has a supervisor of its own, forked here: a subreaper that ends every descendant before it tells. The helper is
one too, for the trees of supervisors that somebody killed; those that somebody stopped it continues.
"""

import contextlib
import json
import os
import select
import signal
import socket
import sys
from typing import Any, NoReturn

from abey.runtime.tools.trees import become_subreaper, children_of, kill_trees

_IGNORED = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT)
_RESTORED = (*_IGNORED, signal.SIGPIPE, signal.SIGXFSZ, signal.SIGCHLD)
_PATIENT_SWEEPS = 100
_PAUSE_SECONDS = 0.005
_DESCRIPTORS = 6
"""The most that come with a program."""

_LOST = {"fault": "its supervisor was killed; all that was left of the program was ended"}

Tellers = dict[int, int]
"""The pipe that a supervisor tells on, by the supervisor's pid."""


def main() -> None:
    connection = socket.socket(fileno=int(sys.argv[1]))
    for number in _IGNORED:
        signal.signal(number, signal.SIG_IGN)
    _have_orphans()
    children = _watch_children()
    connection.send(b"ready")
    tellers: Tellers = {}
    while True:
        ready, _, _ = select.select([connection.fileno(), children], [], [])
        _drain(children)
        _bury(tellers)
        if connection.fileno() in ready:
            message, descriptors, _, _ = socket.recv_fds(connection, 16, _DESCRIPTORS)
            if not message:
                return _end_all()
            _start(connection, children, descriptors, tellers)


def _start(connection: socket.socket, children: int, descriptors: list[int], tellers: Tellers) -> None:
    """Forks the supervisor of one program."""
    *passed, status = descriptors
    try:
        pid = os.fork()
    except OSError as error:
        _tell(status, {"fault": f"cannot start a process: {error.strerror}"})
        passed.append(status)
    else:
        if pid == 0:
            connection.close()
            for other in (children, *tellers.values()):
                os.close(other)
            text, *streams, life, status = descriptors
            _supervise(text, streams, life, status)
        tellers[pid] = status
    for descriptor in passed:
        os.close(descriptor)


def _bury(tellers: Tellers) -> None:
    """Reaps what ended; where a supervisor was killed, ends its tree and tells in its place."""
    lost: list[int] = []
    for _ in range(_PATIENT_SWEEPS):
        lost += _reap_supervisors(tellers)
        if not lost or not kill_trees(pid for pid in children_of(os.getpid()) if pid not in tellers):
            break
        select.select([], [], [], _PAUSE_SECONDS)
    for status in lost:
        _tell(status, _LOST)
        os.close(status)


def _reap_supervisors(tellers: Tellers) -> list[int]:
    """The pipes of supervisors that ended without having told; what stopped goes on."""
    lost = []
    while (ended := _reap(os.WUNTRACED)) is not None:
        pid, how = ended
        if os.WIFSTOPPED(how):
            if pid in tellers:
                os.kill(pid, signal.SIGCONT)
            continue
        status = tellers.pop(pid, None)
        if status is not None and how != 0:
            lost.append(status)
        elif status is not None:
            os.close(status)
    return lost


def _end_all() -> None:
    """Kills what still runs, in a bounded number of sweeps: nobody waits for it any more."""
    for _ in range(_PATIENT_SWEEPS):
        while _reap() is not None:
            continue
        if not kill_trees(children_of(os.getpid())):
            return
        select.select([], [], [], _PAUSE_SECONDS)


def _supervise(program: int, streams: list[int], life: int, status: int) -> NoReturn:
    """Runs one program to its end, or until `life` ends; exits with 0 when it has told."""
    os.setsid()
    _have_orphans()
    children = _watch_children()
    _tell(status, {"supervisor": os.getpid()})
    with open(program, encoding="ascii") as file:
        told = _run(json.load(file), streams, life, children)
    sweeps = 0
    while _left_behind():
        sweeps += 1
        if sweeps == _PATIENT_SWEEPS:
            _tell(status, told)
        select.select([children], [], [], _PAUSE_SECONDS)
        _drain(children)
    if sweeps < _PATIENT_SWEEPS:
        _tell(status, told)
    os._exit(0)


def _run(program: dict[str, Any], streams: list[int], life: int, children: int) -> dict[str, Any]:
    """How the program ended. Descendants may still be there."""
    if select.select([life], [], [], 0)[0]:
        return {"killed": True}
    faults, fault = os.pipe()
    tool = os.fork()
    if tool == 0:
        _become(program, streams, fault)
    for descriptor in (fault, *streams):
        os.close(descriptor)
    while True:
        ready, _, _ = select.select([life, children], [], [])
        _drain(children)
        while (ended := _reap()) is not None:
            if ended[0] == tool:
                message = os.read(faults, 4096).decode("utf-8", "replace")
                return {"fault": message} if message else _how(ended[1])
        if life in ready:
            return {"killed": True}


def _become(program: dict[str, Any], streams: list[int], fault: int) -> NoReturn:
    """Turns this process into the program; why it cannot goes to `fault`."""
    argv, cwd = program["argv"], program["cwd"]
    doing = f"cannot start {argv[0]}"
    try:
        os.setsid()
        signal.set_wakeup_fd(-1)
        for number in _RESTORED:
            signal.signal(number, signal.SIG_DFL)
        for standard, stream in enumerate(_three(streams)):
            os.dup2(stream, standard)
        if fault != 3:
            fault = os.dup2(fault, 3, inheritable=False)
        os.closerange(4, os.sysconf("SC_OPEN_MAX"))
        doing = f"cannot enter {cwd}"
        os.chdir(cwd)
        doing = f"cannot start {argv[0]}"
        os.execvpe(argv[0], argv, program["env"])
    except (OSError, ValueError) as error:
        os.write(fault, f"{doing}: {getattr(error, 'strerror', error)}".encode("utf-8", "replace")[:4096])
    finally:
        os._exit(127)


def _three(streams: list[int]) -> list[int]:
    """What becomes stdin, stdout and stderr: of a program that only has an output nothing is to be read."""
    return streams if len(streams) == 3 else [os.open(os.devnull, os.O_RDONLY), *streams, *streams]


def _left_behind() -> bool:
    """Whether this process has children; they and all of theirs are killed."""
    try:
        while os.waitpid(-1, os.WNOHANG) != (0, 0):
            pass
    except ChildProcessError:
        return False
    kill_trees(children_of(os.getpid()))
    return True


def _reap(options: int = 0) -> tuple[int, int] | None:
    """One child that ended, or did what `options` ask for, and its wait status; None if there is none now."""
    try:
        ended = os.waitpid(-1, os.WNOHANG | options)
    except ChildProcessError:
        return None
    return ended if ended[0] else None


def _how(wait_status: int) -> dict[str, Any]:
    code = os.waitstatus_to_exitcode(wait_status)
    return {"exit": code} if code >= 0 else {"signal": -code}


def _tell(status: int, told: dict[str, Any]) -> None:
    with contextlib.suppress(BrokenPipeError):  # the daemon is gone: nobody needs to know
        os.write(status, json.dumps(told).encode("ascii") + b"\n")


def _have_orphans() -> None:
    if not become_subreaper(True):
        sys.exit("this system has no subreapers")


def _watch_children() -> int:
    """A descriptor that is readable after a child ended."""
    reading, writing = os.pipe()
    os.set_blocking(reading, False)
    os.set_blocking(writing, False)
    signal.signal(signal.SIGCHLD, lambda *_: None)
    before = signal.set_wakeup_fd(writing, warn_on_full_buffer=False)
    if before != -1:
        os.close(before)
    return reading


def _drain(descriptor: int) -> None:
    with contextlib.suppress(BlockingIOError):
        while os.read(descriptor, 4096):
            continue
