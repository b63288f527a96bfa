"""What a daemon imports for those who ask it: its start and its memory are made of that."""

import os
import subprocess
import sys
from pathlib import Path

from support.fake_daemon import environment

ROOT = Path(__file__).parents[2]
MOST_MODULES = 685
"""Those of the standard library among them; 666 when this was written."""
OF_EDITORS = ("attr", "attrs", "cattrs", "lsprotocol", "pygls", "abey.rpc.structuring", "abey.daemon.editors.making")
LATE = (
    "abey.daemon.plain.documents",
    "abey.daemon.transfer",
    "abey.runtime.doctor",
    "abey.runtime.models.asking",
    "abey.runtime.tools.executables.runner",
    "abey.runtime.tools.http.runner",
    "difflib",
    "httpx",
    "jsonschema_rs",
    "mcp",
    "opentelemetry",
    "rich",
    "tree_sitter",
    "tree_sitter_bash",
)
"""Who needs one of them waits for it, or has it loaded beside what else goes on."""

SERVED = """
import os, socket, sys, threading
from abey.daemon import main
from abey.daemon.settings import read_settings
from bench import work
from bench.client import Client
settings = read_settings([], os.environ)

def ask():
    connection = socket.socket(socket.AF_UNIX)
    while connection.connect_ex(str(settings.socket)):
        pass
    client = Client.of_socket(connection)
    {asks}
    print(*sorted(sys.modules), flush=True)
    client.request("agents/shutdown", mode="now")

threading.Thread(target=ask).start()
main.main([])
"""
AGENTS = """client.greet()
    client.request("agents/sessions")
    client.request("agents/list")
    client.request("agents/start", config=work.config(), cwd=os.getcwd(), prompt=work.PROMPT, run="turn")"""
EDITOR = """client.request("initialize", processId=None, rootUri=None, capabilities={})
    client.request("textDocument/hover", textDocument={"uri": "file:///a"}, position={"line": 0, "character": 0})"""


def imported(place: Path, asks: str) -> set[str]:
    """The modules of a daemon that was asked that."""
    program = SERVED.replace("{asks}", asks)
    env = {**environment(place), "PYTHONPATH": os.pathsep.join((str(ROOT), *sys.path))}
    done = subprocess.run([sys.executable, "-c", program], env=env, capture_output=True, text=True, timeout=60)
    assert done.returncode == 0, done.stderr
    return set(done.stdout.split())


def test_clients_that_are_no_editors_are_served_without_what_editors_need(tmp_path: Path) -> None:
    loaded = imported(tmp_path, AGENTS)
    assert {name for name in (*OF_EDITORS, *LATE) if name in loaded} == set()
    assert len(loaded) <= MOST_MODULES


def test_the_first_editor_has_it_loaded(tmp_path: Path) -> None:
    assert imported(tmp_path, EDITOR).issuperset(OF_EDITORS)


def test_httpx_comes_without_its_command_line() -> None:
    program = "import sys; from abey.runtime.models.http import library; library(); print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    loaded = set(done.stdout.split())
    assert {"httpx", "click", "pygments", "rich"} & loaded == {"httpx"}
