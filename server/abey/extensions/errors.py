"""What a hook or a tool is told that did what it may not: nothing of it was done."""


class ExtensionError(Exception):
    """A fault of an extension. Where it leaves a hook, it is a tripwire of scope `step`."""


class LateMutation(ExtensionError):
    """The request has gone out already, or the hook is over."""


class NotAnswered(ExtensionError):
    """The model has not answered yet."""


class UnknownTool(ExtensionError):
    """The extension has no tool of that name."""


class UnknownCall(ExtensionError):
    """The answer holds no such call, or no longer."""


class InvalidReplacement(ExtensionError):
    """An answer may lose calls; it never gets others, and something is left of it."""


class InvalidQuestion(ExtensionError):
    """Nobody could answer it."""


class ToolError(Exception):
    """A tool raises it where it has failed: the model and people read the message."""


class Tripped(Exception):
    """What `ModelCall.trip` raises: it goes through all hooks around, and none can take it back."""
