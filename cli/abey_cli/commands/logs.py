"""`abey daemon logs`: what the shared daemon wrote, whether or not it runs."""

import json
from functools import partial

from abey.shared.escaping import escape_line
from abey.shared.kinds import EXIT_OK
from abey.shared.places import log_path, state_dir
from abey_cli.context import Context
from abey_cli.failures import refused_input
from abey_cli.log_file import entry, lines, shown

LOOK_SECONDS = 0.2


def logs(context: Context) -> int:
    """Asks no daemon: it may be the one that does not start."""
    path = log_path(state_dir(context.env))
    wait = partial(context.console.is_read_after, LOOK_SECONDS) if context.options.follow else None
    if not path.exists():
        context.console.note(f"nothing was written to {path} yet")
    try:
        if context.console.json and wait is None:
            context.console.value({"items": [entry(line) for line in lines(path)]})
            return EXIT_OK
        for line in lines(path, wait):
            for told in [json.dumps(entry(line))] if context.console.json else map(escape_line, shown(line)):
                context.console.out(told)
    except OSError as error:
        raise refused_input(f"{path} cannot be read: {error.strerror}") from error
    return EXIT_OK
