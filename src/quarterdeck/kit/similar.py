"""The known word that a mistyped one was probably meant to be."""

from collections.abc import Iterable

_MIN_RATIO = 0.6


def suggest(word: str, known: Iterable[str]) -> str:
    """`; did you mean "pods"?`, to end a message with; empty if no known word is similar."""
    import difflib  # loaded for mistakes only: start-up time is a feature

    found = difflib.get_close_matches(word.lower(), sorted(known), n=1, cutoff=_MIN_RATIO)
    return f'; did you mean "{found[0]}"?' if found else ""
