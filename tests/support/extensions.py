"""Extensions in a folder of their own, where the daemon of a Place finds them as it finds what is installed."""

import subprocess
import sys
import zipfile
from pathlib import Path

from support.e2e import Place

ROOT = Path(__file__).parents[2]
EXAMPLE = ROOT / "docs" / "examples" / "persistent-shell"
GUARD = ROOT / "tests" / "data" / "extensions" / "guard.py"

_BUILD = "import sys; from hatchling.build import build_wheel; print(build_wheel(sys.argv[1]))"


def site(place: Place) -> Path:
    """The folder, which every daemon of this place that is started from now on looks into."""
    folder = place.root / "site"
    folder.mkdir(exist_ok=True)
    place.env["PYTHONPATH"] = str(folder)
    return folder


def install_package(place: Place, package: Path) -> None:
    """As a wheel of it is installed."""
    wheels = place.root / "wheels"
    wheels.mkdir(exist_ok=True)
    done = subprocess.run(
        [sys.executable, "-c", _BUILD, str(wheels)], cwd=package, capture_output=True, text=True, check=True
    )
    with zipfile.ZipFile(wheels / done.stdout.split()[-1]) as wheel:
        wheel.extractall(site(place))


def install_module(place: Place, source: str, *entries: str, package: str = "guard", version: str = "1.0") -> None:
    """A package of one module, with these entry points (`name = module:object`)."""
    folder = site(place)
    (folder / f"{package}.py").write_text(source)
    described = folder / f"{package}-{version}.dist-info"
    described.mkdir()
    (described / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {package}\nVersion: {version}\n")
    (described / "entry_points.txt").write_text("\n".join(["[abey.extensions]", *entries, ""]))
