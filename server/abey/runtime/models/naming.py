"""Names and ids as a provider takes them: ours where it does, else a spelling that is always the same."""

import hashlib
import re
from collections.abc import Iterable, Mapping

_OTHER = re.compile(r"[^A-Za-z0-9_-]")
_HASH = 8
_TOOL = 64


def wire_id(call_id: str, longest: int) -> str:
    """`call_id` of A-Z a-z 0-9 _ - and at most `longest` characters; two ids never become one."""
    return _spelled(call_id, longest)


def short_id(call_id: str) -> str:
    """Nine letters and digits, which is what Mistral takes and nothing else."""
    return call_id if re.fullmatch(r"[A-Za-z0-9]{9}", call_id) else hashlib.sha256(_bytes(call_id)).hexdigest()[:9]


def wire_name(tool: str) -> str:
    """The name of a tool as every provider takes it."""
    return _spelled(tool, _TOOL)


def own_names(tools: Iterable[str]) -> Mapping[str, str]:
    """From the names that a provider was told to our own."""
    return {wire_name(tool): tool for tool in tools}


def _spelled(name: str, longest: int) -> str:
    plain = _OTHER.sub("_", name)
    if name and plain == name and len(name) <= longest:
        return name
    return f"{plain[: longest - _HASH - 1]}_{hashlib.sha256(_bytes(name)).hexdigest()[:_HASH]}"


def _bytes(name: str) -> bytes:
    return name.encode("utf-8", "surrogatepass")
