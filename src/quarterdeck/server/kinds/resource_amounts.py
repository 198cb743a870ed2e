"""Validation of resource amounts: not negative, and integers for countable resources."""

from collections.abc import Iterator

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.go_quantity import format_go_quantity

COUNTS = frozenset(
    {
        "configmaps",
        "persistentvolumeclaims",
        "pods",
        "replicationcontrollers",
        "resourcequotas",
        "secrets",
        "services",
        "services.loadbalancers",
        "services.nodeports",
    }
)


def validate_amount(path: str, name: str, amount: object) -> Iterator[FieldError]:
    """Check the amount of a resource."""
    yield from validators.validate_quantity(path, amount)
    if _is_counted(name) and not _is_whole(amount):
        shown = format_go_quantity(Quantity.parse(str(amount)))
        yield invalid(path, shown, "must be an integer")


def _is_counted(name: str) -> bool:
    if name in COUNTS or name.startswith("count/"):
        return True
    domain, slash, _ = name.partition("/")
    is_native = not slash or "kubernetes.io" in domain
    return not is_native and not name.startswith("requests.")


def _is_whole(amount: object) -> bool:
    try:
        return Quantity.parse(str(amount)).is_integer()
    except QuantityError:
        return True  # reported with the amounts
