"""What every test stands on: nothing of this machine's own abey, and examples that can be tried again."""

import os
import signal
from collections.abc import Generator, Iterator

import pytest
from hypothesis import settings
from support.figures import Figures
from support.turns import Turns

# two cores may be shared: a slow example is no failure, and CI always tries the same ones
settings.register_profile("here", deadline=None)
settings.register_profile("ci", deadline=None, derandomize=True, print_blob=True)
settings.load_profile("ci" if os.environ.get("CI") else "here")


FIGURES = pytest.StashKey[Figures]()


@pytest.fixture(scope="session", autouse=True)
def _nothing_of_this_machine(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """A program started by a test that says no more finds empty folders, not the state of whoever runs the tests."""
    nowhere = tmp_path_factory.mktemp("nowhere")
    with pytest.MonkeyPatch.context() as environment:
        for folder in ("state", "config", "runtime"):
            environment.setenv(f"ABEY_{folder.upper()}_DIR", str(nowhere / folder))
        for name in ("ABEY_AGENT", "ABEY_DAEMON", "ABEY_LOG", "ABEY_LOG_FORMAT", "ABEY_TRANSPORT"):
            environment.delenv(name, raising=False)
        yield


@pytest.fixture(scope="session", autouse=True)
def _signals_are_heeded() -> None:
    """Who runs in the background of a script, or under nohup, has these set aside, and so would every program that a
    test starts."""
    for number, heeded in ((signal.SIGINT, signal.default_int_handler), (signal.SIGHUP, signal.SIG_DFL)):
        if signal.getsignal(number) is signal.SIG_IGN:
            signal.signal(number, heeded)


WORKERS = 4
"""More than cores: the suite waits for other programs more than it computes."""


@pytest.hookimpl(tryfirst=True)
def pytest_cmdline_main(config: pytest.Config) -> None:
    """The whole suite is shared out among workers, a file to each; what is named, and figures, run as they are asked
    for."""
    is_worker = hasattr(config, "workerinput")  # which has workers of its own to the end of all memory
    is_whole = config.args_source is not pytest.Config.ArgsSource.ARGS and not is_worker
    option = config.option
    if is_whole and getattr(option, "numprocesses", 0) is None and "figures" not in option.markexpr:
        option.numprocesses, option.dist = WORKERS, "loadfile"


ALONE = ("editors", "figures", "vscode")
"""The marks of what runs while nothing else does."""


@pytest.fixture(scope="session")
def _turns(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Turns | None]:
    if not hasattr(request.config, "workerinput"):
        yield None
        return
    with Turns(tmp_path_factory.getbasetemp().parent) as turns:
        yield turns


@pytest.fixture(autouse=True)
def _beside_others(request: pytest.FixtureRequest, _turns: Turns | None) -> Iterator[None]:
    """Tests of several workers run beside each other, but while something is measured, or an editor is waited for that
    has times of its own, nothing else does."""
    if _turns is None:
        yield
        return
    with _turns.taken(alone=any(request.node.get_closest_marker(name) for name in ALONE)):
        yield


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--large", action="store_true", help="measure the figures in the sizes that take long")
    parser.addoption("--sim-seed", type=int, help="of the only story that tests/simulation is to run")
    parser.addoption("--seed", type=int, help="of every random choice of the figures; else another one a run")


def pytest_configure(config: pytest.Config) -> None:
    given = config.getoption("seed")
    fresh = 1 if os.environ.get("CI") else int.from_bytes(os.urandom(4), "big")
    config.stash[FIGURES] = Figures(fresh if given is None else given, config.getoption("large"))


def pytest_report_header(config: pytest.Config) -> str:
    return f"figures: --seed {config.stash[FIGURES].seed}"


def pytest_terminal_summary(terminalreporter: pytest.TerminalReporter) -> None:
    """The table, where figures were asked for."""
    config = terminalreporter.config
    rows = config.stash[FIGURES].rows
    if rows and "figures" in config.getoption("markexpr"):
        terminalreporter.section("figures")
        terminalreporter.write_line("what | figure | size | seconds")
        for row in rows:
            terminalreporter.write_line(str(row))


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """A failed figure says which seed repeats it."""
    report = yield
    if report.failed and item.get_closest_marker("figures"):
        report.sections.append(("repeat it with", f"--seed {item.config.stash[FIGURES].seed}"))
    return report


@pytest.fixture
def figures(request: pytest.FixtureRequest) -> Figures:
    """Where a measurement is noted; its clock starts here."""
    found = request.config.stash[FIGURES]
    found.begin()
    return found
