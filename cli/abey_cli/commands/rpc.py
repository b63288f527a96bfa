"""`abey rpc`: one request for a script, or a stream of them as JSON lines."""

import json
from typing import Any

from abey.shared.kinds import EXIT_ERROR, EXIT_OK
from abey_cli.context import Context
from abey_cli.failures import usage
from abey_cli.lines import Relay
from abey_cli.reading import read_stdin


def rpc(context: Context) -> int:
    options = context.options
    if options.method != "-":
        for name in ("fail", "events"):
            if getattr(options, name):
                raise usage(f"--{name} is for `abey rpc -`")
        context.console.value(context.client.request(options.method, _params(context)))
        return EXIT_OK
    if options.params is not None:
        raise usage("`abey rpc -` takes its requests from stdin, a JSON object a line")
    failed = Relay(context, events=options.events).run()
    return EXIT_ERROR if failed and options.fail else EXIT_OK


def _params(context: Context) -> Any:
    given = context.options.params
    if given is None:
        return {}
    try:
        params = json.loads(read_stdin(context) if given == "-" else given)
        json.dumps(params, allow_nan=False)
    except (ValueError, RecursionError) as error:
        raise usage(f"the params are no JSON value: {error}") from error
    return params
