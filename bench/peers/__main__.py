"""`python -m bench.peers`: the same work on other libraries and on abey, in one table.

The folder of `--shared` has the driver and a script for each of the others, that of `--venvs` their environments: `lg`,
`pai`, `oai` and `dbos`.
"""

import argparse
import json
import sys
from collections import defaultdict
from pathlib import Path
from statistics import median

from bench.peers.cells import ENTRIES, Bench, Row
from bench.table import markdown
from bench.targets import shown

_HEAD = ("peer", "turns", "cpu", "step", "first tenth", "last tenth", "written", "last tenth", "resume", "memory")

_FULL = [(10, 1), (100, 1), (400, 1), (2, 100)]
_QUICK = [(2, 1), (4, 1), (2, 2)]
"""Turns, and sessions that have as many."""

Key = tuple[str, str, int, int]


def main() -> int:
    options = _options()
    bench = Bench(options.shared.absolute(), options.venvs.absolute(), options.scratch)
    runs: dict[Key, list[Row]] = defaultdict(list)
    for entry in [one for one in ENTRIES if not options.only or one.script.removesuffix("_peer.py") in options.only]:
        for turns, sessions in options.cells or (_QUICK if options.quick else _FULL):
            for _ in range(options.reps if turns <= entry.most else 0):
                run, *resumed = bench.cell(entry, turns, sessions)
                row = run | {f"resume_{name}": value for one in resumed for name, value in one.items()}
                runs[run["peer"], run["variant"], turns, sessions].append(row)
                print(json.dumps(row), file=sys.stdout if options.json else sys.stderr, flush=True)
    if not options.json:
        ordered = sorted(runs.items(), key=lambda one: one[0][3:1:-1])
        print(markdown(_HEAD, [_line(key, rows) for key, rows in ordered]))
        print("\ncpu, step and its tenths, and resume: ms; written: bytes a step; memory: MB at most")
    return 0


def _cell(text: str) -> tuple[int, int]:
    """Turns, or sessions, an x, and the turns of each."""
    sessions, _, turns = text.rpartition("x")
    return int(turns), int(sessions or 1)


def _line(key: Key, rows: list[Row]) -> list[str]:
    """Medians. What the driver cannot see, as it is in another process, is added to what it sees."""

    def of(*names: str) -> str:
        values = [sum(row.get(name, 0) for name in names) for row in rows]
        return shown(median(values))

    peer, variant, turns, sessions = key
    resumed = [row["resume_total_s"] * 1000 for row in rows if "resume_total_s" in row]
    return [
        f"{peer} {variant}",
        f"{turns}" if sessions == 1 else f"{sessions} × {turns}",
        of("cpu_ms_per_step", "daemon_cpu_ms_per_step"),
        of("median_ms"),
        of("first_tenth_median_ms"),
        of("last_tenth_median_ms"),
        of("written_bytes_per_step", "daemon_written_bytes_per_step"),
        of("written_last_tenth", "daemon_written_last_tenth"),
        shown(median(resumed)) if resumed else "",
        of("peak_rss_mb", "daemon_peak_rss_mb"),
    ]


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench.peers", description=__doc__)
    parser.add_argument("--shared", type=Path, required=True, help="the folder of the driver")
    parser.add_argument("--venvs", type=Path, required=True, help="the folder of the environments")
    parser.add_argument("--scratch", type=Path, help="a folder on the disk that counts")
    parser.add_argument("--reps", type=int, default=3, help="how often each cell is run (%(default)s)")
    parser.add_argument("--only", action="append", help="floor, abey, langgraph, …; may be repeated")
    parser.add_argument("--quick", action="store_true", help="short sessions, whose figures say little")
    parser.add_argument(
        "--cell",
        dest="cells",
        action="append",
        type=_cell,
        metavar="[SESSIONSx]TURNS",
        help="this alone, such as 400 or 100x2; may be repeated",
    )
    parser.add_argument("--json", action="store_true", help="every run as a JSON line, and no table")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
