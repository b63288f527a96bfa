"""An error that was told holds nothing any more."""

import gc
from weakref import ref

from abey.shared.frames import let_go


class Held:
    """Stands for what a frame has worked with."""


def fails(held: Held) -> None:
    try:
        raise KeyError("first") from ValueError("before")
    except KeyError as first:
        kept = first  # so that the frame holds the error, and the error the frame
        raise RuntimeError("second") from ExceptionGroup("both", [kept, OSError("third")])


def test_what_the_frames_of_an_error_have_worked_with_goes_when_it_was_told() -> None:
    gc.disable()
    try:
        held = Held()
        known = ref(held)
        try:
            fails(held)
        except RuntimeError as error:
            del held
            assert known() is not None
            let_go(error)
            assert known() is None
            told = str(error), repr(error.__cause__)
    finally:
        gc.enable()
    assert told == ("second", "ExceptionGroup('both', [KeyError('first'), OSError('third')])")
