"""What people are told of a repair, and how revisions are named."""

from collections.abc import Iterable, Sequence

from abey.protocol.journal import Repaired

Runs = Sequence[tuple[int, int]]
"""The first and the last of each run of numbers without a gap."""


def runs_of(revisions: Iterable[int]) -> tuple[tuple[int, int], ...]:
    """The runs of these numbers, rising."""
    runs: list[tuple[int, int]] = []
    for one in sorted(set(revisions)):
        if runs and one == runs[-1][1] + 1:
            runs[-1] = (runs[-1][0], one)
        else:
            runs.append((one, one))
    return tuple(runs)


def in_words(runs: Runs) -> str:
    """`revision 3`, or `revisions 3, 5 to 9`."""
    words = [f"{first}" if first == last else f"{first} to {last}" for first, last in runs]
    is_one = len(runs) == 1 and runs[0][0] == runs[0][1]
    return f"revision{'' if is_one else 's'} {', '.join(words)}"


def repair_note(data: Repaired) -> str:
    """What people are told of a repair."""
    if not data.may_have_run:
        return f"the journal was damaged at byte {data.offset} and has been mended; nothing was lost"
    cut = f"{data.cut_bytes} bytes of a torn or damaged write were cut off the journal at byte {data.offset}"
    what = f"{cut} and kept beside it" if data.cut_bytes else f"the journal ended too early, at byte {data.offset}"
    lost = f"its former {in_words(data.lost)}" if data.lost else "what they told"
    return f"{what}; the session has lost {lost}, and calls told there may have run"
