"""What an error holds besides what it says."""


def let_go(error: BaseException) -> None:
    """Whoever had to know how the error and those behind it came about does by now. Their frames would hold all that
    was worked with there, and, being held by it, one of them often the error: until the collector comes by."""
    met, left = set[int](), [error]
    while left:
        one = left.pop()
        if id(one) not in met:
            met.add(id(one))
            one.__traceback__ = None
            left += [other for other in (one.__cause__, one.__context__) if other is not None]
            left += one.exceptions if isinstance(one, BaseExceptionGroup) else ()
