"""Words: what is sought, and that a running daemon and one that reads a journal find the same ones."""

from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.harness.stories import Story

from abey.core.replay import fold
from abey.errors import InvalidArguments
from abey.runtime.index.words import Query, query_of, record_texts, session_texts, words_of
from abey.runtime.store.io import FileIO
from abey.runtime.store.store import Store


@pytest.mark.parametrize(
    ("text", "query"),
    [
        (None, Query()),
        ("", Query()),
        ('"*" -- ()', Query()),
        ("Paris", Query((), "paris")),
        ("warm  PARIS war", Query(("warm", "paris"), "war")),
        ("warm warm", Query((), "warm")),
        ('NEAR("a" b) OR text:c* NOT d^', Query(("near", "a", "b", "or", "text", "c", "not"), "d")),
        ("Élan Straße İzmir ℌ", Query(("elan", "strasse", "izmir"), "h")),
        ("snake_case kebab-bar", Query(("snake", "case", "kebab"), "bar")),
        ("日本 \ud83d", Query((), "日本")),
        ("x" * 100, Query((), "x" * 64)),
    ],
)
def test_a_query_is_words_and_nothing_in_it_is_syntax(text: str | None, query: Query) -> None:
    assert query_of(text) == query


def test_a_query_of_too_many_words_is_refused() -> None:
    with pytest.raises(InvalidArguments, match="at most 32 words, not 33"):
        query_of(" ".join(f"w{number}" for number in range(33)))


@given(st.text(max_size=30), st.text(max_size=30))
def test_every_beginning_of_a_text_is_found_in_it(text: str, more: str) -> None:
    known = words_of([more, text])
    assert all(Query((), word[:end]).fits(known) for word in words_of([text]) for end in range(1, len(word) + 1))
    assert not Query((f"{max(known, default='')}x",)).fits(known)


@pytest.mark.parametrize("seed", range(12))
def test_the_words_of_the_records_are_those_of_the_session(tmp_path, seed: int) -> None:
    store = Store(tmp_path, FileIO("process"))
    story = Story(f"s{seed}", Random(seed))
    story.create(store)
    for _ in range(60):
        story.go_on()
    session = fold(story.acknowledged)
    assert session is not None
    assert words_of(record_texts(story.acknowledged)) == words_of(session_texts(session))
