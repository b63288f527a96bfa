"""The encoder that is set up once writes what the standard library's writes that is made for each text."""

import json
from typing import Any

import pytest

from abey.shared.encoding import ascii_encoder

VALUES: list[Any] = [
    None,
    True,
    -(2**70),
    1e16,
    0.1,
    'a"\\\n\x7fé\u2028\U0001f600\ud800',
    [],
    {},
    ("a", [1, {"b": [None]}]),
    {"z": 1, "a": {"é": "ü", "b": [1.5, False]}, "\ud800": ""},
    {2: "two", 1.5: "more", None: "none", True: "true"},
]


@pytest.mark.parametrize("sort_keys", [False, True])
@pytest.mark.parametrize("value", VALUES, ids=repr)
def test_a_value_is_written_as_the_standard_library_writes_it(value: Any, sort_keys: bool) -> None:
    def written(write: Any) -> Any:
        try:
            return write(value)
        except TypeError:  # keys of several kinds have no order
            return TypeError

    encoder = json.JSONEncoder(separators=(",", ":"), allow_nan=False, sort_keys=sort_keys)
    assert written(ascii_encoder(sort_keys=sort_keys)) == written(encoder.encode)


@pytest.mark.parametrize("value", [float("nan"), [float("inf")], {"a": -float("inf")}], ids=repr)
def test_what_is_no_number_is_refused(value: Any) -> None:
    with pytest.raises(ValueError, match="not JSON compliant"):
        ascii_encoder(sort_keys=True)(value)


def test_what_is_no_json_is_refused() -> None:
    with pytest.raises(TypeError, match="not JSON serializable"):
        ascii_encoder(sort_keys=False)([object()])


def test_what_is_nested_too_deep_is_refused() -> None:
    value: list[Any] = []
    value.append(value)
    with pytest.raises(RecursionError):
        ascii_encoder(sort_keys=False)(value)


def test_where_python_has_no_such_encoder_it_writes_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    quick = [ascii_encoder(sort_keys=False)(value) for value in VALUES]
    monkeypatch.setattr(json.encoder, "c_make_encoder", None)
    assert [ascii_encoder(sort_keys=False)(value) for value in VALUES] == quick
