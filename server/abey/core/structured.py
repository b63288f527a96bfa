"""Answers that have to fit a schema (agent-file.md, Structured output)."""

import json

from abey.core.conversation import ModelAnswer
from abey.core.hashes import parse_json
from abey.core.machine import Context, Draft
from abey.core.session import InputEntry, Session
from abey.protocol import journal as j
from abey.protocol.blocks import TextBlock
from abey.protocol.transcript import TextPart


def misfit(answer: ModelAnswer, context: Context) -> str | None:
    """What keeps a final answer from being what the agent's outputSchema asks for, in a line, or None."""
    schema = context.agent.output_schema
    if schema is None or answer.calls:
        return None
    text = "".join(block.text for block in answer.blocks if isinstance(block, TextBlock))
    try:
        value = parse_json(text)
    except ValueError as error:
        return f"the answer is not JSON: {error}"
    return context.check(schema, value, "the answer")


def was_repaired(session: Session) -> bool:
    """Whether the model was asked again in the open turn: it is once."""
    entries = session.open_turn.entries if session.open_turn else ()
    return any(isinstance(entry, InputEntry) and entry.repairs for entry in entries)


def ask_again(draft: Draft, wrong: str) -> Draft:
    """The model is told what is wrong with the answer that is in the transcript now, and the turn goes on."""
    turn = draft.session.open_turn
    if turn is None:
        raise ValueError("an answer belongs to an open turn")
    schema = json.dumps(draft.context.agent.output_schema)
    told = TextPart(
        text=f"This cannot be read by the program that asked: {wrong}. Answer again with the JSON value alone, with "
        f"nothing before or after it and no Markdown around it. It has to fit this JSON schema: {schema}"
    )
    return draft.write(j.Input(turn_id=turn.turn_id, input_id=draft.mint("input"), parts=(told,), repairs=True))
