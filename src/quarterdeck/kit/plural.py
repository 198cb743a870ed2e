"""Numbers with their noun, for messages."""


def count(number: int, noun: str) -> str:
    """Such as `1 cluster` and `2 clusters`; for nouns whose plural has an s."""
    return f"{number} {noun}" if number == 1 else f"{number} {noun}s"
