"""Two files change places in one step, where the system can: what was replaced is still there to be looked at."""

import os
from collections.abc import Callable
from functools import cache

_SWAP = 2
"""RENAME_EXCHANGE of Linux, RENAME_SWAP of macOS."""

_Swap = Callable[[int, bytes, int, bytes, int], int]


def exchange(one: str, other: str, folder: int) -> bool:
    """Whether they did; not where one of them is missing, nor on a system or a disk that cannot."""
    swap = _swap()
    return swap is not None and swap(folder, os.fsencode(one), folder, os.fsencode(other), _SWAP) == 0


@cache
def _swap() -> _Swap | None:
    import ctypes  # most daemons write no documents

    library = ctypes.CDLL(None)
    for name in ("renameat2", "renameatx_np"):
        if (found := getattr(library, name, None)) is not None:
            found.argtypes = (ctypes.c_int, ctypes.c_char_p, ctypes.c_int, ctypes.c_char_p, ctypes.c_uint)
            found.restype = ctypes.c_int
            return found  # type: ignore[no-any-return]  # ctypes types what it finds as Any
    return None
