"""A file of agents-exe written as one of ours: what its fields come to, in our order."""

import json
from typing import Any

from abey.language.agent_files.layout import line_end
from abey.language.agent_files.view import View
from abey.protocol.agent_file_words import FIELDS
from abey.runtime.agents.agents_exe import translate
from abey.runtime.agents.jsonc import BadSyntax, parse
from abey.runtime.models.places import without_credentials

_ORDER = tuple(FIELDS["AgentConfig"])


def converted(view: View) -> tuple[str, int] | None:
    """The text, and how many fields it leaves out; None for what is no such file."""
    try:
        document = parse(view.source)
    except BadSyntax:
        return None
    made = translate(document.value)
    if made is None:
        return None
    fields = {name: made.value[name] for name in sorted(made.value, key=_place)}
    text = json.dumps(_keyless(fields), indent=2, ensure_ascii=False) + "\n"
    return text.replace("\n", line_end(view.tree)), len(made.facts)


def _place(name: str) -> int:
    return _ORDER.index(name) if name in _ORDER else len(_ORDER)


def _keyless(fields: dict[str, Any]) -> dict[str, Any]:
    """No key in clear moves from one text to another, in an address neither."""
    model = fields.get("model")
    if not isinstance(model, dict):
        return fields
    kept = {name: found for name, found in model.items() if name != "apiKey" or not isinstance(found, str)}
    if isinstance(kept.get("baseUrl"), str):
        kept["baseUrl"] = without_credentials(kept["baseUrl"])
    return {**fields, "model": kept}
