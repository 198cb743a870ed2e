"""How many examples Hypothesis tries: a quarter of them in `make test`, all in `make test-full`."""

import os

LEAST = 25


def count_examples(full: int) -> int:
    """The examples of one property for this run; `full` is how many the full run tries."""
    return full if os.environ.get("QUARTERDECK_FULL") else max(LEAST, full // 4)
