"""What git is told in a shell command, as far as it starts other programs."""

from collections.abc import Sequence
from itertools import pairwise

from abey.core.shell import Word

_WORDS = """
add blame branch checkout cherry-pick commit describe diff fetch log merge mv pull push remote reset restore rm
rev-parse revert show stash status switch tag
"""
_DATA = frozenset(_WORDS.split())
"""What these are given they never run, but for what _STARTS names."""
_STARTS = ("--upload-pack", "--receive-pack", "--exec", "--ext-diff", "--open-files-in-pager")
"""Options of git that name a program; they may be cut short."""
_VALUED = frozenset(("-C", "--git-dir", "--work-tree", "--namespace", "--super-prefix", "--attr-source"))
"""Its own options whose value may be the next word."""
LEAST_LETTERS = 3


def overrides(texts: Sequence[str]) -> bool:
    """Whether its own options change what its words mean, or where its programs are."""
    for before, text in pairwise(texts):
        if text.startswith(("-c", "--config-env", "--exec-path")):
            return True
        if not text.startswith("-") and before not in _VALUED:
            return False
    return False


def doings(words: Sequence[Word]) -> list[int]:
    """Where the word may be that says what it does: its own options come before, with or without values."""
    return [at for at in range(1, len(words)) if not words[at].text.startswith("-")][:2]


def is_data_only(words: Sequence[Word], does: Sequence[int]) -> bool:
    """Whether nothing that it is given is run."""
    return any(words[at].text in _DATA for at in does) and not any(map(_names_a_program, words[1:]))


def _names_a_program(word: Word) -> bool:
    option = word.text.partition("=")[0]
    cut = len(option) >= LEAST_LETTERS and any(one.startswith(option) for one in _STARTS)
    return not word.literal or cut or word.text.startswith("-O") or "ext::" in word.text
