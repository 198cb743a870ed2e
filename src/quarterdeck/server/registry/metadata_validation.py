"""Object metadata against its rules, on create and on update.

The order of the errors is Kubernetes', because messages list them in it.
"""

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from quarterdeck.kit.rfc3339 import parse as parse_time
from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    prints_json,
    quote,
    required,
    too_long,
)
from quarterdeck.meta.release import has_feature

ANNOTATIONS_LIMIT = 256 * 1024
NameValidator = Callable[..., Sequence[str]]
"""`Strategy.validate_name`: called with the name and `is_prefix=`."""

KNOWN_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})
_EVENT = ("v1", "Event")


def validate_metadata(
    metadata: Mapping[str, Any], name_problems: NameValidator, *, namespaced: bool
) -> list[FieldError]:
    """Find what is wrong with the metadata of a new object."""
    errors: list[FieldError] = []
    if generate := metadata.get("generateName"):
        errors += [
            invalid("metadata.generateName", generate, problem)
            for problem in name_problems(generate, is_prefix=True)
        ]
    if name := metadata.get("name"):
        if problems := name_problems(name, is_prefix=False):
            errors += [invalid("metadata.name", name, problem) for problem in problems]
    else:
        errors.append(required("metadata.name", "name or generateName is required"))
    namespace = metadata.get("namespace") or ""
    if not (namespaced and is_namespace_name(namespace)):
        errors += _check_namespace(namespace, namespaced=namespaced)
    errors += validate_contents(metadata)
    if metadata.get("finalizers"):
        errors += check_finalizer_names(metadata)
    return errors


def validate_immutables(new: Mapping[str, Any], old: Mapping[str, Any]) -> list[FieldError]:
    """Find changes of immutable members; most are restored before this."""
    errors: list[FieldError] = []
    if old.get("deletionTimestamp"):
        before = set(old.get("finalizers") or ())
        added = [each for each in dict.fromkeys(new.get("finalizers") or ()) if each not in before]
        if added:
            listed = ", ".join(quote(each) for each in added)
            errors.append(
                forbidden(
                    "metadata.finalizers",
                    "no new finalizers can be added if the object is being deleted, found new"
                    f" finalizers []string{{{listed}}}",
                )
            )
    errors += [
        invalid(f"metadata.{member}", new.get(member), "field is immutable")
        for member in ("name", "namespace", "uid")
        if (new.get(member) or "") != (old.get(member) or "")
    ]
    errors += [
        invalid(f"metadata.{member}", _show_member(new.get(member)), "field is immutable")
        for member in ("deletionTimestamp", "deletionGracePeriodSeconds")
        if new.get(member) != old.get(member)
    ]
    return errors


def _show_member(value: object) -> object:
    """Format a time as Go prints it, up to 1.32; other values are returned unchanged."""
    if not isinstance(value, str) or prints_json():
        return value
    try:
        return Bare(f"{parse_time(value):%Y-%m-%d %H:%M:%S} +0000 UTC")
    except ValueError:
        return value


def validate_finalizers(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Find finalizers that are neither Kubernetes' own nor have a domain."""
    text = "name is neither a standard finalizer name nor is it fully qualified"
    return [
        invalid(f"metadata.finalizers[{index}]", each, text)
        for index, each in enumerate(metadata.get("finalizers") or ())
        if "/" not in each and each not in KNOWN_FINALIZERS
    ]


def validate_labels(labels: Mapping[str, str], path: str) -> list[FieldError]:
    """Find invalid keys and values of labels."""
    try:
        for pair in labels.items():
            _check_label(*pair)
        return []
    except ValueError:
        pass  # which is described in detail
    errors: list[FieldError] = []
    for key, value in sorted(labels.items()):
        if problems := names.check_qualified_name(key):
            errors += [invalid(path, key, problem) for problem in problems]
        if problems := names.check_label_value(value):
            errors += [invalid(path, value, problem) for problem in problems]
    return errors


@functools.lru_cache(maxsize=4096)
def _check_label(key: str, value: str) -> None:
    """Check a label; only valid ones are cached, because objects share most of their labels.

    Raises:
        ValueError: if the key or the value is invalid.
    """
    if names.check_qualified_name(key) or names.check_label_value(value):
        raise ValueError(f"the label {key} is not valid")


@functools.lru_cache(maxsize=1024)
def is_namespace_name(name: str) -> bool:
    """Whether a text is a valid name of a namespace; cached, because there are few of them."""
    return bool(name) and not names.check_dns1123_label(name)


def _check_namespace(namespace: str, *, namespaced: bool) -> list[FieldError]:
    path = "metadata.namespace"
    if not namespaced:
        return [forbidden(path, "not allowed on this type")] if namespace else []
    if not namespace:
        return [required(path)]
    return [invalid(path, namespace, problem) for problem in names.check_dns1123_label(namespace)]


def validate_contents(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Find what is wrong with labels, annotations and owners."""
    errors: list[FieldError] = []
    if labels := metadata.get("labels"):
        errors += validate_labels(labels, "metadata.labels")
    if annotations := metadata.get("annotations"):
        errors += validate_annotations(annotations, "metadata.annotations")
    if owners := metadata.get("ownerReferences"):
        errors += _check_owners(owners)
    return errors


def validate_annotations(annotations: Mapping[str, str], path: str) -> list[FieldError]:
    """Find invalid keys of annotations, and check their total size."""
    errors: list[FieldError] = []
    size = 0
    for key, value in sorted(annotations.items()):
        # the key is checked in lower case, as Kubernetes does, and shown as it came
        errors += [
            invalid(path, key, problem) for problem in names.check_qualified_name(key.lower())
        ]
        size += len(key.encode()) + len(value.encode())
    if size > ANNOTATIONS_LIMIT:
        errors.append(too_long(path, "", ANNOTATIONS_LIMIT))
    return errors


def _check_owners(owners: Sequence[Mapping[str, Any]]) -> list[FieldError]:
    path = "metadata.ownerReferences"
    errors: list[FieldError] = []
    controller = ""
    for owner in owners:
        errors += _check_owner(owner, path)
        if owner.get("controller"):
            if controller:
                errors.append(
                    invalid(
                        path,
                        Bare(_show_owners(owners)),
                        'Only one reference can have Controller set to true. Found "true" in'
                        f" references for {controller} and {owner.get('kind')}/{owner.get('name')}",
                    )
                )
            else:
                controller = f"{owner.get('kind')}/{owner.get('name')}"
    return errors


def _check_owner(owner: Mapping[str, Any], path: str) -> list[FieldError]:
    errors: list[FieldError] = []
    api_version, kind = owner.get("apiVersion") or "", owner.get("kind") or ""
    if not api_version or api_version.count("/") > 1:
        errors.append(invalid(f"{path}.apiVersion", api_version, "version must not be empty"))
    if not kind:
        errors.append(invalid(f"{path}.kind", kind, _describe_empty("kind")))
    errors += [
        invalid(f"{path}.{member}", "", _describe_empty(member))
        for member in ("name", "uid")
        if not owner.get(member)
    ]
    if (api_version, kind) == _EVENT:
        errors.append(
            invalid(
                path, Bare(_show_owner(owner)), "/v1, Kind=Event is disallowed from being an owner"
            )
        )
    return errors


def _describe_empty(member: str) -> str:
    """Return the message for an empty member; in newer releases it does not name the member."""
    return "must not be empty" if has_feature("NewerMessages") else f"{member} must not be empty"


def check_finalizer_names(metadata: Mapping[str, Any]) -> list[FieldError]:
    """Find finalizers that are not qualified names, and those that exclude each other."""
    path = "metadata.finalizers"
    finalizers: Sequence[str] = metadata.get("finalizers") or ()
    errors: list[FieldError] = []
    for finalizer in finalizers:
        errors += [
            invalid(path, finalizer, problem) for problem in names.check_qualified_name(finalizer)
        ]
    if "orphan" in finalizers and "foregroundDeletion" in finalizers:
        errors.append(
            invalid(
                path,
                Bare("[]string{" + ", ".join(quote(each) for each in finalizers) + "}"),
                "finalizer orphan and foregroundDeletion cannot be both set",
            )
        )
    return errors


def _show_owner(owner: Mapping[str, Any]) -> str:
    """Format an owner reference in Go's syntax, in which booleans are pointers up to 1.32."""
    texts = (("APIVersion", "apiVersion"), ("Kind", "kind"), ("Name", "name"), ("UID", "uid"))
    flags = (("Controller", "controller"), ("BlockOwnerDeletion", "blockOwnerDeletion"))
    members = [f"{go}:{quote(owner.get(name) or '')}" for go, name in texts]
    if prints_json():
        given = [(go, owner[name]) for go, name in flags if owner.get(name) is not None]
        members += [f"{go}:{str(flag).lower()}" for go, flag in given]
        return "v1.OwnerReference{" + ", ".join(members) + "}"
    members += [
        f"{go}:(*bool)({'nil' if owner.get(name) is None else '0xc000000000'})"
        for go, name in flags
    ]
    return "v1.OwnerReference{" + ", ".join(members) + "}"


def _show_owners(owners: Sequence[Mapping[str, Any]]) -> str:
    return "[]v1.OwnerReference{" + ", ".join(map(_show_owner, owners)) + "}"
