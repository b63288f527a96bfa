"""What a record says twice, or, of a client, after a record before it: its line says it once (journal.md, Records)."""

from collections.abc import Callable, Mapping
from typing import Any

from abey.protocol.base import Json, canonical_json
from abey.protocol.journal import CallDecided, RecordData
from abey.protocol.policy import Defer, Deny
from abey.protocol.transcript import Client

_CLIENT = (("client.kind", "kind"), ("client.name", "name"))
"""Members of a client that a record may lack: as what records before it say, and their own name."""

_NOTHING: Mapping[str, Any] = {}


def once(
    data: RecordData, carried: Mapping[str, str], spell: Callable[[Any, bool], Json]
) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    """The members of `data`, by name: a client without what is `carried`, a rule without the disposition that the
    record has, too, as `spell` spells it. And what members are that a line lacks because another member says it."""
    values = vars(data)
    if type(data) is CallDecided:
        return _verdict_once(data, spell) if data.runnable else (values, _NOTHING)
    client = values.get("client")
    return (values if client is None else {**values, "client": _client_once(client, carried)}), _NOTHING


def carry_client(client: Client, carried: dict[str, str]) -> None:
    """`carried` after a record of this client."""
    for said, name in _CLIENT:
        carried[said] = getattr(client, name)


def fill_repeats(kind: type[RecordData], data: dict[str, Any], carried: Mapping[str, str] | None) -> None:
    """Puts into the JSON value of a record what `once` lets its line lack. `carried` is None where nobody knows what
    the records before it say. A verdict that has `runnable` lacks nothing: older versions wrote it into every line."""
    client = data.get("client")
    if isinstance(client, dict):
        for said, name in _CLIENT:
            if name not in client and (carried is None or said in carried):
                client[name] = "" if carried is None else carried[said]
    if kind is CallDecided and "disposition" in data and "runnable" not in data:
        disposition, rule = data["disposition"], data.get("rule")
        if isinstance(disposition, dict) and "reason" in disposition:
            data.setdefault("reason", disposition["reason"])
        if isinstance(rule, dict) and "tool" in rule:
            rule.setdefault("disposition", disposition)


def _verdict_once(data: CallDecided, spell: Callable[[Any, bool], Json]) -> tuple[Mapping[str, Any], Mapping[str, Any]]:
    values, disposition, rule = vars(data), data.disposition, data.rule
    said = {"reason": disposition.reason} if isinstance(disposition, Defer | Deny) else _NOTHING
    # a rule of a policy always has a disposition; what an extension says has none, and names no tool
    is_of_policy = isinstance(rule, dict) and "tool" in rule
    if is_of_policy and _is_same(rule.get("disposition"), spell(disposition, True)):
        values = {**values, "rule": {key: value for key, value in rule.items() if key != "disposition"}}
    return values, said


def _client_once(client: Client, carried: Mapping[str, str]) -> dict[str, Json]:
    told = {name: getattr(client, name) for said, name in _CLIENT if carried.get(said) != getattr(client, name)}
    return {"id": client.id, **told}


def _is_same(one: Json, other: Json) -> bool:
    # equal is not enough: to Python, 1 is true
    return one == other and canonical_json(one) == canonical_json(other)
