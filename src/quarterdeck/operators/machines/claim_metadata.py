"""Names and labels of the claims that fleets and runner pools create. Pure."""

import random
from collections.abc import Mapping

from quarterdeck.meta.name_truncation import truncate_name
from quarterdeck.meta.names import check_label_value
from quarterdeck.operators.machines.conditions import Reason
from quarterdeck.runtime import Stalled

_LETTERS = "bcdfghjklmnpqrstvwxz2456789"
_LONGEST_PREFIX = 50


def generate_name(owner: str, rng: random.Random) -> str:
    """A new name that begins with the owner's, short enough for the name of a host."""
    prefix = truncate_name(owner, _LONGEST_PREFIX)
    return f"{prefix}-{''.join(rng.choices(_LETTERS, k=5))}"


def check_labels(labels: Mapping[str, str]) -> None:
    """Check that claims can have these labels; an API server would refuse each claim.

    Names of objects may be longer than values of labels.

    Raises:
        Stalled: InvalidLabels, naming the label, its value and what is wrong.
    """
    for key, value in labels.items():
        if problems := check_label_value(value):
            text = f"machines cannot get the label {key}={value}: {problems[0]}"
            raise Stalled(Reason.INVALID_LABELS, text)
