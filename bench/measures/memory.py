"""What a daemon takes of the memory: with many sessions, after its first HTTP model call, once nobody has used any of
them for a while, and for its helper."""

import time
from pathlib import Path

from bench import work
from bench.client import Client
from bench.figures import Figures
from bench.floors.model import answering
from bench.machine import Machine
from bench.measures.daemon import Driver
from bench.processes import children, proportional_mib, resident_mib
from bench.sizes import Size

_HELPER = b"helper_process"
_LOOKS = 20


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine", module="abey.daemon", OPENAI_API_KEY="none")
    with machine.serving() as (process, client), answering() as url:
        driver = Driver(machine, client)
        sessions = [driver.begin() for _ in range(size.sessions)]
        for _ in range(2):
            for session_id in sessions:
                driver.turn(session_id)
        figures = {"memory": resident_mib(process.pid), "memory.pss": proportional_mib(process.pid)}
        [helper] = [pid for pid in children(process.pid) if _HELPER in Path(f"/proc/{pid}/cmdline").read_bytes()]
        figures |= {"memory.helper": resident_mib(helper), "memory.helper.pss": proportional_mib(helper)}
        _ask_over_http(client, machine, url)
        figures |= {"memory.http": resident_mib(process.pid), "memory.http.pss": proportional_mib(process.pid)}
        figures["memory.idle"] = _left(client, size.idle)
        figures["memory.rested"] = resident_mib(process.pid)
        driver.turn(sessions[0])
    return figures


def _left(client: Client, seconds: float) -> float:
    """Sessions that are still in memory when nobody has asked for one for so long."""
    loaded = 0
    for _ in range(_LOOKS):
        time.sleep(seconds / _LOOKS)
        loaded = client.request("agents/status")["sessions"]["loaded"]
    return loaded


def _ask_over_http(client: Client, machine: Machine, url: str) -> None:
    model = {"provider": "openai", "name": "small", "baseUrl": url}
    config = work.config() | {"slug": "asker", "model": model}
    done = client.request("agents/start", config=config, cwd=str(machine.work), prompt=work.PROMPT, run="turn")
    assert done["output"] == "It is done.", done
