"""`abey completion`: what a shell is told, so that it completes the words of `abey`."""

from abey.shared.kinds import EXIT_OK
from abey_cli.context import Context
from abey_cli.shells import script_of


def completion(context: Context) -> int:
    """Asks no daemon, and changes nothing."""
    script = script_of(context.options.shell)
    context.answer({"script": script}, lambda: context.console.out(script))
    return EXIT_OK
