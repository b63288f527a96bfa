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
    """Read again whenever the file changed; threads may ask at the same time. One that cannot be used is told of in the
    log, and knows no price."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._known: tuple[files.Stamp | None, dict[str, Prices]] = (None, {})

    def of(self, model: HttpModel) -> Prices | None:
        now, (stamp, models) = files.stamp(self._path), self._known
        if now != stamp:
            models = self._read() if now else {}
            self._known = (now, models)
        return models.get(f"{model.provider}/{model.name}")

    def _read(self) -> dict[str, Prices]:
        try:
            found = _List.model_validate_json(files.read_text(self._path))
        except (files.Unreadable, ValidationError) as error:
            first = error.errors()[0]["msg"] if isinstance(error, ValidationError) else error.message
            log.warning("%s is not used: %s", escape_line(str(self._path)), escape_line(first))
            return {}
        dated = {"date": found.date}
        return {name: one if one.date else one.model_copy(update=dated) for name, one in found.models.items()}
