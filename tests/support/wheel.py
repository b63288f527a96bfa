"""The project as users have it: its wheel, in an environment of its own, or beside the wheels of all that it needs."""

import subprocess
import sys
import sysconfig
import venv
import zipfile
from collections.abc import Iterator
from importlib.metadata import Distribution, distribution, distributions
from pathlib import Path

from packaging.requirements import Requirement

ROOT = Path(__file__).parents[2]


def programs_of_a_wheel(folder: Path) -> Path:
    """The folder of `abey` and `abey-daemon` in a fresh environment below `folder`, made without a network.

    What the project depends on is taken from the environment of the tests; the project itself is not there, for a
    folder that is added in this way has no `.pth` files of its own read.
    """
    environment = folder / "environment"
    venv.create(environment, symlinks=True)
    _pip("--python", str(environment / "bin" / "python"), "install", "--no-deps", str(wheel(folder)))
    packages = environment / "lib" / f"python{sysconfig.get_python_version()}" / "site-packages"
    (packages / "borrowed.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    return environment / "bin"


def wheels(folder: Path) -> Path:
    """`folder`, with the wheels of the project and of all that it needs at run time: made from what is installed."""
    [project] = distributions(name="abey", path=[str(wheel(folder))])
    needed = {one.metadata["Name"].lower(): one for one in _needed(project)}
    for one in needed.values():
        _packed(one, folder)
    return folder


def wheel(folder: Path) -> Path:
    """The wheel of the project, built into `folder`."""
    _pip("wheel", "--no-deps", "--no-build-isolation", "--wheel-dir", str(folder), str(ROOT))
    [built] = folder.glob("abey-*.whl")
    return built


def _needed(by: Distribution) -> Iterator[Distribution]:
    for text in by.requires or []:
        wanted = Requirement(text)
        if wanted.marker is None or wanted.marker.evaluate({"extra": ""}):
            found = distribution(wanted.name)
            yield found
            yield from _needed(found)


def _packed(installed: Distribution, folder: Path) -> None:
    """A wheel again: what lies beside the packages, such as programs, is made anew when it is installed."""
    files = [one for one in installed.files or [] if ".." not in one.parts and one.suffix != ".pyc"]
    tags = [line.split()[1] for line in (installed.read_text("WHEEL") or "").splitlines() if line.startswith("Tag:")]
    name = installed.metadata["Name"].replace("-", "_").replace(".", "_")
    with zipfile.ZipFile(folder / f"{name}-{installed.version}-{tags[0]}.whl", "w") as packed:
        for one in files:
            if one.name == "RECORD":
                packed.writestr(str(one), "".join(f"{each},,\n" for each in files))
            elif one.name not in ("INSTALLER", "REQUESTED", "direct_url.json"):
                packed.write(str(one.locate()), str(one))


def _pip(*words: str) -> None:
    subprocess.run([sys.executable, "-m", "pip", "--quiet", *words], check=True, timeout=120)
