"""The copies that the fold makes are those of dataclasses."""

import dataclasses
import importlib
import os
import pkgutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.stories import batch

import abey.core
from abey.core.rows import Fold
from abey.core.session import NoteEntry
from abey.shared.values import copier, dataclass, replace


def test_a_changed_copy_is_that_of_dataclasses() -> None:
    session = batch("run", "ask").session
    note = NoteEntry("n", 1, "T")
    for value in (session, session.turns[0], session.turns[0].entries[1], session.batch.calls[0], note):
        before = dataclasses.astuple(value)
        for field in dataclasses.fields(value):
            changes = {field.name: "changed"}
            assert replace(value, **changes) == dataclasses.replace(value, **changes)
        assert replace(value) == value
        assert dataclasses.astuple(value) == before


def test_a_member_that_there_is_not_is_an_error() -> None:
    with pytest.raises(TypeError, match="NoteEntry has no texts"):
        replace(NoteEntry("n", 1, "T"), texts="m")  # type: ignore[call-arg]  # what is tested
    with pytest.raises(TypeError, match="NoteEntry has no texts"):
        copier(NoteEntry, "text", "texts")


def test_a_copier_takes_the_new_members_in_its_own_order() -> None:
    value = Named(1, 2, 3, 4)
    assert copier(Named, "made", "old")(value, 7, 8) == Named(8, 2, 3, 7)
    assert (copier(Named)(value), value) == (value, Named(1, 2, 3, 4))


@dataclass(frozen=True, slots=True)
class Named:
    """Members that have the names of what a copy is made with."""

    old: int
    new: int
    kind: int
    made: int


def test_a_member_may_have_any_name() -> None:
    value = Named(1, 2, 3, 4)
    changed = [replace(value, **{field.name: 7}) for field in dataclasses.fields(value)]
    assert changed == [Named(7, 2, 3, 4), Named(1, 7, 3, 4), Named(1, 2, 7, 4), Named(1, 2, 3, 7)]


def values_of_the_core() -> Iterator[type[Any]]:
    for found in pkgutil.iter_modules(abey.core.__path__, "abey.core."):
        module = importlib.import_module(found.name)
        for kind in vars(module).values():
            if isinstance(kind, type) and dataclasses.is_dataclass(kind) and kind.__module__ == module.__name__:
                yield kind


def test_every_value_of_the_core_can_be_copied_by_this_python() -> None:
    """The copies rely on the shape of classes: where a Python makes another one of it, this tells."""
    for kind in values_of_the_core():
        names = [field.name for field in dataclasses.fields(kind)]
        if not names or kind is Fold:  # that is never copied
            continue
        value = object.__new__(kind)
        for name in names:
            object.__setattr__(value, name, f"old {name}")
        for name in names:
            copy = replace(value, **{name: "new"})
            told = {each: "new" if each == name else f"old {each}" for each in names}
            assert (type(copy), {each: getattr(copy, each) for each in names}) == (kind, told)


@pytest.mark.slow
def test_nothing_sets_a_member_of_a_value() -> None:
    """What has no type may be given to code that does: here the values are guarded, as those of dataclasses are."""
    tests = Path(__file__).parents[1]
    stories = str(tests / "core" / "test_machine_properties.py")
    program = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "support.guarded", stories]
    path = os.pathsep.join([str(tests), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        program, cwd=tests.parent, env={**os.environ, "PYTHONPATH": path}, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stdout
