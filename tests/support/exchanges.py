"""Recorded exchanges with providers and what each has to come to: our own, and those beside the repository."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from abey.core.conversation import ModelAnswer, ModelRequest, OfferedTool, UserMessage
from abey.errors import ModelFailed
from abey.protocol.blocks import TextBlock, ThinkingBlock
from abey.protocol.config import HttpModel
from abey.protocol.transcript import TextPart
from abey.runtime.models.bodies import AnswerBody
from abey.runtime.models.dialects import assembly_of
from abey.runtime.models.places import place_of
from abey.runtime.ports import Delta

ROOT = Path(__file__).parents[2]
RECORDED = ROOT.parent / "shared" / "data" / "providers"
OWN = ROOT / "tests" / "data" / "providers"

PROVIDERS = {"chat": "openai", "messages": "anthropic", "responses": "openai-responses"}
REQUEST = ModelRequest("Be brief", (UserMessage((TextPart(text="hello there"),)),), (OfferedTool("t", "", {}),), 0)


@dataclass(frozen=True)
class Exchange:
    """`expected` has the members of index.jsonl."""

    name: str
    protocol: str
    status: int
    headers: dict[str, str]
    body: bytes
    expected: dict[str, Any]

    @property
    def streamed(self) -> bool:
        return bool(self.expected.get("streamed"))

    def model(self, url: str = "http://127.0.0.1:9/v1") -> HttpModel:
        return HttpModel(provider=PROVIDERS[self.protocol], name="m", base_url=url)


@dataclass(frozen=True)
class Outcome:
    """What an answer came to, whoever gave it: the texts of all blocks, the calls, the end, the tokens."""

    text: str
    thinking: str
    calls: tuple[tuple[str, str, str], ...]
    finish: str
    tokens: tuple[int, int]


def recorded() -> list[Exchange]:
    """Those beside the repository; none where they are not there."""
    index = RECORDED / "index.jsonl"
    if not index.exists():
        return []
    return [_recorded(json.loads(line)) for line in index.read_text(encoding="utf-8").splitlines()]


def own() -> list[Exchange]:
    """Those of tests/data/providers: a file a protocol, each a list. `body` is a text, or a list of events."""
    found = []
    for path in sorted(OWN.glob("*.json")):
        for one in json.loads(path.read_text(encoding="utf-8")):
            body = one["body"] if isinstance(one["body"], str) else _stream(one["body"])
            found.append(
                Exchange(
                    name=f"{path.stem}: {one['name']}",
                    protocol=path.stem,
                    status=one.get("status", 200),
                    headers=one.get("headers", {}),
                    body=body.encode("utf-8"),
                    expected=one["expected"],
                )
            )
    return found


def read(exchange: Exchange, *pieces: bytes) -> tuple[ModelAnswer, list[Delta]]:
    """What the pure half makes of a body in these pieces. Raises ModelFailed."""
    deltas: list[Delta] = []
    model = exchange.model()
    body = AnswerBody(assembly_of(model, place_of(model))(deltas.append))
    for piece in pieces:
        body.feed(piece)
    return body.end(), deltas


def outcome(answer: ModelAnswer) -> Outcome:
    return Outcome(
        text="".join(block.text for block in answer.blocks if isinstance(block, TextBlock)),
        thinking="".join(block.text for block in answer.blocks if isinstance(block, ThinkingBlock)),
        calls=tuple((call.id, call.tool, call.arguments) for call in answer.calls),
        finish=answer.finish_reason,
        tokens=(answer.usage.input_tokens, answer.usage.output_tokens),
    )


def outcome_or_failure(exchange: Exchange, *pieces: bytes) -> Outcome | tuple[str, str]:
    """The outcome, or code and message of the failure."""
    try:
        return outcome(read(exchange, *pieces)[0])
    except ModelFailed as failure:
        return failure.model_code, failure.message


def _recorded(row: dict[str, Any]) -> Exchange:
    exchange = json.loads((RECORDED / row["exchange"]).read_text(encoding="utf-8"))
    headers = exchange["response"]["headers"]
    body = (RECORDED / row["body"]).read_bytes()
    return Exchange(row["id"], row["protocol"], row["status"], headers, body, row["expected"])


def _stream(events: list[Any]) -> str:
    """Each event as a stream has it: a text as it is, a pair as name and data, an object as data."""
    lines = []
    for event in events:
        if isinstance(event, str):
            lines.append(event)
        elif isinstance(event, list):
            lines.append(f"event: {event[0]}\ndata: {json.dumps(event[1], ensure_ascii=False)}\n\n")
        else:
            lines.append(f"data: {json.dumps(event, ensure_ascii=False)}\n\n")
    return "".join(lines)
