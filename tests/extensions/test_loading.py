"""What entry points come to: extensions, or why they cannot be used, each by itself."""

import subprocess
import sys
from collections.abc import Callable
from importlib.metadata import Distribution, EntryPoint
from pathlib import Path
from typing import Any

import pytest

from abey.core.agent import Tool as CoreTool
from abey.extensions import Capability, Extension, Json, SessionInfo, Signal, Tool, ToolRun
from abey.protocol.base import sha256_hex
from abey.runtime.extending.installed import Broken, Installed, installed
from abey.runtime.extending.loading import Extensions, load

NO_NAME = "is not of the form [A-Za-z0-9_-]{1,64}"
SCHEMA: dict[str, Any] = {"type": "object"}


async def run(run: ToolRun) -> Json:
    return None


async def create(session: SessionInfo, signal: Signal) -> None:
    return None


class One(Extension):
    capabilities = (Capability("state", create),)
    tools = (Tool("act", "acts", SCHEMA, run, destructive=False, idempotent=True, command="line", timeout_seconds=3.0),)


ONE = One()


def refused() -> Extension:
    raise ValueError("no licence\x1b[2J")


def leaves() -> Extension:
    raise SystemExit(3)


def declares(**members: Any) -> Callable[[], Extension]:
    def make() -> Extension:
        extension = Extension()
        for name, value in members.items():
            setattr(extension, name, value)
        return extension

    return make


def point(name: str, value: str) -> EntryPoint:
    return EntryPoint(name, f"{__name__}:{value}", "abey.extensions")


def test_an_entry_point_names_an_extension_its_class_or_what_makes_one() -> None:
    definition = {
        "kind": "extension",
        "extension": "one",
        "package": "it 1.0",
        "name": "act",
        "description": "acts",
        "parameters": SCHEMA,
    }
    tool = CoreTool(
        "act",
        "acts",
        SCHEMA,
        definition,
        sha256_hex(definition),
        idempotent=True,
        command="line",
        timeout_seconds=3.0,
        offered=False,
    )
    for given in (ONE, One, lambda: ONE):
        found = installed("one", "it 1.0", lambda given=given: given)  # type: ignore[misc] - mypy infers no default
        assert isinstance(found, Installed)
        assert isinstance(found.extension, One)
        assert found == Installed("one", "it 1.0", found.extension, {"act": tool})
        assert (found.tool("act"), found.tool("other")) == (One.tools[0], None)
        assert found.capabilities == (Capability("one/state", create),)


def test_another_version_is_another_tool() -> None:
    first, second = (installed("one", version, lambda: ONE) for version in ("it 1.0", "it 1.1"))
    assert isinstance(first, Installed)
    assert isinstance(second, Installed)
    assert first.tools["act"].hash != second.tools["act"].hash


@pytest.mark.parametrize(
    ("make", "why"),
    [
        (lambda: "text", "it is no abey.extensions.Extension, and makes none"),
        (lambda: str, "it is no abey.extensions.Extension, and makes none"),
        (lambda: refused, r"ValueError: no licence\x1b[2J"),
        (lambda: leaves, "SystemExit: 3"),
        (
            declares(tools=[Tool("a b", "", SCHEMA, run)]),
            f"the name of the tool 'a b' {NO_NAME}",
        ),
        (declares(tools=[Tool("a", "", SCHEMA, run)] * 2), "it declares the tool a twice"),
        (declares(tools=[Tool("a", "", {}, run)]), "the parameters of the tool a are no schema of an object"),
        (declares(tools=[Tool("a", "", SCHEMA, run, timeout_seconds=0)]), "the tool a has no time to run"),
        (declares(capabilities=[Capability("a", create)] * 2), "it declares the capability a twice"),
        (declares(tools=[None]), "AttributeError: 'NoneType' object has no attribute 'name'"),
    ],
)
def test_what_cannot_be_used_says_why(make: Callable[[], Any], why: str) -> None:
    assert installed("it", "it 1.0", make) == Broken("it", "it 1.0", why)


@pytest.mark.parametrize("fault", [KeyboardInterrupt, GeneratorExit])
def test_whatever_is_raised_ends_nothing_but_the_extension(fault: type[BaseException]) -> None:
    def make() -> Extension:
        raise fault("x")

    assert installed("one", "it 1.0", make) == Broken("one", "it 1.0", f"{fault.__name__}: x")


@pytest.mark.parametrize(
    ("metadata", "package"),
    [
        (b"Metadata-Version: 2.1\nName: it\nVersion: 1.0\n", "it 1.0"),
        (b"Name: it\xff\nVersion: 1.0\n", "a package without a name"),
        (b"Metadata-Version: 2.1\n", "a package without a name"),
        (None, "a package without a name"),
    ],
)
def test_a_package_that_says_nothing_of_itself_has_its_extension_all_the_same(
    tmp_path: Path, metadata: bytes | None, package: str
) -> None:
    folder = tmp_path / "it-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text(f"[abey.extensions]\none = {__name__}:ONE\n")
    if metadata is not None:
        (folder / "METADATA").write_bytes(metadata)
    points = list(Distribution.at(folder).entry_points)
    assert [(one.name, one.package) for one in load(points)] == [("one", package)]


def test_a_broken_schema_is_a_reason_too() -> None:
    make = declares(tools=[Tool("a", "", {"type": "object", "required": 1}, run)])
    found = installed("it", "it 1.0", make)
    assert isinstance(found, Broken)
    assert found.why.startswith("tool a: the tool's schema is broken at /required")


def test_a_name_is_a_name() -> None:
    why = f"the name of its entry point {NO_NAME}"
    assert installed("a b", "it 1.0", lambda: ONE) == Broken("a b", "it 1.0", why)


def test_they_come_in_the_order_of_their_names_and_one_that_fails_hides_no_other() -> None:
    found = load([point("b", "ONE"), point("c", "nothing_so_called"), point("a", "One")])
    assert [(one.name, type(one)) for one in found] == [("a", Installed), ("b", Installed), ("c", Broken)]
    assert found[2] == Broken(
        "c", "no package", f"AttributeError: module '{__name__}' has no attribute 'nothing_so_called'"
    )


def test_where_nothing_can_be_read_an_extension_may_be_one_that_guards(tmp_path: Path) -> None:
    folder = tmp_path / "torn-1.0.dist-info"
    folder.mkdir()
    (folder / "entry_points.txt").write_text("[abey.extensions]\none\n")
    script = "from abey.runtime.extending.loading import any_installed, load_installed as load; "
    script += f"import sys; sys.path.append({str(tmp_path)!r}); [one] = load(); print(any_installed(), one.why)"
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("True the installed packages cannot be read: ")


def test_of_two_with_one_name_none_is_used() -> None:
    why = "2 packages name an extension so: no package, no package"
    assert load([point("a", "ONE"), point("a", "One")]) == (Broken("a", "no package", why),)


async def test_they_are_loaded_once_and_when_somebody_asks() -> None:
    loads: list[int] = []
    extensions = Extensions(load=lambda: loads.append(1) or [Broken("a", "it 1.0", "why")])  # type: ignore[func-returns-value] - it counts
    assert (extensions.known, extensions.usable, loads) == (None, (), [])
    assert await extensions.all() == await extensions.all() == (Broken("a", "it 1.0", "why"),)
    assert (loads, extensions.named("a")) == ([1], None)
