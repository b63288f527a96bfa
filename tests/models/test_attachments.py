"""Files and media of inputs: read before anything is sent, or named where they cannot be."""

import base64
import os
from pathlib import Path

import pytest

from abey.core.conversation import Message, ModelRequest, UserMessage
from abey.errors import ModelFailed
from abey.protocol.transcript import FilePart, MediaPart, Part, TextPart
from abey.runtime.models.attachments import inlined

PNG = b"\x89PNG\r\n\x1a\n\0\0"


def sent(*parts: Part) -> tuple[Part, ...]:
    (message,) = inlined(ModelRequest("", (UserMessage(parts),), (), 0)).messages
    assert isinstance(message, UserMessage)
    return message.parts


def refused(*parts: Part) -> str:
    with pytest.raises(ModelFailed) as caught:
        sent(*parts)
    assert caught.value.model_code == "invalid-request"
    return caught.value.message


def media(data: bytes, mime: str = "image/png") -> MediaPart:
    return MediaPart(mime_type=mime, base64_data=base64.b64encode(data).decode())


def test_a_file_is_sent_as_its_text(tmp_path: Path) -> None:
    file = tmp_path / "notes.txt"
    file.write_bytes("grün\xff".encode("latin-1"))
    assert sent(TextPart(text="see"), FilePart(path=str(file))) == (
        TextPart(text="see"),
        TextPart(text=f"{file}:\ngr\ufffdn\ufffd"),
    )


def test_an_image_and_a_document_are_sent_as_such(tmp_path: Path) -> None:
    image, document = tmp_path / "a.png", tmp_path / "b.pdf"
    image.write_bytes(PNG)
    document.write_bytes(b"%PDF")
    assert sent(
        FilePart(path=str(image)),
        FilePart(path=str(document)),
        MediaPart(mime_type="image/webp", path=str(image)),
        media(PNG),
    ) == (media(PNG), media(b"%PDF", "application/pdf"), media(PNG, "image/webp"), media(PNG))


def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    binary, pipe, big = tmp_path / "b.bin", tmp_path / "pipe", tmp_path / "big.txt"
    binary.write_bytes(b"a\0b")
    os.mkfifo(pipe)
    with big.open("wb") as file:
        file.truncate(3 * 1024 * 1024)
    assert [
        refused(FilePart(path=str(tmp_path / "gone\n.txt"))),
        refused(FilePart(path=str(tmp_path))),
        refused(FilePart(path=str(pipe))),
        refused(FilePart(path=str(binary))),
        refused(FilePart(path=str(big))),
        refused(FilePart(path="here.txt")),
        refused(FilePart(path="/a\0b")),
        refused(MediaPart(mime_type="image/png", path=str(tmp_path / "gone.png"))),
        refused(MediaPart(mime_type="image/png")),
        refused(MediaPart(mime_type="image/png", base64_data="%%%")),
        refused(MediaPart(mime_type="image/png", base64_data="")),
    ] == [
        f"{tmp_path}/gone\\n.txt cannot be read: No such file or directory",
        f"{tmp_path} is no regular file",
        f"{tmp_path}/pipe is no regular file",
        f"{tmp_path}/b.bin is no text; name its type in a media part",
        f"{tmp_path}/big.txt is larger than 2097152 bytes",
        "the path of an attachment is absolute, not here.txt",
        "/a\\x00b cannot be read: embedded null byte",
        f"{tmp_path}/gone.png cannot be read: No such file or directory",
        "a part of type image/png has neither base64Data nor path",
        "the base64Data of a part of type image/png is no base64",
        "a part of type image/png is empty",
    ]


def test_a_file_of_an_earlier_input_may_be_gone(tmp_path: Path) -> None:
    gone = f"{tmp_path}/gone.txt"
    messages: tuple[Message, ...] = (UserMessage((FilePart(path=gone),)), UserMessage((TextPart(text="now"),)))
    first, _ = inlined(ModelRequest("", messages, (), 0)).messages
    assert first == UserMessage((TextPart(text=f"[{gone} cannot be read: No such file or directory]"),))
