"""How often the interpreter looks for circles of values that nobody has any more."""

import gc


def collect_seldom() -> None:
    """For a process that is about sessions: these are many small values without circles, and looking for them as often
    as Python does takes a twelfth of a step and a third of opening one."""
    gc.set_threshold(50_000, 20, 20)


def keep_what_is_there() -> None:
    """What is in memory stays to the end, as what was imported does: nobody need look through it again, which would
    take a third of the time in which a session is opened."""
    gc.freeze()
