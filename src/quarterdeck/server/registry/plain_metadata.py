"""A quick test for metadata that needs at most sorting, as that of most new objects."""

import itertools
from typing import Any

PLAIN_MEMBERS: dict[str, type] = {
    "name": str,
    "generateName": str,
    "namespace": str,
    "labels": dict,
    "annotations": dict,
}
"""Members that Go keeps as they are unless they are empty, in the order it writes them."""
_COUNTS = range(len(PLAIN_MEMBERS) + 1)
_SELECTIONS = frozenset(
    names for count in _COUNTS for names in itertools.permutations(PLAIN_MEMBERS, count)
)
_ORDERED = frozenset(
    names for count in _COUNTS for names in itertools.combinations(PLAIN_MEMBERS, count)
)


def sort_plain(metadata: dict[str, Any]) -> dict[str, Any]:
    """Return plain metadata in the order Go writes it; the same object if it is in order."""
    if tuple(metadata) in _ORDERED:
        return metadata
    return {name: metadata[name] for name in PLAIN_MEMBERS if name in metadata}


def is_plain(metadata: Any) -> bool:
    """Whether metadata has a few usual members with the right types, and none is empty."""
    if type(metadata) is not dict or tuple(metadata) not in _SELECTIONS:
        return False
    for name, each in metadata.items():
        if not each or type(each) is not PLAIN_MEMBERS[name]:
            return False
        if type(each) is dict:
            for text in each.values():
                if type(text) is not str:
                    return False
    return True
