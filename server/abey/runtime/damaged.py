"""Files of ours that cannot be used: not a byte of them is lost."""

import logging
import os
from pathlib import Path

from abey.runtime.store.io import FileIO
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)


def keep_damaged(io: FileIO, path: Path) -> None:
    """The file stays beside the one that will take its place, under a name that is free. Raises OSError."""
    number = 1
    while os.path.lexists(aside := path.with_name(f"{path.name}.damaged-{number}")):
        number += 1
    io.rename(path, aside)
    log.warning("%s is kept as %s", escape_line(str(path)), escape_line(aside.name))
