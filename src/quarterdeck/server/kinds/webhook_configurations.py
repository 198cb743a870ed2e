"""The rules of webhook configurations."""

from collections.abc import Container, Iterator, Sequence
from datetime import datetime

from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, duplicate, invalid, required
from quarterdeck.server.kinds import match_rules, validators
from quarterdeck.server.kinds.admission_expressions import collect_expressions
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.registry.client_config import validate_client
from quarterdeck.server.registry.printer import AGE, NAME, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_EFFECTS = ("None", "NoneOnDryRun")
_REVIEWS = ("v1", "v1beta1")
_LONGEST_TIMEOUT_S = 30


def _default_webhook(webhook: Object) -> None:
    set_defaults(
        webhook,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )
    service = get_field(webhook, "clientConfig", "service")
    if service is not None:
        set_defaults(service, port=443)
    match_rules.default_scopes(get_items(webhook, "rules"))


def _default_validating(value: Object) -> None:
    for webhook in get_items(value, "webhooks"):
        _default_webhook(webhook)


def _default_mutating(value: Object) -> None:
    for webhook in get_items(value, "webhooks"):
        _default_webhook(webhook)
        set_defaults(webhook, reinvocationPolicy="Never")


def _validate_new(value: Object, context: Context) -> Iterator[FieldError]:
    return _validate(value, frozenset())


def _validate_change(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    return _validate(value, collect_expressions(old))


def _validate(value: Object, stored: Container[str]) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, webhook in enumerate(get_items(value, "webhooks")):
        place, name = f"webhooks[{index}]", webhook.get("name") or ""
        yield from _validate_name(name, f"{place}.name")
        yield from match_rules.validate_rules(webhook.get("rules") or (), f"{place}.rules")
        yield from _validate_choices(webhook, place)
        for selector in ("namespaceSelector", "objectSelector"):
            yield from validators.validate_label_selector(
                f"{place}.{selector}", webhook.get(selector)
            )
        yield from validators.validate_enum(
            f"{place}.reinvocationPolicy", webhook.get("reinvocationPolicy"), ("IfNeeded", "Never")
        )
        yield from validate_client(get_mapping(webhook, "clientConfig"), f"{place}.clientConfig")
        conditions = webhook.get("matchConditions") or ()
        yield from match_rules.validate_conditions(
            conditions, f"{place}.matchConditions", stored=stored
        )
        versions = webhook.get("admissionReviewVersions") or []
        yield from _validate_versions(versions, f"{place}.admissionReviewVersions")
        if name and name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)


def _validate_name(name: str, path: str) -> Iterator[FieldError]:
    if not name:
        yield required(path)
        return
    if problems := names.check_dns1123_subdomain(name):
        for problem in problems:
            yield invalid(path, name, problem)
        return
    if name.count(".") < 2:
        yield invalid(
            path, name, "should be a domain with at least three segments separated by dots"
        )


def _validate_choices(webhook: Object, place: str) -> Iterator[FieldError]:
    policies = {
        "failurePolicy": match_rules.FAILURE_POLICIES,
        "matchPolicy": match_rules.MATCH_POLICIES,
    }
    for name, choices in policies.items():
        yield from validators.validate_enum(f"{place}.{name}", webhook.get(name), choices)
    effects = webhook.get("sideEffects")
    if effects is None:
        yield required(f"{place}.sideEffects", f"must specify one of {', '.join(_EFFECTS)}")
    else:
        yield from validators.validate_enum(f"{place}.sideEffects", effects, _EFFECTS)
    timeout = webhook.get("timeoutSeconds")
    if timeout is not None and not 1 <= timeout <= _LONGEST_TIMEOUT_S:
        text = "the timeout value must be between 1 and 30 seconds"
        yield invalid(f"{place}.timeoutSeconds", timeout, text)


def _validate_versions(versions: Sequence[str], path: str) -> Iterator[FieldError]:
    if not versions:
        yield required(path, f"must specify one of {', '.join(_REVIEWS)}")
        return
    seen: set[str] = set()
    for index, version in enumerate(versions):
        if version in seen:
            yield invalid(f"{path}[{index}]", version, "duplicate version")
            continue
        seen.add(version)
        for problem in names.check_dns1035_label(version):
            yield invalid(f"{path}[{index}]", version, problem)
    if not seen.intersection(_REVIEWS):
        shown = validators.format_go_strings(versions)
        yield invalid(path, shown, f"must include at least one of {', '.join(_REVIEWS)}")


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        len(get_items(value, "webhooks")),
        format_creation_age(value, now),
    )


_COLUMNS = (NAME, build_column("Webhooks", "integer"), AGE)

VALIDATING = Rules(
    default=_default_validating,
    validate_new=_validate_new,
    validate_change=_validate_change,
    generation_fields=("webhooks",),
    allows_unconditional_update=False,
    columns=_COLUMNS,
    cells=_build_cells,
)
MUTATING = Rules(
    default=_default_mutating,
    validate_new=_validate_new,
    validate_change=_validate_change,
    generation_fields=("webhooks",),
    allows_unconditional_update=False,
    columns=_COLUMNS,
    cells=_build_cells,
)
