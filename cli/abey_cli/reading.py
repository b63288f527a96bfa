"""What a command reads for somebody: a file, or stdin."""

from abey_cli.context import Context
from abey_cli.failures import refused_input

INPUT_BYTES = 50 * 1000 * 1000
"""A larger file, or more from a command or stdin, is refused."""


def read_stdin(context: Context) -> str:
    """All of stdin, minus one final newline. Raises Failure `input`."""
    stdin = context.console.stdin
    if stdin is None:
        raise refused_input("stdin is closed")
    return text_of(stdin.buffer.read(INPUT_BYTES + 1), "stdin")


def read_text(context: Context, path: str) -> str:
    """The text of a file, minus one final newline. Raises Failure `input`."""
    return text_of(read_bytes(context, path), path)


def read_bytes(context: Context, path: str) -> bytes:
    """The bytes of a file. Raises Failure `input`, also where there are more than 50 MB."""
    try:
        with open(context.absolute(path), "rb") as file:
            data = file.read(INPUT_BYTES + 1)
    except (OSError, ValueError) as error:
        raise refused_input(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error
    if len(data) > INPUT_BYTES:
        raise _too_large(path)
    return data


def text_of(data: bytes, named: str) -> str:
    """The text of what people know as `named`, minus one final newline. Raises Failure `input`."""
    if len(data) > INPUT_BYTES:
        raise _too_large(named)
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise refused_input(f"{named} is no UTF-8 text") from error
    return text[:-1] if text.endswith("\n") else text


def _too_large(named: str) -> Exception:
    return refused_input(f"{named} is larger than {INPUT_BYTES // 1_000_000} MB")
