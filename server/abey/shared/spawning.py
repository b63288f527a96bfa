"""A daemon as a process of its own, which outlives who started it."""

import os
import subprocess
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from abey.shared.logs import LOG_BYTES, open_log, put_away
from abey.shared.owner import NotOurs, private_folder
from abey.shared.places import log_path
from abey.shared.starting import DidNotStart, command, not_started


class Daemon(subprocess.Popen[bytes]):
    """A process that outlives who started it, on purpose: nothing to be warned of when its handle goes."""

    log_start = 0
    """Where its words begin in the log; those before are of other daemons."""

    def __del__(self) -> None:
        pass


def spawn(state_dir: Path, env: Mapping[str, str]) -> Daemon:
    """A daemon with a process session of its own, cwd `/`, null stdin, its log as output, nothing inherited."""
    log = log_path(state_dir)
    try:
        private_folder(log.parent)
        _put_away_if_long(log)
        with open(open_log(log), "ab") as output:
            start = output.tell()
            daemon = Daemon(
                command(env),
                cwd="/",
                env=_its_own(env, state_dir),
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=output,
                start_new_session=True,
            )
            daemon.log_start = start
            return daemon
    except NotOurs as error:
        raise DidNotStart(f"the daemon cannot be started: {error}") from error
    except OSError as error:
        raise DidNotStart(not_started(env, error)) from error


def _put_away_if_long(log: Path) -> None:
    """One that cannot be put away goes on: the daemon says why."""
    with suppress(OSError):
        if log.stat().st_size > LOG_BYTES:
            put_away(log)


def last_words(state_dir: Path, daemon: Daemon) -> str:
    """The last line of what this daemon wrote to its log, for people."""
    path = log_path(state_dir)
    with open(path, "rb") as log:
        log.seek(daemon.log_start)
        lines = log.read().decode(errors="replace").strip().splitlines()
    return lines[-1] if lines else f"it wrote no reason to {path}"


def _its_own(env: Mapping[str, str], state_dir: Path) -> dict[str, str]:
    """The environment of a daemon: not with the folder that its starter happened to be in, where an editor that names
    none would have its tools run."""
    kept = {name: value for name, value in env.items() if name not in ("PWD", "OLDPWD")}
    return {**kept, "ABEY_STATE_DIR": os.fspath(state_dir)}
