"""The docs say what the code says."""

from pathlib import Path

from abey.core import invariants

ROOT = Path(__file__).parents[2]


def test_the_architecture_states_every_invariant_in_the_words_of_its_check() -> None:
    text = (ROOT / "docs/architecture.md").read_text(encoding="utf-8")
    stated = [
        line.removeprefix("- **Invariant:** ").rstrip(".") for line in text.splitlines() if "**Invariant:**" in line
    ]
    checked = [*invariants.INVARIANTS, invariants.REPLAYED, invariants.GAPLESS, invariants.ONCE, invariants.UNCHANGED]
    assert stated == checked
