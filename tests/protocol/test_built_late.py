"""Types of the protocol are built when they are first used: here all of them, so that none is found broken later."""

from collections.abc import Iterator
from importlib import import_module
from pkgutil import walk_packages

import abey.protocol
from abey.protocol.base import Wire


def types(base: type[Wire] = Wire) -> Iterator[type[Wire]]:
    for one in base.__subclasses__():
        yield one
        yield from types(one)


def test_every_type_can_be_built() -> None:
    for module in walk_packages(abey.protocol.__path__, "abey.protocol."):
        import_module(module.name)
    found = [one for one in dict.fromkeys(types()) if one.__module__.startswith("abey.protocol.")]
    for one in found:
        one.model_rebuild()
    assert len(found) > 200
    assert [one for one in found if not one.__pydantic_complete__] == []


def test_none_is_built_before_it_is_used() -> None:
    assert Wire.model_config["defer_build"] is True
