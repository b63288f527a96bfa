"""The signals that end a daemon."""

import signal

SIGNALS = (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)


def heeded() -> list[signal.Signals]:
    """Those that whoever started us had not set aside, as nohup does."""
    return [number for number in SIGNALS if signal.getsignal(number) is not signal.SIG_IGN]


def put_off() -> None:
    """They wait until `heed_again`. An exception out of a handler may come anywhere: what is imported then may turn it
    into another one, and the interpreter may drop it."""
    signal.pthread_sigmask(signal.SIG_BLOCK, heeded())


def one_waits() -> bool:
    return not signal.sigpending().isdisjoint(heeded())


def heed_again() -> None:
    """What came meanwhile comes now. Before there are threads, or programs: those would go on to put them off."""
    signal.pthread_sigmask(signal.SIG_UNBLOCK, heeded())
