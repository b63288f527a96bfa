"""What a pattern of a policy stands for."""


def fits(glob: str, text: str) -> bool:
    """Whether the text is what the glob says: each `*` stands for any characters, or none.

    In linear time: a model chooses the text.
    """
    if "*" not in glob:
        return glob == text
    first, *middle, last = glob.split("*")
    if len(text) < len(first) + len(last) or not (text.startswith(first) and text.endswith(last)):
        return False
    at, end = len(first), len(text) - len(last)
    for part in middle:
        found = text.find(part, at, end)
        if found < 0:
            return False
        at = found + len(part)
    return True
