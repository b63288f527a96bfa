"""What is said below an output: what became of it, and how it ended."""

from abey.protocol.journal import BlobRef
from abey.runtime.tools.whole import WholeOutput


async def kept_or_why(output: WholeOutput) -> tuple[BlobRef | None, str | None]:
    """The blob of the whole output, if there is one; and what is said where there should be one and is not."""
    try:
        return await output.kept(), None
    except OSError as error:
        return None, not_kept(error)


def not_kept(error: OSError) -> str:
    return f"[the whole output could not be kept: {error.strerror}]"


def out_of_time(seconds: float) -> str:
    return f"[timed out after {seconds:g} second{'' if seconds == 1 else 's'}]"


def with_lines(text: str, *lines: str | None) -> str:
    """`text`, and below it those lines that there are."""
    for line in lines:
        if line is not None:
            text = f"{text}{'' if not text or text.endswith(chr(10)) else chr(10)}{line}"
    return text


def foreign_line(output: WholeOutput) -> str | None:
    """Says of an output that it is no text, or not all of it; None where it is."""
    if not output.foreign:
        return None
    return "[1 byte is no UTF-8]" if output.foreign == 1 else f"[{output.foreign} bytes are no UTF-8]"
