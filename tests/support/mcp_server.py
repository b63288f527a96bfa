"""A server as the SDK makes it, for the tests: over stdio, or `http PORT`."""

import sys
from pathlib import Path
from typing import Annotated

from mcp.server.elicitation import ElicitationResult
from mcp.server.mcpserver import Context, Elicit, Image, MCPServer, Resolve
from mcp.types import ToolAnnotations
from pydantic import BaseModel

server = MCPServer("sample", log_level="ERROR")
READS = ToolAnnotations(read_only_hint=True)
PIXEL = (
    b"\x89PNG\r\n\x1a\n\x00\x00\x00\rIHDR\x00\x00\x00\x01\x00\x00\x00\x01\x08\x06\x00\x00\x00\x1f\x15\xc4\x89"
    b"\x00\x00\x00\nIDATx\x9cc\x00\x01\x00\x00\x05\x00\x01\r\n-\xb4\x00\x00\x00\x00IEND\xaeB`\x82"
)
kept: list[str] = []


class Form(BaseModel):
    name: str
    sure: bool = False


@server.tool(annotations=READS)
def echo(message: str) -> str:
    """Says what it is told."""
    return f"Echo: {message}"


@server.tool()
def keep(note: str) -> list[str]:
    """Keeps a note while the server runs."""
    kept.append(note)
    return kept


@server.tool()
def write(path: str) -> str:
    """Writes a file."""
    Path(path).write_text("written")
    return "done"


@server.tool(annotations=READS)
def picture() -> Image:
    """A picture of one pixel."""
    return Image(data=PIXEL, format="png")


@server.tool(annotations=READS)
def fail() -> str:
    """Fails."""
    raise ValueError


@server.tool(annotations=READS)
async def count(steps: int, context: Context) -> str:
    """Counts, and says how far it is."""
    for step in range(1, steps + 1):
        await context.report_progress(step, steps, f"step {step:g}")
    return "counted"


async def who(prompt: str) -> Elicit[Form]:
    return Elicit(prompt, Form)


@server.tool(annotations=READS)
async def ask(prompt: str, answer: Annotated[ElicitationResult[Form], Resolve(who)]) -> str:
    """Asks a person who they are."""
    return f"{answer.action} {answer.data.name if answer.action == 'accept' else '-'}"


@server.tool(annotations=READS)
async def grow(context: Context) -> str:
    """Gets another tool."""
    server.add_tool(lambda: "new", name="fresh", description="It was not there before")
    await context.notify_tools_changed()
    return "grown"


if __name__ == "__main__":
    if sys.argv[1:2] == ["http"]:
        server.run("streamable-http", port=int(sys.argv[2]))
    else:
        server.run("stdio")
