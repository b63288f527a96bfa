"""One measurement, once, in this process: `python -m bench.once NAME FOLDER [--quick]` prints its figures as JSON."""

import argparse
import importlib
import json
from pathlib import Path

from bench.figures import Figures, Measure
from bench.sizes import FULL, QUICK


def measured(name: str, folder: Path, quick: bool) -> Figures:
    measure: Measure = importlib.import_module(f"bench.measures.{name}").measure
    return measure(QUICK if quick else FULL, folder)


def main() -> None:
    parser = argparse.ArgumentParser(prog="python -m bench.once")
    parser.add_argument("name")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    print(json.dumps(measured(options.name, options.folder, options.quick)))


if __name__ == "__main__":
    main()
