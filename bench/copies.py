"""Many sessions at once: copies of one journal, each valid and with an id and tokens of its own."""

import hashlib
import re
import zlib
from collections.abc import Iterable
from pathlib import Path

_TOKEN = re.compile(rb'"token":"([0-9a-f]{32})"')
_PREV = re.compile(rb'"prev":"[0-9a-f]{8}"')
_CRC = 9
"""Bytes of a line before its record: eight digits and a space."""


def copy_session(journal: Path, session_ids: Iterable[str]) -> None:
    """Makes the sessions beside the one of that journal."""
    original = journal.parent.name.encode()
    records = [line[_CRC:] for line in journal.read_bytes().splitlines()]
    tokens = sorted({token for record in records for token in _TOKEN.findall(record)})
    for session_id in session_ids:
        own = session_id.encode()
        named = {token: hashlib.sha256(token + own).hexdigest()[:32].encode() for token in tokens}
        folder = journal.parent.with_name(session_id)
        folder.mkdir(mode=0o700)
        (folder / journal.name).write_bytes(
            _journal(records, {b'"sessionId":"' + original: b'"sessionId":"' + own, **named})
        )


def _journal(records: Iterable[bytes], names: dict[bytes, bytes]) -> bytes:
    """These records with other names, chained anew."""
    text, crc = b"", 0
    for record in records:
        for before, after in names.items():
            record = record.replace(before, after)
        record = _PREV.sub(b'"prev":"%08x"' % crc, record)
        crc = zlib.crc32(record)
        text += b"%08x %s\n" % (crc, record)
    return text
