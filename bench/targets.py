"""The targets, and the figures that are held against them: one value each, of which the median of the runs counts."""

from dataclasses import dataclass
from typing import Literal

from bench.spreads import Spread


@dataclass(frozen=True, slots=True)
class Target:
    """`figure` is a name of `Figures`; what is measured beside it, in the same run, is in `beside`."""

    what: str
    figure: str
    bound: float
    unit: str = ""
    kind: Literal["most", "least"] = "most"
    beside: tuple[str, ...] = ()

    def is_met(self, found: Spread) -> bool:
        return found.median <= self.bound if self.kind == "most" else found.median >= self.bound

    @property
    def words(self) -> str:
        return f"{'≤' if self.kind == 'most' else '≥'} {shown(self.bound)}{self.unit and ' '}{self.unit}"


def shown(value: float) -> str:
    """Three digits that count."""
    return f"{value:,.0f}" if abs(value) >= 100 or value == int(value) else f"{value:.3g}"


RATIOS = (
    Target("processor time of a step in process: last T / first T", "cpu.inside.growth", 1.2, "×"),
    Target("journal bytes of a step: last tenth of last T / first T", "bytes.step.growth", 1.1, "×"),
    Target("index and snapshots / journal", "bytes.beside", 2, "×"),
    Target(
        "ping over the socket / plain asyncio with json",
        "ping.ratio",
        1.5,
        "×",
        beside=("ping", "ping.floor", "ping.stdio.ratio"),
    ),
    Target("start of the daemon / importing pygls", "start.ratio", 1.3, "×", beside=("start.cpu", "start.pygls.cpu")),
    Target("time until the socket accepts / until `initialize` is answered", "start.accepted", 0.5, "×"),
    Target("start with many sessions / with none", "list.start", 1.2, "×"),
)

ABSOLUTE = (
    Target("syncs of a turn, run mode", "syncs.run", 5, beside=("syncs.strace",)),
    Target("syncs of a turn, step by step", "syncs.steps", 8),
    Target("the same, run mode: last tenth of last T, beyond first T", "syncs.run.growth", 0),
    Target("journal bytes of a step, last tenth of last T", "bytes.step", 2048, "B"),
    Target("journal after last T", "bytes.journal", 1_800_000, "B"),
    Target(
        "processor time of a step, core and journal in process", "cpu.inside", 1, "ms", beside=("cpu.inside.sessions",)
    ),
    Target("processor time of a step through the daemon", "cpu.daemon", 2.5, "ms", beside=("cpu.daemon.sessions",)),
    Target(
        "step over the socket, beyond its syncs", "step.socket.beyond", 1.5, "ms", beside=("step.socket", "fdatasync")
    ),
    Target("step over stdio, beyond its syncs", "step.stdio.beyond", 1.5, "ms", beside=("step.stdio",)),
    Target(
        "requests answered in a second, pipelined",
        "ping.rate",
        6000,
        kind="least",
        beside=("ping.rate.floor", "ping.cpu", "ping.cpu.floor"),
    ),
    Target(
        "`abey session pending`, wall",
        "pending.wall",
        100,
        "ms",
        beside=("pending.socket.wall", "pending.python.wall"),
    ),
    Target(
        "`abey session pending`, processor time",
        "pending.cpu",
        60,
        "ms",
        beside=("pending.socket.cpu", "pending.python.cpu"),
    ),
    Target("start of the daemon to `initialize` answered", "start", 0.8, "s", beside=("start.pygls",)),
    Target("memory with the sessions, before the first HTTP model call", "memory", 64, "MiB", beside=("memory.pss",)),
    Target("memory after it", "memory.http", 76, "MiB", beside=("memory.http.pss",)),
    Target("memory of the process helper", "memory.helper", 12, "MiB", beside=("memory.helper.pss",)),
    Target("sessions in memory that nobody has used for a while", "memory.idle", 0, beside=("memory.rested",)),
    Target("opening the session of last T", "open.long", 0.1, "s"),
    Target("opening the large session", "open.large", 2, "s"),
    Target("list of the sessions", "list", 300, "ms", beside=("list.first",)),
    Target("`agents/status` while many stream: 99 of 100", "streams.p99", 20, "ms", beside=("streams.median",)),
    Target("durable events that a client did not hear then", "streams.lost", 0, beside=("streams.pieces",)),
    Target("a call of `/bin/true`, beyond a bare spawn", "spawn.extra", 8, "ms", beside=("spawn", "spawn.bare")),
    Target("one of many waiting calls is answered: its step starts", "waiting", 10, "ms", beside=("waiting.most",)),
)

TARGETS = (*RATIOS, *ABSOLUTE)
