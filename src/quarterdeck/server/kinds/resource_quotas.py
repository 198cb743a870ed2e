"""Resource quotas: what may be limited, and how they are shown."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.kinds.go_quantity import format_go_quantity
from quarterdeck.server.kinds.match_rules import format_go_list
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Context, Object

_AMOUNTS = frozenset(
    {
        "cpu",
        "memory",
        "ephemeral-storage",
        "requests.cpu",
        "requests.memory",
        "requests.storage",
        "requests.ephemeral-storage",
        "limits.cpu",
        "limits.memory",
        "limits.ephemeral-storage",
    }
)
_COUNTS = frozenset(
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
_PAGES = ("hugepages-", "requests.hugepages-")


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    for name, amount in sorted(get_mapping(value, "spec", "hard").items()):
        path = f"spec.hard[{name}]"
        yield from _validate_name(name, path)
        yield from validators.validate_quantity(path, amount)
        if (name in _COUNTS or name.startswith("count/")) and not _is_whole(amount):
            shown = format_go_quantity(Quantity.parse(str(amount)))
            yield invalid(path, shown, "must be an integer")
    yield from _validate_scopes(get_mapping(value, "spec").get("scopes") or [])


def _validate_scopes(scopes: Sequence[str]) -> Iterator[FieldError]:
    """Scopes that exclude each other would select nothing."""
    for pair in (("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating")):
        if set(pair) <= set(scopes):
            shown = format_go_list("core.ResourceQuotaScope", scopes)
            yield invalid("spec.scopes", shown, "conflicting scopes")


def _validate_name(name: str, path: str) -> Iterator[FieldError]:
    if found := names.check_qualified_name(name):
        yield from (invalid(path, Bare(name), problem) for problem in found)
    elif "/" not in name and name not in _AMOUNTS | _COUNTS and not name.startswith(_PAGES):
        for text in (
            "must be a standard resource type or fully qualified",
            "must be a standard resource for quota",
        ):
            yield invalid(path, Bare(name), text)


def _is_whole(amount: object) -> bool:
    try:
        return Quantity.parse(str(amount)).is_integer()
    except QuantityError:
        return True  # reported with the amounts


def _validate_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    scopes, before = (get_mapping(each, "spec").get("scopes") or [] for each in (value, old))
    if sorted(scopes) != sorted(before):
        yield invalid("spec.scopes", validators.format_go_strings(scopes), validators.IMMUTABLE)


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    hard, used = get_mapping(value, STATUS, "hard"), get_mapping(value, STATUS, "used")
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    others = [text for name, text in texts.items() if not name.startswith("limits.")]
    return (
        value["metadata"].get("name", ""),
        format_creation_age(value, now),
        ", ".join(others),
        ", ".join(limits),
    )


QUOTA = Rules(
    validate=_validate,
    validate_change=_validate_update,
    columns=(NAME, AGE, build_column("Request"), build_column("Limit")),
    cells=_build_cells,
    status_updates_labels=True,
)
