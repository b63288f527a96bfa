"""What a session is called, whatever comes first (protocol.md, Session)."""

import pytest
from support.snapshots import check_snapshot
from support.world import CLIENT, text_parts

from abey.core.replay import fold
from abey.core.titles import may_have_titled, title_of
from abey.protocol import journal as j
from abey.protocol.transcript import FilePart


def titles(*after: j.RecordData, start: str = "coder") -> list[str]:
    """The title after every record of a session of the agent `coder`."""
    created = j.Created(session_id="s1", agent="coder", config={}, config_hash="0" * 64, cwd="/w", title=start)
    records = [j.Record(rev, "T", data) for rev, data in enumerate((created, *after), 1)]
    told = []
    for number in range(1, len(records) + 1):
        session = fold(records[:number])
        assert session is not None
        check_snapshot(session, records[:number])
        told.append(session.title)
        assert may_have_titled(session, records[number - 1].data) or number == 1 or told[-1] == told[-2]
    return told


def said(text: str | None, n: int = 1) -> j.Input:
    """An input of the only turn; without words it is a file."""
    parts = (FilePart(path="/a.txt"),) if text is None else text_parts(text)
    return j.Input(turn_id="t1", input_id=f"i{n}", parts=parts, client=CLIENT)


def queued(text: str) -> j.InputQueued:
    return j.InputQueued(input_id="q", delivery="queue", parts=text_parts(text), client=CLIENT)


def test_the_first_input_in_words_gives_the_title_and_no_later_one() -> None:
    assert titles(said(None), said("\n Mend it \nplease", 2), said("coder", 3), said("more", 4)) == [
        "coder",
        "coder",
        "Mend it",
        "Mend it",
        "Mend it",
    ]


def test_an_input_gives_it_as_soon_as_it_waits() -> None:
    assert titles(queued("later"), said("sooner")) == ["coder", "later", "later"]


def test_an_input_that_says_the_slug_has_given_it() -> None:
    assert titles(said("coder"), said("more", 2)) == ["coder", "coder", "coder"]


def test_a_title_that_was_given_is_kept() -> None:
    assert titles(said("hello"), start="Given") == ["Given", "Given"]


@pytest.mark.parametrize("title", ["New", "coder"])
def test_a_new_title_is_never_exchanged_for_an_input(title: str) -> None:
    assert titles(j.Updated(title="x"), j.Updated(title=title), said("hello")) == ["coder", "x", title, title]


def test_putting_a_session_away_gives_it_no_title() -> None:
    assert titles(j.Updated(archived=True), said("hello")) == ["coder", "coder", "hello"]


def test_a_long_first_line_is_cut() -> None:
    assert [title_of(text_parts("x" * length)) for length in (80, 81)] == ["x" * 80, "x" * 79 + "…"]
