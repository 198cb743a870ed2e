"""Labels that hold names of objects. Pure."""

from quarterdeck.meta.name_truncation import truncate_name
from quarterdeck.meta.names import LABEL_LIMIT


def cut_to_label(name: str) -> str:
    """The name as the value of a label, which is shorter than names, and ends as names do."""
    return truncate_name(name, LABEL_LIMIT)
