"""What a call of an http tool sends: the URL, the query, the body."""

import re
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from abey.runtime.tools.http.request import HttpRequest, request_of, url_template_fault
from abey.runtime.tools.placeholders import BadArgument


def made(url: str, method: str = "GET", **arguments: Any) -> HttpRequest:
    return request_of({"url": url, "method": method}, {"type": "object"}, arguments)


@pytest.mark.parametrize(
    ("url", "arguments", "sent"),
    [
        ("https://a.example/{path}", {"path": "x"}, "https://a.example/x"),
        (
            "https://a.example/{path}",
            {"path": "x/y?z#é ;&=+%"},
            "https://a.example/x%2Fy%3Fz%23%C3%A9%20%3B%26%3D%2B%25",
        ),
        ("https://a.example/{path}", {"path": "../../etc"}, "https://a.example/..%2F..%2Fetc"),
        ("https://a.example/v{n}/{b}?q={q}", {"n": 1.5, "b": True, "q": [1]}, "https://a.example/v1.5/true?q=%5B1%5D"),
        ("https://a.example/x", {"q": "a b", "n": 3, "no": None}, "https://a.example/x?q=a+b&n=3"),
        ("https://a.example/x?k=1", {"tag": ["a", "b"]}, "https://a.example/x?k=1&tag=a&tag=b"),
        ("https://a.example/x#top", {}, "https://a.example/x"),
        ("https://a.example/${x}", {"x": 1}, "https://a.example/${x}?x=1"),
        ("https://{h}/x", {"h": "b.example"}, "https://b.example/x"),
        ("https://{h}.a.example:{p}/", {"h": "b", "p": 81}, "https://b.a.example:81/"),
        ("https://{h}/", {"h": "[::1]"}, "https://[::1]/"),
    ],
)
def test_placeholders_are_encoded_and_the_rest_is_the_query(url: str, arguments: dict[str, Any], sent: str) -> None:
    chosen = "{" in url.partition("://")[2].partition("/")[0]
    assert made(url, **arguments) == HttpRequest("GET", sent, chosen)


@pytest.mark.parametrize("method", ["POST", "PUT", "PATCH"])
def test_of_a_method_with_a_body_the_rest_is_a_json_object(method: str) -> None:
    assert made("https://a.example/{id}", method, id=7, text="é", no=None) == HttpRequest(
        method, "https://a.example/7", False, '{"text": "é"}'.encode()
    )


def test_without_a_rest_there_is_no_body() -> None:
    assert made("https://a.example/{id}", "POST", id=7).body is None


@pytest.mark.parametrize(
    ("url", "arguments", "fault"),
    [
        ("https://a.example/{x}", {}, "the URL has no value for x"),
        ("https://a.example/{x}", {"x": None}, "the URL has no value for x"),
        ("https://a.example/{x}/y", {"x": ".."}, "an argument makes .. a part of the URL's path"),
        ("https://a.example/{x}", {"x": "."}, "an argument makes . a part of the URL's path"),
        ("https://a.example/.{x}/y", {"x": "."}, "an argument makes .. a part of the URL's path"),
        ("https://a.example/{x}", {"x": "\ud800"}, "the argument x holds half a surrogate pair, which no URL can have"),
        *[
            ("https://{h}/x", {"h": host}, "the argument h is no host, nor a part of one")
            for host in [
                "",
                "a/b",
                "a@b",
                "a:1",
                "a?b",
                "a#b",
                "a\\b",
                "a b",
                "a\n",
                "a%2fb",
                "[::1]/",
                "http://a",
                "[x]",
            ]
        ],
        ("https://good.example{p}", {"p": "/x"}, "the argument p is no host, nor a part of one"),
    ],
)
def test_what_would_make_another_url_is_refused(url: str, arguments: dict[str, Any], fault: str) -> None:
    with pytest.raises(BadArgument) as refused:
        made(url, **arguments)
    assert str(refused.value) == fault


def test_a_placeholder_that_touches_the_host_chooses_it() -> None:
    assert made("https://good.example{p}", p=".evil.example") == HttpRequest(
        "GET", "https://good.example.evil.example", True
    )


@pytest.mark.parametrize(
    ("url", "fault"),
    [
        ("https://a.example/{x}", None),
        ("HTTP://{host}:{port}/", None),
        ("{url}", "the URL of a tool begins with http:// or https:// and a host"),
        ("{scheme}://a.example", "the URL of a tool begins with http:// or https:// and a host"),
        ("ftp://a.example", "the URL of a tool begins with http:// or https:// and a host"),
        ("https:///x", "the URL of a tool begins with http:// or https:// and a host"),
        ("https://u:p@a.example/", "the URL of a tool has no user and password: they would be kept, and shown"),
        ("https://a.example/x y", "the URL of a tool holds a blank"),
        ("https://[::1/", "the host of the URL is none"),
    ],
)
def test_a_url_that_cannot_be_asked_is_a_fault_of_the_file(url: str, fault: str | None) -> None:
    assert url_template_fault(url) == fault


TEXTS = st.text(max_size=12) | st.sampled_from(["..", ".", "/", "//", "@", "\\", "%2e", "?", "#", "a/../b", "http://x"])


@given(path=TEXTS, query=TEXTS, more=TEXTS)
def test_no_argument_changes_the_host_or_leaves_its_place(path: str, query: str, more: str) -> None:
    try:
        request = made("https://a.example:81/v1/{path}/end?q={query}", path=path, query=query, more=more)
    except BadArgument:
        return
    asked = httpx.URL(request.url)
    assert (asked.host, asked.port, asked.userinfo, dict(asked.params)) == (
        "a.example",
        81,
        b"",
        {"q": query, "more": more},
    )
    assert re.fullmatch(b"/v1/[^/]*/end", asked.raw_path.partition(b"?")[0])


@given(host=TEXTS)
def test_a_chosen_host_is_all_of_the_host(host: str) -> None:
    try:
        asked = httpx.URL(made("https://{host}/x", host=host).url)
    except (BadArgument, httpx.InvalidURL):
        return
    assert (asked.userinfo, asked.port, asked.path, asked.query) == (b"", None, "/x", b"")
