"""Many sessions at once: copies of one journal, each valid and with an id and tokens of its own."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

TOKEN = re.compile(rb'"token":"([0-9a-f]{32})"')
PREV = re.compile(rb'"prev":"[0-9a-f]{8}"')


def copies(journal: Path, session_ids: Iterable[str]) -> None:
    """Copies of the session with that journal, beside it."""
    original = journal.parent.name.encode()
    lines = [line[9:] for line in journal.read_bytes().splitlines()]
    tokens = sorted({token for line in lines for token in TOKEN.findall(line)})
    for session_id in session_ids:
        folder = journal.parent.with_name(session_id)
        folder.mkdir(mode=0o700)
        named = {token: hashlib.sha256(token + session_id.encode()).hexdigest()[:32].encode() for token in tokens}
        text, crc = b"", 0
        for line in lines:
            own = line.replace(b'"sessionId":"' + original, b'"sessionId":"' + session_id.encode())
            for token, new in named.items():
                own = own.replace(token, new)
            own = PREV.sub(b'"prev":"%08x"' % crc, own)
            crc = zlib.crc32(own)
            text += b"%08x %s\n" % (crc, own)
        (folder / journal.name).write_bytes(text)
