"""How much is measured: the sizes that the targets speak of, and small ones that take seconds."""

from dataclasses import dataclass

from abey.daemon.settings import REST_AFTER_SECONDS


@dataclass(frozen=True, slots=True)
class Size:
    """`turns` of one session, shortest first; `sessions` that are begun beside each other, two turns each; `tries` of
    what is done again and again; `pings` one after the other and all at once; `listed` and `waiting` are sessions;
    `large` are the bytes of a large journal; `streams` sessions stream to a quarter as many clients for `seconds`;
    nobody uses any session for `idle` seconds."""

    turns: tuple[int, int, int]
    sessions: int
    tries: int
    pings: int
    listed: int
    waiting: int
    large: int
    streams: int
    seconds: float
    idle: float


FULL = Size(
    turns=(10, 100, 400),
    sessions=100,
    tries=21,
    pings=2000,
    listed=10_000,
    waiting=1000,
    large=100_000_000,
    streams=200,
    seconds=10.0,
    idle=REST_AFTER_SECONDS + 5.0,
)
QUICK = Size(
    turns=(2, 4, 8),
    sessions=4,
    tries=3,
    pings=50,
    listed=20,
    waiting=10,
    large=500_000,
    streams=4,
    seconds=1.0,
    idle=1.0,
)
