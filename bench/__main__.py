"""`python -m bench`: measures, and holds what it finds against the targets."""

import argparse
import json
import os
import platform
import sys
from collections.abc import Mapping
from datetime import UTC, datetime
from pathlib import Path

from bench.figures import Figures
from bench.running import MEASURES, measured
from bench.sizes import FULL, QUICK
from bench.spreads import Spread, spread
from bench.table import table
from bench.targets import TARGETS


def main() -> int:
    options = _options()
    names = options.only or MEASURES
    runs: list[Figures] = []
    print(_machine(options.quick), file=sys.stderr)
    for number in range(options.reps):
        run: Figures = {}
        for name in names:
            print(f"{number + 1} of {options.reps}: {name}", file=sys.stderr, flush=True)
            run |= measured(name, options.quick, options.scratch)
        runs.append(run)
    found = {name: spread([run[name] for run in runs]) for name in runs[0]}
    print("\n".join(_json_lines(found)) if options.json else table(found))
    return 0


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description=__doc__)
    parser.add_argument("--reps", type=int, default=3, help="how often all is measured (%(default)s)")
    parser.add_argument("--only", action="append", choices=MEASURES, help="measure this alone; may be repeated")
    parser.add_argument("--quick", action="store_true", help="small sizes, whose figures say little")
    parser.add_argument("--json", action="store_true", help="one JSON value a line: a figure, or a target")
    parser.add_argument(
        "--scratch", type=Path, help="a folder on the disk that counts; the system's for temporary files"
    )
    options = parser.parse_args()
    if options.reps < 1:
        parser.error("--reps is at least 1")
    if options.scratch is not None and not options.scratch.is_dir():
        parser.error(f"--scratch: there is no folder {options.scratch}")
    return options


def _machine(quick: bool) -> str:
    """Where and when, and how busy others were: figures of different machines or hours are no comparison."""
    load = ", ".join(f"{one:.1f}" for one in os.getloadavg())
    python = f"{platform.python_implementation()} {platform.python_version()}"
    when = datetime.now(UTC).isoformat(timespec="minutes")
    return f"{when}, {platform.system()}, {os.cpu_count()} cores, {python}, load {load}; {QUICK if quick else FULL}"


def _json_lines(found: Mapping[str, Spread]) -> list[str]:
    figures = [
        {"figure": name, "median": one.median, "least": one.least, "most": one.most} for name, one in found.items()
    ]
    held = [(target, found[target.figure]) for target in TARGETS if target.figure in found]
    targets = [
        {
            "target": target.figure,
            "what": target.what,
            "kind": target.kind,
            "bound": target.bound,
            "met": target.is_met(one),
        }
        for target, one in held
    ]
    return [json.dumps(line, ensure_ascii=False) for line in (*figures, *targets)]


if __name__ == "__main__":
    sys.exit(main())
