"""`abey session pending` against a daemon that runs, beside bare Python, and Python with a socket and json alone."""

import sys
from pathlib import Path
from statistics import median

from bench.figures import Figures
from bench.machine import Machine
from bench.measures.daemon import Driver
from bench.processes import Took, run
from bench.sizes import Size

_PLAIN = "import json, socket, sys; s = socket.socket(socket.AF_UNIX); s.connect(sys.argv[1]); json.dumps({})"


def measure(size: Size, folder: Path) -> Figures:
    machine = Machine(folder / "machine")
    program = [str(Path(sys.executable).with_name("abey")), "session", "pending"]
    with machine.serving() as (_, client):
        driver = Driver(machine, client)
        driver.start(driver.begin())
        socket = str(client.request("agents/status")["daemon"]["socket"])
        commands = {
            "pending": program,
            "pending.python": [sys.executable, "-c", "pass"],
            "pending.socket": [sys.executable, "-c", _PLAIN, socket],
        }
        env = {name: value for name, value in machine.env.items() if name != "PYTHONPATH"}
        took: dict[str, list[Took]] = {name: [] for name in commands}
        for _ in range(size.tries):
            for name, command in commands.items():
                took[name].append(run(command, env, machine.work))
    figures = {f"{name}.wall": median(one.wall for one in tries) * 1000 for name, tries in took.items()}
    return figures | {f"{name}.cpu": median(one.cpu for one in tries) * 1000 for name, tries in took.items()}
