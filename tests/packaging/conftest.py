"""What is published, built once: offline, of the tree as it is, with what this environment has."""

import subprocess
import sys
import sysconfig
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


@dataclass(frozen=True, slots=True)
class Built:
    wheel: Path
    sdist: Path


def build(source: Path, into: Path) -> Built:
    """The wheel and the source distribution of a tree."""
    done = subprocess.run(
        [sys.executable, "-m", "hatchling", "build", "-d", str(into)],
        cwd=source,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    (wheel,), (sdist,) = into.glob("*.whl"), into.glob("*.tar.gz")
    return Built(wheel, sdist)


def installed(wheel: Path, into: Path) -> Path:
    """The folder of the programs of an environment that has this wheel alone, and the dependencies of ours."""
    subprocess.run([sys.executable, "-m", "venv", "--without-pip", str(into)], check=True)
    python = into / "bin" / "python"
    install = [sys.executable, "-m", "pip", "--python", str(python), "install", "--no-deps", "--no-index", "--quiet"]
    subprocess.run([*install, str(wheel)], check=True, env={"PIP_CONFIG_FILE": "/dev/null", "HOME": str(into)})
    # a name in a .pth file is a folder to import from; the .pth files in that folder, such as ours, are not read
    (site,) = (into / "lib").glob("python*/site-packages")
    (site / "dependencies.pth").write_text(f"{sysconfig.get_path('purelib')}\n{sysconfig.get_path('platlib')}\n")
    return into / "bin"


@pytest.fixture(scope="session")
def built(tmp_path_factory: pytest.TempPathFactory) -> Built:
    return build(ROOT, tmp_path_factory.mktemp("dist"))


@pytest.fixture(scope="session")
def programs(built: Built, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return installed(built.wheel, tmp_path_factory.mktemp("installed") / "venv")
