"""What models cost that their agent files say nothing of: `$ABEY_CONFIG_DIR/prices.json` (agent-file.md, Prices)."""

import logging
from pathlib import Path

from pydantic import ValidationError

from abey.protocol.base import Wire
from abey.protocol.config import HttpModel, Prices
from abey.runtime.agents import files
from abey.shared.escaping import escape_line

log = logging.getLogger(__name__)


class _List(Wire):
    """`models` by `<provider>/<name>`; `date` is that of all which have none of their own."""

    date: str | None = None
    models: dict[str, Prices]


class PriceList:
    """Read again whenever the file changed. One that cannot be used is told of in the log, and knows no price."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._stamp: files.Stamp | None = None
        self._models: dict[str, Prices] = {}

    def of(self, model: HttpModel) -> Prices | None:
        now = files.stamp(self._path)
        if now != self._stamp:
            self._stamp, self._models = now, self._read() if now else {}
        return self._models.get(f"{model.provider}/{model.name}")

    def _read(self) -> dict[str, Prices]:
        try:
            found = _List.model_validate_json(files.read_text(self._path))
        except (files.Unreadable, ValidationError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.message
            log.warning("%s is not used: %s", escape_line(str(self._path)), escape_line(first))
            return {}
        dated = {"date": found.date}
        return {name: one if one.date else one.model_copy(update=dated) for name, one in found.models.items()}
