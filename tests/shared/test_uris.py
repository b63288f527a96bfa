"""`file:` URIs mean paths, and nothing else does."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.shared.uris import path_of, uri_of

names = st.text(st.characters(codec="utf-8", exclude_characters="/\0"), min_size=1).filter(
    lambda name: name not in (".", "..")
)


@given(st.lists(names, max_size=4))
def test_every_path_comes_back_from_its_uri(parts: list[str]) -> None:
    path = Path("/", *parts)
    assert path_of(uri_of(path)) == path


@pytest.mark.parametrize(
    ("uri", "path"),
    [
        ("file:///a%20b/c.json", "/a b/c.json"),
        ("file://localhost/a", "/a"),
        ("FILE:///a", "/a"),
        ("file:/a", "/a"),
        ("file:///c%3A/x", "/c:/x"),
        ("file:///a?b#c", "/a"),
        ("file:///%FF", "/\udcff"),
        ("file:///a/../b", "/a/../b"),
    ],
)
def test_a_path_is_as_it_is_spelled(uri: str, path: str) -> None:
    assert path_of(uri) == Path(path)


@pytest.mark.parametrize(
    "uri",
    [
        "",
        "/a",
        "untitled:Untitled-1",
        "file:a",
        "file://host/a",
        "file:///a%00b",
        "http://x/a",
        "file://[/a",
        "git:/a",
        "x",
    ],
)
def test_what_is_no_file_has_no_path(uri: str) -> None:
    assert path_of(uri) is None
