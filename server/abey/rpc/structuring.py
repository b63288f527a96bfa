"""Values of LSP: from JSON into lsprotocol's types and back, here and nowhere else."""

import functools
import logging
from collections.abc import Iterator, Mapping
from typing import Any

from cattrs import BaseValidationError, Converter
from cattrs.cols import is_sequence, list_structure_factory
from cattrs.errors import ClassValidationError, IterableValidationError
from cattrs.gen import make_dict_structure_fn, override
from lsprotocol import types as lsp
from pygls.protocol import default_converter

from abey.protocol.base import Json
from abey.rpc.editor import MEMBERS
from abey.rpc.faults import ERRORS_SHOWN, InvalidParams

log = logging.getLogger(__name__)

Where = tuple[int | str, ...]


def structured(method: str, params: Json) -> Any:
    """The params of a method of LSP; absent ones mean none, and members that LSP does not know are passed over. Raises
    InvalidParams."""
    kind: Any = lsp.METHOD_TO_TYPES[method][2]
    if params is not None and not isinstance(params, dict):
        errors = [{"loc": [], "msg": "params are an object", "type": "dict_type"}]
        raise InvalidParams(f"invalid params for {method}: params are an object", errors=errors)
    try:
        return _converter().structure(params or {}, kind)
    except Exception as error:
        found = [{"loc": list(where), "msg": why, "type": kind} for where, why, kind in _told(error, ())]
        first = ".".join(str(part) for part in found[0]["loc"]) or "params"
        message = f"invalid params for {method}: {first}: {found[0]['msg']}"
        raise InvalidParams(message, errors=found[:ERRORS_SHOWN]) from error


def unstructured(value: Any) -> Any:
    """A value of LSP, or JSON with such values in it, as JSON."""
    return _converter().unstructure(value)


def client_capabilities(value: Json) -> lsp.ClientCapabilities:
    """What of them LSP knows. Editors send members that it does not know, or knows otherwise: those are left out, and
    no reason to fail."""
    if not isinstance(value, dict):
        return lsp.ClientCapabilities()
    known: dict[str, Json] = {}
    for name, member in value.items():
        kept = member
        if isinstance(member, dict) and not _fits({name: member}):
            kept = {inner: what for inner, what in member.items() if _fits({name: {inner: what}})}
        if _fits({name: kept}):
            known[name] = kept
    if known != value:
        log.info("client capabilities are not all as LSP has them: what is not is left out")
    return _capabilities(known) or lsp.ClientCapabilities()


def _fits(value: Mapping[str, Json]) -> bool:
    return _capabilities(value) is not None


def _capabilities(value: Mapping[str, Json]) -> lsp.ClientCapabilities | None:
    try:
        return _converter().structure(value, lsp.ClientCapabilities)
    except Exception:  # noqa: BLE001  cattrs raises whatever the hook of a field raises
        return None


def _told(error: Exception, where: Where) -> Iterator[tuple[Where, str, str]]:
    """Where params are wrong, why, and by which rule; what was in them is not repeated."""
    match error:
        case ClassValidationError():
            inner, others = error.group_exceptions()
            for one, note in inner:
                yield from _told(one, (*where, _wire_name(one, note.name)))
        case IterableValidationError():
            indexed, others = error.group_exceptions()
            for one, place in indexed:
                yield from _told(one, (*where, place.index))
        case BaseValidationError():
            others = list(error.exceptions)
        case KeyError():
            yield where, "Field required", "missing"
            return
        case _Unfit():
            yield where, str(error), "wrong_type"
            return
        case _:
            yield where, "not as LSP has it", "wrong_value"
            return
    for one in others:
        yield from _told(one, where)


def _wire_name(error: Exception, name: str) -> str:
    """A missing member is named as the wire has it; the others by lsprotocol, in snake case."""
    if isinstance(error, KeyError) and error.args:
        return str(error.args[0])
    first, *rest = name.split("_")
    return first + "".join(part.capitalize() for part in rest)


class _Unfit(TypeError):
    """A value of another type than LSP has there."""


@functools.cache
def _converter() -> Converter:
    """pygls', but nothing is made to fit: its `int` takes "7", 7.5 and true, its `str` everything."""
    converter: Converter = default_converter()  # type: ignore[no-untyped-call]  # pygls leaves it without annotations
    for kind, name in ((int, "a whole number"), (str, "a string"), (bool, "true or false")):
        converter.register_structure_hook(kind, functools.partial(_exactly, kind, name))
    converter.register_structure_hook_factory(is_sequence, _list_hook)
    # a client may send back all that was found in a file, and nothing here needs it
    seen, renamed = override(struct_hook=lambda _, __: ()), override(rename="triggerKind")
    context = make_dict_structure_fn(lsp.CodeActionContext, converter, diagnostics=seen, trigger_kind=renamed)
    converter.register_structure_hook(lsp.CodeActionContext, context)
    return converter


def _exactly(kind: type, name: str, value: Any, _: Any) -> Any:
    if type(value) is not kind:
        raise _Unfit(f"{name} is expected")
    return value


def _list_hook(cls: Any, converter: Converter) -> Any:
    structure = list_structure_factory(cls, converter)

    def hook(value: Any, kind: Any) -> Any:
        if not isinstance(value, list):
            raise _Unfit("a list is expected")
        if len(value) > MEMBERS:
            raise _Unfit(f"a list of at most {MEMBERS} members is expected")
        return tuple(structure(value, kind))

    return hook
