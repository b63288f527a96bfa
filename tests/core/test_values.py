"""The copies that the fold makes are those of dataclasses."""

import dataclasses

import pytest
from support.stories import batch

from abey.core.session import NoteEntry
from abey.core.values import replace


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
    with pytest.raises(KeyError, match="texts"):
        replace(NoteEntry("n", 1, "T"), texts="m")  # type: ignore[call-arg]  # what is tested
