"""JSON pointers (RFC 6901)."""


def steps_of(pointer: str) -> list[str]:
    """What leads from a value to the one meant, none for the whole; a number may be an index or a name, and stays a
    string."""
    return [step.replace("~1", "/").replace("~0", "~") for step in pointer.split("/")[1:]]
