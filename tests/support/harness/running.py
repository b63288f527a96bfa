"""The harnesses of the store by name, in a small size and from one seed: `python -m support.harness.running NAME SEED`.

Ends with 0 where every promise held, with 1 and the first broken one on stderr where one did not.
"""

import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from random import Random

from support.harness.bytes_of_a_journal import flip_beside, flip_everywhere, real_journal, truncate_everywhere
from support.harness.faults_everywhere import FEW, fault_everywhere
from support.harness.killing import kill_writers
from support.harness.losses import lose_power

Harness = Callable[[Path, str], object]


def truncations(folder: Path, seed: str) -> int:
    return truncate_everywhere(real_journal(folder / "state", Random(seed), 3000), 200)


def flips(folder: Path, seed: str) -> int:
    return flip_everywhere(real_journal(folder / "state", Random(seed), 3000), Random(seed), 20)


def beside(folder: Path, seed: str) -> int:
    return flip_beside(real_journal(folder / "state", Random(seed), 3000), Random(seed), 20)


HARNESSES: dict[str, Harness] = {
    "truncations": truncations,
    "flips": flips,
    "beside": beside,
    "faults": lambda folder, seed: fault_everywhere(folder, seed, FEW),
    "power": lambda folder, seed: lose_power(folder, Random(seed), 600),
    "kills": lambda folder, seed: kill_writers(folder, Random(seed), 40),
}


def memory() -> str | None:
    """Where files are made that need no disk."""
    return "/dev/shm" if Path("/dev/shm").is_dir() else None


if __name__ == "__main__":
    name, seed = sys.argv[1:]
    with tempfile.TemporaryDirectory(dir=memory()) as made:
        print(HARNESSES[name](Path(made), seed))
