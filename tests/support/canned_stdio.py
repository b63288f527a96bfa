"""A private daemon of canned answers, run as a program: `canned_stdio.py MODE --stdio --standalone`."""

import os
import sys
from pathlib import Path

from canned_daemon import CannedDaemon, frame, read_frame, session


def main(mode: str, *arguments: str) -> int:
    if mode == "locked":
        sys.stderr.write("starting\nanother daemon, pid 4711, holds the lock of this state directory\n")
        return 1
    daemon = CannedDaemon()
    daemon.on["agents/sessions"] = {"items": [session(title=" ".join(arguments), cwd=str(Path.cwd()))]}
    daemon.on["shutdown"] = None
    while (message := read_frame(sys.stdin.buffer)) is not None:
        answer = daemon.answer(message)
        if answer is not None:
            os.write(1, frame(answer))
        if message["method"] == "exit":
            Path(os.environ["ABEY_STATE_DIR"]).with_name("exited").touch()
            return 0
    return 1


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
