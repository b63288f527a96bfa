"""`abey schema`: the JSON schemas of the protocol and of agent files, as they lie in the package."""

import json
from pathlib import Path

from abey.shared.kinds import EXIT_OK
from abey_cli.context import Context

PACKAGE = Path(__file__).parent.parent
SCHEMAS = {"protocol": PACKAGE / "schema.json", "agent-file": PACKAGE / "agent-file.schema.json"}


def schema(context: Context) -> int:
    text = SCHEMAS[context.options.of].read_text(encoding="utf-8")
    context.answer(json.loads(text), lambda: context.console.out(text.rstrip("\n")))
    return EXIT_OK
