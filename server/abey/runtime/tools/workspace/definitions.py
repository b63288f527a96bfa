"""What a model is told of the workspace tools."""

from typing import Any

READS = frozenset({"read_file", "list_files", "search"})
"""They change nothing, so a call that a crash cut off is simply made again."""


def _object(required: tuple[str, ...], **properties: dict[str, Any]) -> dict[str, Any]:
    return {
        "type": "object",
        "properties": properties,
        **({"required": list(required)} if required else {}),
        "additionalProperties": False,
    }


def _text(description: str) -> dict[str, Any]:
    return {"type": "string", "description": description}


def _flag(description: str) -> dict[str, Any]:
    return {"type": "boolean", "description": description}


def _line(description: str) -> dict[str, Any]:
    return {"type": "integer", "minimum": 1, "description": description}


_PATH = {"type": "string", "minLength": 1, "description": "The file, relative to the working folder."}
_FOLDER = _text("The folder to look in, relative to the working folder; the working folder itself without it.")
_HIDDEN = _flag("Also look at hidden files and folders, and into node_modules and __pycache__. Default false.")

DESCRIPTIONS = {
    "read_file": (
        "Read a text file of the working folder, or look at a picture (PNG, JPEG, GIF, WebP). The first line of the "
        "result says which lines these are and of how many; the text follows exactly as it is in the file. A long "
        "file is cut: read on with start_line. Read a file before you change it."
    ),
    "list_files": (
        "List what is in a folder of the working folder, sorted by name; a folder ends with /, a link shows where it "
        "leads. With pattern, list all files and folders below it whose path fits, such as **/*.py."
    ),
    "search": (
        "Find the lines that fit a regular expression (RE2 syntax: no look-around, no back references) in the text "
        "files of the working folder. Gives path:line: text for each."
    ),
    "write_file": (
        "Write a whole file: make a new one, with the folders it is in, or replace all of an old one. To change a "
        "part of a file use edit_file."
    ),
    "edit_file": (
        "Replace a piece of a file. old_text has to be in the file exactly once, white space and all: give enough of "
        "its surroundings, as read_file shows them, or all: true to replace every occurrence."
    ),
}

PARAMETERS: dict[str, dict[str, Any]] = {
    "read_file": _object(
        ("path",),
        path=_PATH,
        start_line=_line("The first line to read, counted from 1. Default 1."),
        end_line=_line("The last line to read. Default: as many as there is room for."),
    ),
    "list_files": _object(
        (),
        path=_FOLDER,
        pattern=_text("A glob for paths below the folder: * and ? within a name, ** for any number of folders."),
        hidden=_HIDDEN,
    ),
    "search": _object(
        ("pattern",),
        pattern={"type": "string", "minLength": 1, "description": "What to find."},
        path=_FOLDER,
        files=_text("Only in files whose path below the folder fits this glob, such as **/*.py."),
        literal=_flag("pattern is a plain text, no regular expression. Default false."),
        ignore_case=_flag("Upper and lower case are the same. Default false."),
        hidden=_HIDDEN,
    ),
    "write_file": _object(("path", "content"), path=_PATH, content=_text("All that the file is to hold.")),
    "edit_file": _object(
        ("path", "old_text", "new_text"),
        path=_PATH,
        old_text={"type": "string", "minLength": 1, "description": "The text to replace, exactly as it is."},
        new_text=_text("What is to stand there instead."),
        all=_flag("Replace every occurrence. Default false."),
    ),
}
