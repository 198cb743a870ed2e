"""Labels that hold names of objects. Pure."""

MAX_LABEL = 63


def cut_to_label(name: str) -> str:
    """The name as the value of a label, which is shorter than names, and ends as names do."""
    return name[:MAX_LABEL].rstrip("-.")
