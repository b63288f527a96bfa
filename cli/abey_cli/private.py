"""A private daemon on two pipes: `abey-daemon --stdio --standalone`, gone when its command is."""

import contextlib
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from functools import partial
from typing import IO

from abey.shared import starting
from abey.shared.kinds import EXIT_UNREACHABLE
from abey_cli.channels import Channel
from abey_cli.failures import Failure, unreachable

END_SECONDS = 15.0


def open_private(env: Mapping[str, str]) -> Channel:
    """A daemon of our own, in a process session of its own: a Ctrl-C is for us. Raises `daemon/unreachable`."""
    try:
        command = starting.command(env)
    except starting.DidNotStart as error:
        raise unreachable(str(error)) from error
    said = tempfile.TemporaryFile()  # noqa: SIM115 - the channel closes it
    try:
        process = subprocess.Popen(
            [*command, "--stdio", "--standalone"],
            cwd="/",
            env=dict(env),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=said,
            start_new_session=True,
            bufsize=0,
        )
    except OSError as error:
        said.close()
        raise unreachable(starting.not_started(env, error)) from error
    return PrivateChannel(process, said)


class PrivateChannel:
    """A daemon of our own on two pipes; nothing of it is left after `close`."""

    def __init__(self, process: subprocess.Popen[bytes], said: IO[bytes]) -> None:
        assert process.stdin is not None and process.stdout is not None
        self._process = process
        self._said = said
        self._in, self._out = process.stdin, process.stdout
        self.read_fd, self.write_fd = self._out.fileno(), self._in.fileno()

    def gone(self) -> Failure:
        """The last line of what the daemon said on its stderr: it names who holds the state directory."""
        with contextlib.suppress(subprocess.TimeoutExpired):
            self._process.wait(END_SECONDS)
        self._said.seek(0)
        lines = self._said.read().decode(errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"status {self._process.returncode}"
        if self._process.returncode == EXIT_UNREACHABLE:
            why += "; `abey daemon stop` ends it, --transport socket uses it, --state-dir DIR is another place"
        return unreachable(f"the private daemon ended: {why}")

    def close(self, farewell: Callable[[], None]) -> None:
        """A Ctrl-C meanwhile, as a way that takes too long, is followed by a harder one."""
        interrupted = False
        for end in (partial(self._leave, farewell), self._process.terminate, self._process.kill):
            try:
                end()
                self._process.wait(END_SECONDS)
                break
            except subprocess.TimeoutExpired:
                continue
            except KeyboardInterrupt:
                interrupted = True
        self._process.wait()
        self._out.close()
        self._said.close()
        if interrupted:
            raise KeyboardInterrupt

    def _leave(self, farewell: Callable[[], None]) -> None:
        try:
            with contextlib.suppress(Failure):
                farewell()
        finally:
            with contextlib.suppress(OSError):
                self._in.close()
