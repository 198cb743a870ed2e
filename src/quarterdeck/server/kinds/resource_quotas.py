"""Resource quotas: what may be limited, and how they are shown."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, invalid, quote, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.kinds.match_rules import format_go_list
from quarterdeck.server.kinds.resource_amounts import COUNTS, validate_amount
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import STATUS, Column, Context, Object

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
_SCOPES = frozenset(
    {
        *("Terminating", "NotTerminating", "BestEffort", "NotBestEffort", "PriorityClass"),
        "CrossNamespacePodAffinity",
    }
)
_EXCLUSIVE_SCOPES = (("BestEffort", "NotBestEffort"), ("NotTerminating", "Terminating"))
_POD_COUNTS = frozenset({"pods"})
_POD_AMOUNTS = frozenset(
    {
        *("cpu", "memory", "limits.cpu", "limits.memory"),
        *("requests.cpu", "requests.memory"),
    }
)
_PAGES = ("hugepages-", "requests.hugepages-")


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from _validate_amounts(get_mapping(spec, "hard"), "spec.hard")
    yield from _validate_scopes(spec, "spec.scopes")
    yield from _validate_selector(spec, "spec.scopeSelector.matchExpressions")


def _validate_amounts(amounts: Object, path: str) -> Iterator[FieldError]:
    for name, amount in sorted(amounts.items()):
        place = f"{path}[{name}]"
        yield from _validate_name(name, place)
        yield from validate_amount(place, name, amount)


def _validate_status(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    for member in ("hard", "used"):
        yield from _validate_amounts(get_mapping(value, STATUS, member), f"status.{member}")


def _validate_scopes(spec: Object, path: str) -> Iterator[FieldError]:
    """Check scopes: known ones, that fit the resources, and do not exclude each other."""
    scopes = get_items(spec, "scopes")
    shown = format_go_list("core.ResourceQuotaScope", scopes)
    for scope in scopes:
        if scope not in _SCOPES:
            yield invalid(path, shown, "unsupported scope")
        misfits = _count_misfits(scope, spec)
        yield from [invalid(path, shown, "unsupported scope applied to resource")] * misfits
    for pair in _EXCLUSIVE_SCOPES:
        if set(pair) <= set(scopes):
            yield invalid(path, shown, "conflicting scopes")


def _count_misfits(scope: str, spec: Object) -> int:
    """Count the limited resources to which a scope cannot be applied."""
    if scope not in _SCOPES:
        return 0
    fitting = _POD_COUNTS if scope == "BestEffort" else _POD_COUNTS | _POD_AMOUNTS
    limited = (_AMOUNTS | COUNTS) & get_mapping(spec, "hard").keys()
    return len(limited - fitting)


def _validate_selector(spec: Object, path: str) -> Iterator[FieldError]:
    terms = get_items(spec, "scopeSelector", "matchExpressions")
    for term in terms:
        scope, operator = term.get("scopeName") or "", term.get("operator") or ""
        if scope not in _SCOPES:
            yield invalid(f"{path}.scopeName", scope, "unsupported scope")
        text = "unsupported scope applied to resource"
        misfits = _count_misfits(scope, spec)
        yield from [invalid(path, _format_go_selector(terms), text)] * misfits
        if scope in _SCOPES - {"PriorityClass"} and operator != "Exists":
            kinds = ("Terminating", "NotTerminating", "BestEffort", "NotBestEffort")
            listed = ", ".join(f"ResourceQuotaScope{kind}" for kind in kinds)
            text = f"{listed} or ResourceQuotaScopeCrossNamespacePodAffinity"
            detail = f"must be 'Exists' when scope is any of {text}"
            yield invalid(f"{path}.operator", operator, detail)
        yield from _validate_values(get_items(term, "values"), operator, path)
    found = {term.get("scopeName") for term in terms}
    for pair in _EXCLUSIVE_SCOPES:
        if set(pair) <= found:
            shown = format_go_list("core.ResourceQuotaScope", get_items(spec, "scopes"))
            yield invalid(path, shown, "conflicting scopes")


def _validate_values(values: Sequence[str], operator: str, path: str) -> Iterator[FieldError]:
    if operator in ("In", "NotIn"):
        if not values:
            text = (
                "must be at least one value when `operator` is 'In' or 'NotIn' for scope selector"
            )
            yield required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = (
                "must be no value when `operator` is 'Exist' or 'DoesNotExist' for scope selector"
            )
            yield invalid(f"{path}.values", validators.format_go_strings(values), text)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")


def _format_go_selector(terms: Sequence[Object]) -> Bare:
    kind = "core.ScopedResourceSelectorRequirement"
    shown = []
    for term in terms:
        values = get_items(term, "values")
        listed = validators.format_go_strings(values) if values else "[]string(nil)"
        scope, operator = quote(term.get("scopeName") or ""), quote(term.get("operator") or "")
        shown.append(f"{kind}{{ScopeName:{scope}, Operator:{operator}, Values:{listed}}}")
    return Bare(f"core.ScopeSelector{{MatchExpressions:[]{kind}{{{', '.join(shown)}}}}}")


def _validate_name(name: str, path: str) -> Iterator[FieldError]:
    if found := names.check_qualified_name(name):
        yield from (invalid(path, Bare(name), problem) for problem in found)
        if "/" not in name:
            yield invalid(path, Bare(name), "must be a standard resource for quota")
    elif "/" not in name and name not in _AMOUNTS | COUNTS and not name.startswith(_PAGES):
        for text in (
            "must be a standard resource type or fully qualified",
            "must be a standard resource for quota",
        ):
            yield invalid(path, Bare(name), text)


def _validate_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    scopes, before = (get_mapping(each, "spec").get("scopes") or [] for each in (value, old))
    if set(scopes) != set(before):
        shown = format_go_list("core.ResourceQuotaScope", scopes)
        yield invalid("spec.scopes", shown, validators.IMMUTABLE)


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    hard, used = get_mapping(value, STATUS, "hard"), get_mapping(value, STATUS, "used")
    texts = {name: f"{name}: {used.get(name, '0')}/{hard[name]}" for name in sorted(hard)}
    limits = [text for name, text in texts.items() if name.startswith("limits.")]
    others = [text for name, text in texts.items() if not name.startswith("limits.")]
    name, age = value["metadata"].get("name", ""), format_creation_age(value, now)
    if has_feature("NewerTablesAndWords"):
        return (name, ", ".join(others), ", ".join(limits), age)
    return (name, age, ", ".join(others), ", ".join(limits))


def _list_columns() -> tuple[Column, ...]:
    amounts = (build_column("Request"), build_column("Limit"))
    return (NAME, *amounts, AGE) if has_feature("NewerTablesAndWords") else (NAME, AGE, *amounts)


RESOURCE_QUOTA = Rules(
    validate=_validate,
    validate_change=_validate_update,
    validate_status=_validate_status,
    columns=_list_columns(),
    cells=_build_cells,
    status_updates_labels=True,
)
