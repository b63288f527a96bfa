"""`abey schema`: the JSON schema of the protocol, as it lies in the package."""

import json
from pathlib import Path

from abey.shared.kinds import EXIT_OK
from abey_cli.context import Context

SCHEMA = Path(__file__).parent.parent / "schema.json"


def schema(context: Context) -> int:
    text = SCHEMA.read_text(encoding="utf-8")
    context.answer(json.loads(text), lambda: context.console.out(text.rstrip("\n")))
    return EXIT_OK
