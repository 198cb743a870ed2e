"""Numbers with their noun, for messages."""


def format_count(number: int, noun: str) -> str:
    """Format a number with its noun, such as `1 cluster` and `2 clusters`."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
