"""The guide to VS Code names the commands, keys and settings that the extension contributes."""

import json
import re
from typing import Any

from support.pages import DOCS, ROOT, first_column, sections

SECTIONS = sections(DOCS / "vscode.md")


def contributed() -> Any:
    return json.loads((ROOT / "clients/vscode/package.json").read_text(encoding="utf-8"))["contributes"]


def test_every_command_of_the_palette_is_in_the_table() -> None:
    extension = contributed()
    hidden = {entry["command"] for entry in extension["menus"]["commandPalette"] if entry["when"] == "false"}
    shown = [command["title"] for command in extension["commands"] if command["command"] not in hidden]
    assert sorted(first_column(SECTIONS["Commands"])) == sorted(shown)


def test_every_key_is_in_the_table() -> None:
    keys = re.findall(r"Ctrl\+Alt\+\w", SECTIONS["Commands"])
    assert sorted(keys) == sorted(key["key"].title() for key in contributed()["keybindings"])


def test_every_setting_is_in_the_table() -> None:
    assert list(first_column(SECTIONS["Settings"])) == list(contributed()["configuration"]["properties"])


def test_every_picture_is_shown_and_small() -> None:
    shown = re.findall(r"!\[[^\]]+\]\(pictures/([\w-]+\.png)\)", (DOCS / "vscode.md").read_text(encoding="utf-8"))
    there = {path.name: path.stat().st_size for path in (DOCS / "pictures").iterdir()}
    assert sorted(shown) == sorted(there)
    assert {name: size for name, size in there.items() if size > 120 * 1024} == {}
