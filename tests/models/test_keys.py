"""Keys: where they are looked up, in which order, and what is said where there is none."""

import json
from pathlib import Path
from typing import Any

import pytest

from abey.errors import ModelFailed
from abey.protocol.config import HttpModel
from abey.runtime.models.keys import MOST_SESSIONS, Keys, NoKeyring, system_keyring
from abey.runtime.models.places import variable_of

KEY = "sk-canary-0123456789"


def model(provider: Any = "openai", **more: Any) -> HttpModel:
    return HttpModel.model_validate({"provider": provider, "name": "m", **more})


def no_keyring(service: str, name: str) -> str | None:
    raise NoKeyring("there is no keyring")


class Place:
    """A config folder, the daemon's environment and a keyring."""

    def __init__(self, folder: Path) -> None:
        self.file = folder / "keys.json"
        self.daemon: dict[str, str] = {}
        self.ring: dict[tuple[str, str], str] = {}
        self.keys = Keys(folder, self.daemon, lambda service, name: self.ring.get((service, name)))

    def write(self, value: Any, mode: int = 0o600) -> None:
        self.file.write_text(value if isinstance(value, str) else json.dumps(value))
        self.file.chmod(mode)

    def drive(self, session_id: str, **env: str) -> None:
        with self.keys.driven(session_id, env):
            pass


@pytest.fixture
def place(tmp_path: Path) -> Place:
    return Place(tmp_path)


def refused(keys: Keys, one: HttpModel) -> tuple[str, str, dict[str, Any]]:
    with pytest.raises(ModelFailed) as caught:
        keys.of_session(one, "s")
    return caught.value.model_code, caught.value.message, caught.value.details


@pytest.mark.parametrize(
    ("found", "variable"),
    [
        (model(), "OPENAI_API_KEY"),
        (model("openai-responses"), "OPENAI_API_KEY"),
        (model("anthropic"), "ANTHROPIC_API_KEY"),
        (model(baseUrl="https://api.openai.com/v1"), "OPENAI_API_KEY"),
        (model("anthropic", baseUrl="https://api.anthropic.com"), "ANTHROPIC_API_KEY"),
        (model(baseUrl="http://localhost:11434/v1"), None),
        (model(baseUrl="https://other.example.org/v1"), None),
        (model(baseUrl="http://api.openai.com/v1"), None),
        (model(baseUrl="https://api.openai.com.example.org/v1"), None),
        (model("anthropic", baseUrl="https://api.openai.com/v1"), None),
        (model(apiKey={"env": "MINE"}), "MINE"),
        (model(apiKey={"id": "mine"}), None),
    ],
)
def test_a_key_goes_to_nobody_but_its_own_provider_unasked(found: HttpModel, variable: str | None) -> None:
    assert variable_of(found) == variable


def test_the_places_are_tried_in_order(place: Place) -> None:
    one = model(apiKey={"env": "MINE"})
    found = []
    place.ring["abey", "MINE"] = "from-keyring"
    found.append(place.keys.of_session(one, "s"))
    place.write({"keys": [{"id": "other", "value": "x"}, {"id": "MINE", "value": "from-file"}]})
    found.append(place.keys.of_session(one, "s"))
    place.daemon["MINE"] = "from-daemon"
    found.append(place.keys.of_session(one, "s"))
    place.drive("s", MINE="from-starter")
    place.drive("s", OTHER="x")
    found.append(place.keys.of_session(one, "s"))
    place.drive("s", MINE="from-asker")
    found.append(place.keys.of_session(one, "s"))
    place.drive("s", MINE=" ")
    found.append(place.keys.of_session(one, "s"))
    found.append(place.keys.of_session(one, "another session"))
    assert found == [
        "from-keyring",
        "from-file",
        "from-daemon",
        "from-starter",
        "from-asker",
        "from-starter",
        "from-daemon",
    ]


def test_a_request_that_is_refused_has_driven_nothing(place: Place) -> None:
    place.drive("s", MINE="first")
    for session_id in ("s", "t"):
        with pytest.raises(LookupError), place.keys.driven(session_id, {"MINE": "second"}):
            raise LookupError
    one = model(apiKey={"env": "MINE"})
    assert place.keys.of_session(one, "s") == "first"
    with pytest.raises(ModelFailed):
        place.keys.of_session(one, "t")


def test_who_drives_a_session_drives_its_child(place: Place) -> None:
    place.keys.lend("s", "child")
    place.drive("s", MINE="of-who-drives")
    place.keys.lend("s", "child")
    one = model(apiKey={"env": "MINE"})
    assert place.keys.of_session(one, "child") == "of-who-drives"


def test_the_environments_of_old_sessions_are_forgotten(place: Place) -> None:
    for number in range(MOST_SESSIONS + 1):
        place.drive(f"s{number}", MINE="x")
    one = model(apiKey={"env": "MINE"})
    assert place.keys.of_session(one, "s1") == "x"
    with pytest.raises(ModelFailed):
        place.keys.of_session(one, "s0")


def test_no_environment_is_shown(place: Place) -> None:
    place.drive("s", MINE=KEY)
    assert KEY not in repr(vars(place.keys))


def test_a_missing_variable_is_named(place: Place) -> None:
    message = (
        "no API key: the variable OPENAI_API_KEY is set neither for the client nor for the daemon, and neither"
        f" {place.file} nor the keyring has OPENAI_API_KEY"
    )
    assert refused(place.keys, model()) == ("auth", message, {"missingEnv": "OPENAI_API_KEY"})
    assert (place.keys.missing(model(), None), place.keys.missing(model(), {"OPENAI_API_KEY": "x"})) == (message, None)


def test_a_local_server_needs_no_key(place: Place) -> None:
    assert place.keys.of_session(model(baseUrl="http://localhost:11434/v1"), "s") is None


def test_an_id_is_looked_up_in_the_file_and_the_keyring(place: Place) -> None:
    one = model(apiKey={"id": "kimi"})
    missing = f'no API key: {place.file} has none with the id "kimi", and neither has the keyring'
    assert refused(place.keys, one) == ("auth", missing, {})
    place.ring["abey", "kimi"] = "ring"
    assert place.keys.of_session(one, "s") == "ring"
    place.write({"keys": [{"id": "kimi", "value": " file\n"}]})
    assert place.keys.of_session(one, "s") == "file"


def test_a_file_holds_one_key(place: Place, tmp_path: Path) -> None:
    file = tmp_path / "key"
    file.write_text(f"\ufeff{KEY}\n")
    file.chmod(0o600)
    one = model(apiKey={"file": str(file)})
    assert place.keys.of_session(one, "s") == KEY
    file.chmod(0o640)
    unsafe = f"no API key: {file} can be read by others and is not used; run: chmod 600 {file}"
    assert refused(place.keys, one) == ("auth", unsafe, {})
    file.unlink()
    gone = f"no API key: {file} cannot be read: No such file or directory"
    assert refused(place.keys, one) == ("auth", gone, {})


def test_a_keyring_entry_may_name_its_service(place: Place) -> None:
    place.ring |= {("abey", "work"): "one", ("other app", "me"): "two"}
    assert [
        place.keys.of_session(model(apiKey={"keyring": name}), "s") for name in ("work", "abey/work", "other app/me")
    ] == ["one", "one", "two"]
    assert refused(place.keys, model(apiKey={"keyring": "home"})) == (
        "auth",
        "no API key: the keyring has none for home",
        {},
    )


def test_without_a_keyring_that_is_said_where_it_is_asked_for(tmp_path: Path) -> None:
    keys = Keys(tmp_path, {}, no_keyring)
    assert refused(keys, model(apiKey={"keyring": "x"})) == ("auth", "no API key: there is no keyring", {})
    assert refused(keys, model())[2] == {"missingEnv": "OPENAI_API_KEY"}


def test_without_the_package_the_way_out_is_named() -> None:
    try:
        system_keyring("abey", "no such entry")
    except NoKeyring as error:
        assert str(error).startswith("the keyring cannot be asked")


@pytest.mark.parametrize("mode", [0o644, 0o640, 0o604, 0o622])
def test_a_key_file_that_others_can_read_is_refused_with_the_way_out(place: Place, mode: int) -> None:
    place.write({"keys": [{"id": "MINE", "value": KEY}]}, mode)
    unsafe = f"no API key: {place.file} can be read by others and is not used; run: chmod 600 {place.file}"
    assert refused(place.keys, model(apiKey={"env": "MINE"})) == ("auth", unsafe, {})


@pytest.mark.parametrize(
    "text", ["", "[]", "{}", '{"keys": 1}', '{"keys": [1]}', '{"keys": [{"id": "MINE"}]}', "[" * 100_000, "\0"]
)
def test_a_key_file_of_another_form_is_refused_without_being_repeated(place: Place, text: str) -> None:
    place.write(text)
    form = '{"keys": [{"id": "…", "value": "…"}]}'
    assert refused(place.keys, model(apiKey={"id": "MINE"})) == (
        "auth",
        f"no API key: {place.file} is not of the form {form}",
        {},
    )


@pytest.mark.parametrize("key", [f"{KEY}\n{KEY}", f"{KEY} x", f"{KEY}é", f"{KEY}\x1b"])
def test_a_key_that_no_header_carries_is_refused_without_being_repeated(place: Place, key: str) -> None:
    place.daemon["MINE"] = key
    code, message, _ = refused(place.keys, model(apiKey={"env": "MINE"}))
    assert (code, "MINE" in message, KEY in message) == ("auth", True, False)
