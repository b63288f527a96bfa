"""kill -9 in the middle of writing: the file is the old one or the new one."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from abey.runtime.tools.workspace.files import is_left

ROUNDS = 30
WRITER = """
import sys
from abey.runtime.tools.workspace.files import put
from abey.runtime.tools.workspace.paths import Own, spot_of
size = int(sys.argv[2])
before = b"a" * size
print("ready", flush=True)
while True:
    after = bytes([before[0] ^ 3]) * size
    with spot_of(sys.argv[1], "f", Own()) as spot:
        put(spot, after, before)
    before = after
    print("x", end="", flush=True)
"""


def test_a_kill_at_any_moment_leaves_the_old_file_or_the_new_one(tmp_path: Path) -> None:
    size, file = 300_000, tmp_path / "f"
    whole = {bytes([one]) * size for one in b"ab"}
    for n in range(ROUNDS):
        file.write_bytes(b"a" * size)
        writer = subprocess.Popen([sys.executable, "-c", WRITER, str(tmp_path), str(size)], stdout=subprocess.PIPE)
        assert writer.stdout is not None
        with writer.stdout as told:
            told.readline()
            os.read(told.fileno(), n % 5 + 1)  # another moment each time
            writer.send_signal(signal.SIGKILL)
            writer.wait()
        assert file.read_bytes() in whole
    assert [name for name in os.listdir(tmp_path) if name != "f" and not is_left(name)] == []
