"""Where things are, from the environment alone."""

import hashlib
import os
import pwd
from pathlib import Path

import pytest

from abey.shared.places import address_path, config_dir, read_address, runtime_dir, socket_path, state_dir

HOME = pwd.getpwuid(os.getuid()).pw_dir


@pytest.mark.parametrize(
    ("env", "state", "config"),
    [
        ({"HOME": "/h"}, "/h/.local/state/abey", "/h/.config/abey"),
        *(({"HOME": own}, f"{HOME}/.local/state/abey", f"{HOME}/.config/abey") for own in ("", "relative")),
        ({"HOME": "/h", "XDG_STATE_HOME": "/s", "XDG_CONFIG_HOME": "/c"}, "/s/abey", "/c/abey"),
        ({"HOME": "/h", "XDG_STATE_HOME": "s", "XDG_CONFIG_HOME": ""}, "/h/.local/state/abey", "/h/.config/abey"),
        ({"HOME": "/h", "ABEY_STATE_DIR": "/a/../b", "ABEY_CONFIG_DIR": "~/c", "XDG_STATE_HOME": "/s"}, "/b", "/h/c"),
    ],
)
def test_folders_come_from_abey_then_xdg_then_home(env: dict[str, str], state: str, config: str) -> None:
    assert (state_dir(env), config_dir(env)) == (Path(state), Path(config))


@pytest.mark.parametrize(
    ("env", "folder"),
    [
        ({"ABEY_RUNTIME_DIR": "/r", "XDG_RUNTIME_DIR": "/x"}, "/r"),
        ({"XDG_RUNTIME_DIR": "/x"}, "/x/abey"),
        ({}, "/state/run"),
    ],
)
def test_the_runtime_folder_is_ours_or_xdgs_or_in_the_state_folder(env: dict[str, str], folder: str) -> None:
    assert runtime_dir(env, Path("/state")) == Path(folder)


def test_a_socket_is_named_by_the_real_path_of_its_state_folder(tmp_path: Path) -> None:
    real = tmp_path / "real"
    real.mkdir()
    (tmp_path / "link").symlink_to(real)
    name = hashlib.sha256(os.fsencode(real.resolve())).hexdigest()[:16]
    env = {"ABEY_RUNTIME_DIR": "/r"}
    assert {socket_path(path, env) for path in (real, tmp_path / "link")} == {Path("/r") / name}


@pytest.mark.parametrize(("temporary", "folder"), [("/t", "/t"), ("/" + "t" * 90, "/tmp"), ("relative", "/tmp")])
def test_a_path_too_long_for_a_socket_is_replaced_by_one_in_the_temporary_folder(temporary: str, folder: str) -> None:
    fits = {"ABEY_RUNTIME_DIR": "/" + "r" * 85, "TMPDIR": temporary}
    long = {"ABEY_RUNTIME_DIR": "/" + "r" * 86, "TMPDIR": temporary}
    kept, moved = socket_path(Path("/state"), fits), socket_path(Path("/state"), long)
    assert (len(os.fsencode(kept)), moved) == (103, Path(folder) / f"abey-{os.getuid()}" / kept.name)


@pytest.mark.parametrize(
    ("content", "address"),
    [
        ("/r/s\n", Path("/r/s")),
        ("", None),
        ("rel\n", None),
        ("/r\0s\n", None),
        ("/" + "s" * 103, None),
        ("\0\udcff" * 3000, None),
        (None, None),
    ],
)
def test_an_address_is_an_absolute_path_or_none(tmp_path: Path, content: str | None, address: Path | None) -> None:
    if content is not None:
        address_path(tmp_path).write_text(content, errors="surrogateescape")
    assert read_address(tmp_path) == address
