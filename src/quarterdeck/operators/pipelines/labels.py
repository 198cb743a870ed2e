"""Labels that hold names of objects. Pure."""

from quarterdeck.meta.names import LABEL_LIMIT
from quarterdeck.meta.short_names import cut_name


def cut_to_label(name: str) -> str:
    """The name as the value of a label, which is shorter than names, and ends as names do."""
    return cut_name(name, LABEL_LIMIT)
