"""Environment variables of containers, and where their values come from."""

import re
from collections.abc import Iterator, Sequence
from typing import Any

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, not_supported, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_items
from quarterdeck.server.registry.resource import Object

_SOURCES = ("fieldRef", "resourceFieldRef", "configMapKeyRef", "secretKeyRef")
_FIELDS = (
    *("metadata.name", "metadata.namespace", "metadata.uid", "spec.nodeName"),
    *("spec.serviceAccountName", "status.hostIP", "status.hostIPs", "status.podIP"),
    "status.podIPs",
)
_OTHER_FIELDS = frozenset(
    {
        *("metadata.annotations", "metadata.labels", "spec.restartPolicy", "spec.schedulerName"),
        "status.phase",
    }
)
"""Fields that can be read, but not into a variable."""
_RESOURCES = (
    *("limits.cpu", "limits.ephemeral-storage", "limits.memory"),
    *("requests.cpu", "requests.ephemeral-storage", "requests.memory"),
)
_HUGE_PAGES = ("limits.hugepages-", "requests.hugepages-")
_SUBSCRIPTED = re.compile(r"(.*)\['(.*)'\]", re.DOTALL)
_SIZES = ("1", "1k", "1M", "1G", "1T", "1P", "1E", "1Ki", "1Mi", "1Gi", "1Ti", "1Pi", "1Ei")
_NAME_RULE = (
    "a valid environment variable name must consist only of printable ASCII characters other than"
    " '='"
)
_ONE_FIELD = "may not have more than one field specified at a time"


def validate_environment(container: Object, path: str) -> Iterator[FieldError]:
    """Check the variables of a container."""
    for index, variable in enumerate(get_items(container, "env")):
        place, name = f"{path}.env[{index}]", variable.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif not _is_variable_name(name):
            yield invalid(f"{place}.name", name, _NAME_RULE)
        if (source := variable.get("valueFrom")) is not None:
            text = variable.get("value") or ""
            yield from _validate_value_source(source, f"{place}.valueFrom", text)
    for index, source in enumerate(get_items(container, "envFrom")):
        yield from _validate_bulk_source(source, f"{path}.envFrom", index)


def _is_variable_name(name: str) -> bool:
    return all(" " <= letter <= "~" and letter != "=" for letter in name)


def _validate_bulk_source(source: Object, path: str, index: int) -> Iterator[FieldError]:
    prefix = source.get("prefix") or ""
    if not _is_variable_name(prefix):
        yield invalid(f"{path}[{index}].prefix", prefix, _NAME_RULE)
    given = [name for name in ("configMapRef", "secretRef") if source.get(name) is not None]
    for member in given:
        place, name = f"{path}[{index}].{member}.name", source[member].get("name")
        if not name:
            yield required(place)
        else:
            problems = names.check_object_name("subdomain", name, is_prefix=True)
            yield from (invalid(place, name, problem) for problem in problems)
    if not given:
        yield invalid(path, "", "must specify one of: `configMapRef` or `secretRef`")
    elif len(given) > 1:
        yield invalid(path, "", _ONE_FIELD)


def _validate_value_source(source: Object, path: str, value: str) -> Iterator[FieldError]:
    reads_files = has_feature("EnvFiles")
    known = (*_SOURCES, "fileKeyRef") if reads_files else _SOURCES
    given = [member for member in known if source.get(member) is not None]
    for member in given:
        place, reference = f"{path}.{member}", source[member]
        match member:
            case "fieldRef":
                yield from validate_field(reference, place, _FIELDS)
            case "resourceFieldRef":
                yield from validate_resource(reference, place)
            case "fileKeyRef":
                yield from _validate_file_key(reference, place)
            case _:
                yield from _validate_key(reference, place)
    if not given:
        shown = [f"`{member}`" for member in known]
        text = f"must specify one of: {', '.join(shown[:-1])} or {shown[-1]}"
        yield invalid(path, "", text)
    elif value:
        yield invalid(path, "", "may not be specified when `value` is not empty")
    elif len(given) > 1:
        yield invalid(path, "", _ONE_FIELD)


def _validate_key(reference: Object, path: str) -> Iterator[FieldError]:
    name, key = reference.get("name") or "", reference.get("key") or ""
    for problem in names.check_dns1123_subdomain(name):
        yield invalid(f"{path}.name", name, problem)
    if not key:
        yield required(f"{path}.key")
    else:
        for problem in validators.validate_config_key(key):
            yield invalid(f"{path}.key", key, problem)


def _validate_file_key(reference: Object, path: str) -> Iterator[FieldError]:
    key, volume, where = (reference.get(name) or "" for name in ("key", "volumeName", "path"))
    if not key:
        yield required(f"{path}.key")
    elif not _is_variable_name(key):
        yield invalid(f"{path}.key", key, _NAME_RULE)
    if not volume:
        yield required(f"{path}.volumeName")
    else:
        for problem in names.check_dns1123_label(volume):
            yield invalid(f"{path}.volumeName", volume, problem)
    if not where:
        yield required(f"{path}.path")
    else:
        yield from validators.validate_no_backsteps(f"{path}.path", where)


def validate_field(reference: Object, path: str, choices: Sequence[str]) -> Iterator[FieldError]:
    """Check a field of the pod; `choices` are those that can be read there."""
    version, field = reference.get("apiVersion") or "", reference.get("fieldPath") or ""
    if not version or not field:
        yield required(f"{path}.{'fieldPath' if version else 'apiVersion'}")
        return
    problem, match = "", _SUBSCRIPTED.fullmatch(field)
    if version != "v1":
        problem = f"unsupported pod version: {version}"
    elif match and match[1] not in ("metadata.annotations", "metadata.labels"):
        problem = f"field label does not support subscript: {field}"
    elif not match and field not in {*_FIELDS, *_OTHER_FIELDS, "spec.host"}:
        problem = f"field label not supported: {field}"
    if problem:
        yield invalid(f"{path}.fieldPath", field, f"error converting fieldPath: {problem}")
    elif match:
        key = match[2].lower() if match[1] == "metadata.annotations" else match[2]
        yield from (invalid(path, key, each) for each in names.check_qualified_name(key))
    elif field not in choices:
        yield not_supported(f"{path}.fieldPath", field, choices)


def validate_resource(reference: Object, path: str) -> Iterator[FieldError]:
    """Check a resource of a container."""
    name = reference.get("resource") or ""
    if not name:
        yield required(f"{path}.resource")
    elif name not in _RESOURCES and not name.startswith(_HUGE_PAGES):
        yield not_supported(f"{path}.resource", name, _RESOURCES)
    divisor: Any = reference.get("divisor")
    if divisor is None or Quantity.parse(str(divisor)).sign() == 0:
        return
    is_cpu = name in ("limits.cpu", "requests.cpu")
    allowed = ("1m", "1") if is_cpu else _SIZES
    if str(divisor) in allowed or (name not in _RESOURCES and not name.startswith(_HUGE_PAGES)):
        return
    kind = next(
        (
            words
            for end, words in (
                (".cpu", "cpu"),
                (".memory", "memory"),
                ("storage", "local ephemeral storage"),
            )
            if name.endswith(end)
        ),
        "hugepages",
    )
    shown = " and ".join(allowed) if is_cpu else ", ".join(allowed)
    text = f"only divisor's values {shown} are supported with the {kind} resource"
    yield invalid(f"{path}.divisor", name, text)
