"""Units of cost: ranges, factors, and groups of functions with the same cost.

The numbers are those of cel-go and Kubernetes: they decide which rules a CRD may carry, so they
are part of the API.
"""

import math

import msgspec

MAX = (1 << 64) - 1
LIST_COST, MAP_COST, STRUCT_COST = 10, 30, 40
STRING_FACTOR, REGEX_FACTOR = 0.1, 0.25


class Range(msgspec.Struct, frozen=True, gc=False):
    """A smallest and a largest amount."""

    min: int
    max: int

    def add(self, other: "Range") -> "Range":
        """The sum."""
        least, most = self.min + other.min, self.max + other.max
        return Range(least if least < MAX else MAX, most if most < MAX else MAX)

    def multiply(self, other: "Range") -> "Range":
        """The product."""
        return Range(min(self.min * other.min, MAX), min(self.max * other.max, MAX))

    def scale(self, factor: float) -> "Range":
        """Multiplied and rounded up."""
        return Range(_scale(self.min, factor), _scale(self.max, factor))

    def union(self, other: "Range") -> "Range":
        """The range that covers both."""
        return Range(min(self.min, other.min), max(self.max, other.max))


ZERO, ONE = Range(0, 0), Range(1, 1)
UNKNOWN = Range(0, MAX)


def _scale(amount: int, factor: float) -> int:
    scaled = float(amount) * factor
    return MAX if scaled >= float(1 << 64) else math.ceil(scaled)


def estimate_selector(size: Range) -> Range:
    """The cost of parsing a selector of `size` characters."""
    requirements = size.scale(0.5).scale(LIST_COST + STRUCT_COST)
    return Range(LIST_COST, LIST_COST).add(size.scale(STRING_FACTOR)).add(requirements)


_WORDS = ("less", "less_equals", "greater", "greater_equals")
BY_SIZE = frozenset(
    {"equals", "not_equals"} | {f"{word}_{kind}" for word in _WORDS for kind in ("string", "bytes")}
)
"""Overloads that compare two values, at a cost that depends on their sizes."""
UNIT_EQUALITY = frozenset([
    "kubernetes.Quantity", "kubernetes.Semver", "net.IP", "net.CIDR",
    "kubernetes.authorization.Authorizer", "kubernetes.authorization.PathCheck",
    "kubernetes.authorization.GroupCheck", "kubernetes.authorization.ResourceCheck",
    "kubernetes.authorization.Decision",
])  # fmt: skip
"""Types whose values are compared in one step."""
PARSERS = frozenset(
    ["url", "cidr", "isIP", "isCIDR", "ip", "quantity", "isQuantity", "semver", "isSemver"]
)
"""Functions that read a text once."""
SEARCHES = frozenset(["isSorted", "sum", "max", "min", "indexOf", "lastIndexOf"])
"""Functions that walk a list once."""
