"""A session with blobs that the first version with blobs has written must open for ever (journal.md, Recovery)."""

import hashlib
import shutil
from pathlib import Path

from abey.protocol import journal as j
from abey.protocol.journal import BlobRef, Record
from abey.protocol.transcript import TextPart
from abey.runtime.store.blobs import read_blob
from abey.runtime.store.io import FileIO
from abey.runtime.store.recovery import Opened, open_journal

GOLDEN = Path(__file__).parents[1] / "data" / "session-v1" / "01k0"
AT = "2025-11-29T12:00:00.000Z"
LATER = "2025-11-30T00:00:00.000Z"

TEXT = "a line with half \ud83d of a pair and é\n" * 1000
MANY = {"~/": [[1, 1.0, None, "x"]] * 2500}
PRINTED = b"printed \xff\n" * 4000
WHOLE = BlobRef(sha256=hashlib.sha256(PRINTED).hexdigest(), bytes=len(PRINTED))

UNITS = (
    (
        Record(
            1,
            AT,
            j.Created(session_id="01k0", agent="a", config={"systemPrompt": TEXT}, config_hash="c", cwd="/", title="t"),
        ),
        Record(2, AT, j.Input(turn_id="t1", input_id="i1", parts=(TextPart(text="short"), TextPart(text=TEXT)))),
    ),
    (
        Record(3, AT, j.CallFinished(call_id="c1", outcome="completed", output=MANY)),
        Record(4, AT, j.CallFinished(call_id="c2", outcome="completed", output={"bytes": 1, "sha256": "a" * 64})),
        Record(5, AT, j.CallFinished(call_id="c3", outcome="completed", output="printed …", whole=WHOLE)),
    ),
)


def test_the_golden_session_opens_whole(tmp_path: Path) -> None:
    directory = shutil.copytree(GOLDEN, tmp_path / "01k0")
    found = open_journal(FileIO("process"), directory, LATER)
    assert isinstance(found, Opened)
    assert (found.units, found.lost, found.repaired) == (UNITS, (), None)
    assert read_blob(FileIO("process"), directory, WHOLE, 0, WHOLE.bytes) == PRINTED
    assert files(directory) == files(GOLDEN)


def files(directory: Path) -> dict[str, bytes]:
    return {str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()}
