"""Validators that several kinds share, with the messages of Kubernetes."""

import ipaddress
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    Verbatim,
    forbidden,
    invalid,
    not_supported,
    prints_json,
    quote,
    required,
)
from quarterdeck.server.registry.metadata_validation import validate_labels

Network = ipaddress.IPv4Network | ipaddress.IPv6Network
PORT_RANGE = "must be between 1 and 65535, inclusive"
VALID_NETWORK = "must be a valid CIDR value, (e.g. 10.9.8.0/24 or 2001:db8::/64)"
NON_NEGATIVE = "must be greater than or equal to 0"
IMMUTABLE = "field is immutable"
GO_POINTER = "0xc000000000"
"""The address that messages show where Go prints a pointer, which differs each time."""
_ENOUGH_DIGITS = 20
"""Digits that are kept of a number that is only compared."""


def validate_non_negative(path: str, value: Any) -> Iterator[FieldError]:
    """Check that a number is not negative."""
    if isinstance(value, int) and value < 0:
        yield invalid(path, value, NON_NEGATIVE)


def validate_port(path: str, value: Any) -> Iterator[FieldError]:
    """Check a port number."""
    if not isinstance(value, int) or not 1 <= value <= 65535:
        yield invalid(path, value or 0, PORT_RANGE)


def validate_port_or_name(path: str, value: Any) -> Iterator[FieldError]:
    """Check a port by number or by name."""
    if isinstance(value, str):
        for problem in validate_port_name(value):
            yield invalid(path, value, problem)
    else:
        yield from validate_port(path, value)


def validate_port_name(text: str) -> list[str]:
    """Check the name of a port: up to 15 characters, at least one letter."""
    problems = ["must be no more than 15 characters"] if len(text) > 15 else []
    if not re.fullmatch(r"[-a-z0-9]+", text):
        problems.append("must contain only alpha-numeric characters (a-z, 0-9), and hyphens (-)")
    if not re.search(r"[a-z]", text):
        problems.append("must contain at least one letter (a-z)")
    if "--" in text:
        problems.append("must not contain consecutive hyphens")
    if text.startswith("-") or text.endswith("-"):
        problems.append("must not begin or end with a hyphen")
    return problems


def validate_enum(path: str, value: Any, choices: Sequence[str]) -> Iterator[FieldError]:
    """Check that a value is one of the choices, or absent."""
    if value is not None and value not in choices:
        yield not_supported(path, value, choices)


def validate_required_enum(path: str, value: Any, choices: Sequence[str]) -> Iterator[FieldError]:
    """Check that a value is present and one of the choices."""
    if not value:
        yield required(path)
    elif value not in choices:
        yield not_supported(path, value, choices)


def validate_immutable(path: str, value: Any, old: Any) -> Iterator[FieldError]:
    """Check that an immutable field did not change."""
    if value != old:
        yield invalid(path, value, IMMUTABLE)


_CONFIG_KEY = r"[-._a-zA-Z0-9]+"


def validate_config_key(text: str) -> list[str]:
    """Check a key of a ConfigMap or Secret: what a file may be called."""
    problems = ["must be no more than 253 characters"] if len(text) > 253 else []
    if not re.fullmatch(_CONFIG_KEY, text):
        problems.append(
            "a valid config key must consist of alphanumeric characters, '-', '_' or '.' (e.g."
            " 'key.name',  or 'KEY_NAME',  or 'key-name', regex used for validation is"
            f" '{_CONFIG_KEY}')"
        )
    if text in (".", ".."):
        problems.append(f"must not be '{text}'")
    elif text.startswith(".."):
        problems.append("must not start with '..'")
    return problems


def validate_percent_or_number(path: str, value: Any) -> Iterator[FieldError]:
    """Check a number of pods, or a percentage of them."""
    if isinstance(value, str):
        if not re.fullmatch(r"[0-9]+%", value):
            text = (
                "a valid percent string must be a numeric string followed by an ending '%' (e.g."
                " '1%',  or '93%', regex used for validation is '[0-9]+%')"
            )
            yield invalid(path, format_int_or_string(value), text)
    else:
        yield from validate_non_negative(path, value)


def validate_percent_limit(path: str, value: Any) -> Iterator[FieldError]:
    """Check that a percentage is at most 100%."""
    if (parse_percent(value) or 0) > 100:
        yield invalid(path, format_int_or_string(value), "must not be greater than 100%")


def parse_percent(value: Any) -> int | None:
    """Parse the number in a percentage."""
    if isinstance(value, str) and re.fullmatch(r"[0-9]+%", value):
        return int(value[:-1].lstrip("0")[:_ENOUGH_DIGITS] or "0")
    return None


def is_nonzero(value: Any) -> bool:
    """Whether a number, a percentage, or a number written as text is not zero."""
    if isinstance(value, str):
        return re.fullmatch(r"[-+]?0*[1-9][0-9]*|0*[1-9][0-9]*%", value) is not None
    return bool(value)


def format_int_or_string(value: Any) -> Bare:
    """Format a number or text as Go shows its type."""
    if isinstance(value, str):
        return Bare(f"intstr.IntOrString{{Type:1, IntVal:0, StrVal:{quote(value)}}}")
    return Bare(f'intstr.IntOrString{{Type:0, IntVal:{value}, StrVal:""}}')


def is_network(text: str) -> bool:
    """Whether a text is a network in CIDR notation, as Go reads it."""
    return parse_network(text) is not None


def parse_network(text: str) -> Network | None:
    """Parse a network in CIDR notation as Go reads it; None if it is not valid."""
    try:
        network = ipaddress.ip_network(text, strict=False)
    except ValueError:
        return None
    return network if "/" in text else None


def validate_descending_path(path: str, text: str) -> Iterator[FieldError]:
    """Check a relative path that does not leave its folder."""
    if text.startswith("/"):
        yield invalid(path, text, "must be a relative path")
    yield from validate_no_backsteps(path, text)


def validate_no_backsteps(path: str, text: str) -> Iterator[FieldError]:
    """Check that a path has no `..` in it."""
    if ".." in text.split("/"):
        yield invalid(path, text, "must not contain '..'")


def validate_quantity(path: str, value: Any) -> Iterator[FieldError]:
    """Check that a quantity is valid and not negative."""
    try:
        if Quantity.parse(str(value)).sign() < 0:
            yield invalid(path, str(value), NON_NEGATIVE)
    except QuantityError as error:
        yield invalid(path, str(value), str(error))


def validate_label_selector(path: str, selector: Mapping[str, Any] | None) -> Iterator[FieldError]:
    """Check a selector of labels: keys, operators, and values where they belong."""
    if selector is None:
        return
    yield from validate_labels(selector.get("matchLabels") or {}, f"{path}.matchLabels")
    for index, term in enumerate(selector.get("matchExpressions") or ()):
        yield from _validate_requirement(f"{path}.matchExpressions[{index}]", term)


def _validate_requirement(path: str, term: Mapping[str, Any]) -> Iterator[FieldError]:
    operator, values = term.get("operator") or "", term.get("values") or ()
    if operator in ("In", "NotIn"):
        if not values:
            text = "must be specified when `operator` is 'In' or 'NotIn'"
            yield required(f"{path}.values", text)
    elif operator in ("Exists", "DoesNotExist"):
        if values:
            text = "may not be specified when `operator` is 'Exists' or 'DoesNotExist'"
            yield forbidden(f"{path}.values", text)
    else:
        yield invalid(f"{path}.operator", operator, "not a valid selector operator")
    key = term.get("key") or ""
    for problem in names.check_qualified_name(key):
        yield invalid(f"{path}.key", key, problem)
    for index, value in enumerate(values):
        for problem in names.check_label_value(value):
            yield invalid(f"{path}.values[{index}]", value, problem)


def matches_selector(selector: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    """Whether a label selector selects a set of labels."""
    if any(labels.get(key) != value for key, value in (selector.get("matchLabels") or {}).items()):
        return False
    return all(_matches_term(term, labels) for term in selector.get("matchExpressions") or ())


def _matches_term(term: Mapping[str, Any], labels: Mapping[str, str]) -> bool:
    key, values = term.get("key") or "", term.get("values") or ()
    match term.get("operator"):
        case "In":
            return labels.get(key) in values and key in labels
        case "NotIn":
            return key not in labels or labels[key] not in values
        case "Exists":
            return key in labels
        case "DoesNotExist":
            return key not in labels
        case _:
            return False


def format_selector(selector: Mapping[str, Any] | None) -> str:
    """Format a selector as `kubectl` writes it: `app=web,tier in (a,b)`."""
    if not selector:
        return ""
    parts = [f"{key}={value}" for key, value in sorted((selector.get("matchLabels") or {}).items())]
    for term in selector.get("matchExpressions") or ():
        key, values = term.get("key"), ",".join(sorted(term.get("values") or ()))
        parts.append(
            {
                "In": f"{key} in ({values})",
                "NotIn": f"{key} notin ({values})",
                "Exists": f"{key}",
                "DoesNotExist": f"!{key}",
            }.get(term.get("operator") or "", "")
        )
    return ",".join(sorted(part for part in parts if part))


def format_go_strategy(strategy: Mapping[str, Any], kind: str, rolling: str) -> Bare:
    """Format how a workload is updated as Go prints it: what a pointer points to is not shown."""
    pointer = "nil" if strategy.get("rollingUpdate") is None else GO_POINTER
    shown = quote(strategy.get("type") or "")
    return Bare(f"apps.{kind}{{Type:{shown}, RollingUpdate:(*apps.{rolling})({pointer})}}")


def format_go_strings(texts: Sequence[str]) -> Bare:
    """Format a list of strings as Go prints it."""
    return Bare("[]string{" + ", ".join(quote(text) for text in texts) + "}")


def format_go_map(texts: Mapping[str, str] | None) -> Bare:
    """Format a map of strings as Go prints it."""
    if texts is None:
        return Bare("map[string]string(nil)")
    members = (f"{quote(key)}:{quote(texts[key])}" for key in sorted(texts))
    return Bare("map[string]string{" + ", ".join(members) + "}")


def format_go_label_selector(selector: Mapping[str, Any] | None) -> Bare:
    """Format a label selector as Go prints it."""
    if selector is None:
        return Verbatim("null") if prints_json() else Bare('"null"')
    labels, terms = selector.get("matchLabels"), selector.get("matchExpressions")
    shown_labels = format_go_map(labels) if labels else "map[string]string(nil)"
    kind = "[]v1.LabelSelectorRequirement"
    shown_terms = (
        f"{kind}{{{', '.join(map(_format_go_requirement, terms))}}}" if terms else f"{kind}(nil)"
    )
    return Bare(f"v1.LabelSelector{{MatchLabels:{shown_labels}, MatchExpressions:{shown_terms}}}")


def _format_go_requirement(term: Mapping[str, Any]) -> str:
    values = term.get("values")
    shown = format_go_strings(values) if values else "[]string(nil)"
    return (
        f"v1.LabelSelectorRequirement{{Key:{quote(term.get('key') or '')},"
        f" Operator:{quote(term.get('operator') or '')}, Values:{shown}}}"
    )
