"""Fields that the kinds of dynamic resource allocation share: names, selectors, configuration."""

import functools
import json
import re
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    FieldError,
    duplicate,
    invalid,
    not_supported,
    required,
    too_long,
    too_many,
)
from quarterdeck.server.kinds.admission_expressions import InvalidExpression, compile_expression
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object

if TYPE_CHECKING:
    from quarterdeck import cel

EFFECTS = ("NoExecute", "NoSchedule", "None")
_MOST_SELECTORS = 32
_MOST_CONFIGS = 32
_LONGEST_DRIVER = 63
_LONGEST_ID = 32
_LONGEST_TEXT = 10 * 1024
"""The limit of an expression, and of the parameters for a driver, in bytes."""
_IDENTIFIER = "[A-Za-z_][A-Za-z0-9_]*"

FieldErrors = Iterator[FieldError]
Check = Callable[[Any, str], Iterable[FieldError]]


def validate_items(items: Sequence[Any], path: str, *, most: int, check: Check) -> FieldErrors:
    """Check that a list has at most `most` items, and check each item."""
    if len(items) > most:
        yield too_many(path, len(items), most)
        return
    for index, each in enumerate(items):
        yield from check(each, f"{path}[{index}]")


def validate_unique(
    items: Sequence[Any], path: str, *, most: int, check: Check, key: str = ""
) -> FieldErrors:
    """Check each item of a list without duplicates; `key` is the member that must differ."""
    yield from validate_items(items, path, most=most, check=check)
    if len(items) > most:
        return
    seen: set[str] = set()
    for index, each in enumerate(items):
        name = (each.get(key) or "") if key else each
        if name in seen:
            yield duplicate(f"{path}[{index}]", name)
        seen.add(name)


def validate_label(text: str, path: str) -> FieldErrors:
    """Check a name of a device, a request or a counter."""
    for problem in names.check_dns1123_label(text):
        yield invalid(path, text, problem)


def validate_driver(text: str, path: str) -> FieldErrors:
    """Check the name of a driver, which may have upper-case letters."""
    if not text:
        yield required(path)
        return
    if len(text) > _LONGEST_DRIVER:
        yield too_long(path, text, _LONGEST_DRIVER)
    for problem in names.check_dns1123_subdomain(text.lower()):
        yield invalid(path, text, problem)


def validate_pool_name(text: str, path: str) -> FieldErrors:
    """Check the name of a pool: parts with slashes between them."""
    if not text:
        yield required(path)
        return
    if len(text) > names.SUBDOMAIN_LIMIT:
        yield too_long(path, text, names.SUBDOMAIN_LIMIT)
    for part in text.split("/"):
        for problem in names.check_dns1123_subdomain(part):
            yield invalid(path, part, problem)


def validate_attribute_name(text: str, path: str) -> FieldErrors:
    """Check the name of an attribute, with or without a domain."""
    parts = text.split("/")
    if len(parts) > 2:
        return
    if len(parts) == 2:
        if not parts[0]:
            yield invalid(path, "", "the domain must not be empty")
        else:
            yield from validate_driver(parts[0], path)
        if not parts[1]:
            yield invalid(path, "", "the name must not be empty")
            return
    yield from _validate_identifier(parts[-1], path)


def validate_full_attribute_name(text: str, path: str) -> FieldErrors:
    """Check the name of an attribute that must have a domain."""
    yield from validate_attribute_name(text, path)
    if "/" not in text:
        detail = "a fully qualified name must be a domain and a name separated by a slash"
        yield invalid(path, text, detail)


def _validate_identifier(text: str, path: str) -> FieldErrors:
    if len(text) > _LONGEST_ID:
        yield too_long(path, text, _LONGEST_ID)
    if not re.fullmatch(_IDENTIFIER, text):
        detail = (
            "a valid C identifier must start with alphabetic character or '_', followed by a"
            " string of alphanumeric characters or '_' (e.g. 'my_name',  or 'MY_NAME',  or"
            f" 'MyName', regex used for validation is '{_IDENTIFIER}')"
        )
        yield invalid(path, text, detail)


# selectors ---------------------------------------------------------------------------------------


def validate_selectors(selectors: Sequence[Object], path: str) -> FieldErrors:
    """Check the expressions that choose devices."""
    yield from validate_items(selectors, path, most=_MOST_SELECTORS, check=_validate_selector)


def _validate_selector(selector: Object, path: str) -> FieldErrors:
    expression = selector.get("cel")
    if expression is None:
        yield required(f"{path}.cel")
        return
    text = expression.get("expression") or ""
    path = f"{path}.cel.expression"
    if len(text) > _LONGEST_TEXT:
        yield too_long(path, text, _LONGEST_TEXT)
        return
    from quarterdeck import cel

    try:
        program = compile_expression(_get_environment(), text)
    except InvalidExpression as error:
        yield invalid(path, text, str(error))
        return
    if program.type not in (cel.BOOL, cel.DYN):
        detail = f"must evaluate to bool or the unknown type, not {program.type}"
        yield invalid(path, text, detail)


@functools.cache
def _get_environment() -> "cel.Environment":
    """Build the CEL environment of selectors: the device with driver, attributes and capacity."""
    from quarterdeck import cel

    by_name = cel.map_of(cel.STRING, cel.DYN)
    device = cel.struct(
        "kubernetes.DRADevice",
        {
            "driver": cel.STRING,
            "attributes": cel.map_of(cel.STRING, by_name),
            "capacity": cel.map_of(cel.STRING, by_name),
            "allowMultipleAllocations": cel.BOOL,
        },
    )
    return cel.Environment({"device": device})


# configuration, taints, bindings -----------------------------------------------------------------


def validate_configs(
    configs: Sequence[Object], path: str, check: Check | None = None
) -> FieldErrors:
    """Check parameters for drivers; `check` is called first for each entry."""

    def validate(config: Object, place: str) -> FieldErrors:
        if check is not None:
            yield from check(config, place)
        if config.get("opaque") is None:
            yield required(f"{place}.opaque")
            return
        opaque = get_mapping(config, "opaque")
        yield from validate_driver(opaque.get("driver") or "", f"{place}.opaque.driver")
        yield from validate_raw(opaque.get("parameters"), f"{place}.opaque.parameters")

    yield from validate_items(configs, path, most=_MOST_CONFIGS, check=validate)


def validate_raw(value: Any, path: str) -> FieldErrors:
    """Check opaque parameters of a driver: a JSON object of limited size."""
    if value is None:
        yield required(path)
    elif len(json.dumps(value, separators=(",", ":"))) > _LONGEST_TEXT:
        yield too_long(path, value, _LONGEST_TEXT)
    elif not isinstance(value, dict):
        yield invalid(path, "<value omitted>", "must be a valid JSON object")


def validate_taint(taint: Object, path: str) -> FieldErrors:
    """Check a taint of a device."""
    key, value, effect = (taint.get(name) or "" for name in ("key", "value", "effect"))
    for problem in names.check_qualified_name(key):
        yield invalid(f"{path}.key", key, problem)
    for problem in names.check_label_value(value) if value else ():
        yield invalid(f"{path}.value", value, problem)
    if not effect:
        yield required(f"{path}.effect")
    elif effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def validate_toleration(toleration: Object, path: str) -> FieldErrors:
    """Check a toleration of a request."""
    key, value, effect = (toleration.get(name) or "" for name in ("key", "value", "effect"))
    for problem in names.check_qualified_name(key) if key else ():
        yield invalid(f"{path}.key", key, problem)
    match toleration.get("operator") or "":
        case "Exists":
            if value:
                yield invalid(f"{path}.value", value, "must be empty for operator `Exists`")
        case "Equal":
            for problem in names.check_label_value(value):
                yield invalid(f"{path}.value", value, problem)
        case "":
            yield required(f"{path}.operator")
        case other:
            yield not_supported(f"{path}.operator", other, ("Equal", "Exists"))
    if effect and effect not in EFFECTS:
        yield not_supported(f"{path}.effect", effect, EFFECTS)


def validate_bindings(value: Object, path: str) -> FieldErrors:
    """Check the conditions that must hold, or must not, before a pod is bound to a device."""
    met, failed = (
        get_items(value, "bindingConditions"),
        get_items(value, "bindingFailureConditions"),
    )
    for member, conditions in (("bindingConditions", met), ("bindingFailureConditions", failed)):
        yield from validate_unique(conditions, f"{path}.{member}", most=4, check=_validate_type)
    for index, each in enumerate(failed):
        if each in met:
            text = "bindingFailureConditions must not overlap with bindingConditions"
            yield invalid(f"{path}.bindingFailureConditions[{index}]", each, text)
    for member, given, other in (
        ("bindingConditions", met, failed),
        ("bindingFailureConditions", failed, met),
    ):
        if other and not given:
            wanted = {"bindingConditions": "bindingFailureConditions"}.get(
                member, "bindingConditions"
            )
            yield invalid(f"{path}.{member}", None, f"{member} are required to use {wanted}")


def _validate_type(text: str, path: str) -> FieldErrors:
    for problem in names.check_qualified_name(text):
        yield invalid(path, text, problem)
