"""Validation of CustomResourceDefinitions, with the messages of Kubernetes."""

from collections.abc import Container, Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.meta import names
from quarterdeck.meta.field import (
    Bare,
    FieldError,
    forbidden,
    invalid,
    not_supported,
    quote,
    required,
)
from quarterdeck.meta.release import has_feature
from quarterdeck.meta.structural import check_structure
from quarterdeck.server.custom import accepted_names, schema_depth, version_rules
from quarterdeck.server.custom.default_size import validate_default_size
from quarterdeck.server.custom.prepared_schema import prepare_large_schema
from quarterdeck.server.custom.schema_rules import StoredExpressions, validate_expressions
from quarterdeck.server.registry.client_config import validate_client
from quarterdeck.server.registry.resource import Object

Document = Mapping[str, Any]


def validate_definition(definition: Object) -> list[FieldError]:
    """Find what is wrong with a new definition."""
    errors = [
        *_validate_spec(definition),
        *_validate_status(definition),
        *_validate_approval(definition),
    ]
    return errors or list(validate_default_size(definition["spec"]["versions"]))


def validate_definition_update(definition: Object, old: Object) -> list[FieldError]:
    """Find what is wrong with a changed definition."""
    stored = StoredExpressions(old["spec"].get("versions") or ())
    errors = [
        *_validate_spec(definition, stored),
        *_validate_immutable(definition["spec"], old),
        *_validate_status(definition),
        *(_validate_approval(definition) if _is_approval_changed(definition, old) else ()),
    ]
    return errors or list(validate_default_size(definition["spec"]["versions"]))


def _validate_spec(
    definition: Object, stored: Container[str] = frozenset()
) -> Iterator[FieldError]:
    spec: Document = definition.get("spec") or {}
    versions: Sequence[Document] = spec.get("versions") or ()
    if too_deep := list(schema_depth.validate_depth(versions)):
        yield from too_deep  # nothing else may look into such a schema
        return
    yield from _group_errors(spec.get("group") or "")
    yield from _validate_choice("spec.scope", spec.get("scope") or "", ("Cluster", "Namespaced"))
    shared = find_shared_members(versions)
    for index, version in enumerate(versions):
        if not (version.get("schema") or {}).get("openAPIV3Schema"):
            place = f"spec.versions[{index}].schema.openAPIV3Schema"
            yield required(place, "" if has_feature("NewerMessages") else "schemas are required")
    for index, version in enumerate(versions):
        yield from _validate_version(version, f"spec.versions[{index}]", shared, stored=stored)
    yield from _validate_versions(versions)
    yield from _validate_names(spec.get("names") or {}, "spec.names")
    if versions and shared:
        yield from _validate_shared(versions, shared, stored=stored)
    if spec.get("preserveUnknownFields"):
        text = (
            "cannot set to true, set x-kubernetes-preserve-unknown-fields to true in"
            " spec.versions[*].schema instead"
        )
        yield invalid("spec.preserveUnknownFields", value=True, detail=text)
    yield from _validate_conversion(spec.get("conversion") or {}, "spec.conversion")


def find_shared_members(versions: Sequence[Document]) -> frozenset[str]:
    """Find the members that are the same in every version, which are reported at the top."""
    if not versions:
        return frozenset()
    first = versions[0]
    return frozenset(
        name
        for name in ("schema", "subresources", "additionalPrinterColumns", "selectableFields")
        if first.get(name) and all(version.get(name) == first.get(name) for version in versions)
    )


def _group_errors(group: str) -> Iterator[FieldError]:
    if not group:
        yield required("spec.group")
    elif problems := names.check_dns1123_subdomain(group):
        yield invalid("spec.group", group, ",".join(problems))
    elif "." not in group:
        yield invalid("spec.group", group, "should be a domain with at least one dot")


def _validate_choice(path: str, value: str, choices: Sequence[str]) -> Iterator[FieldError]:
    if not value:
        yield required(path)
    elif value not in choices:
        yield not_supported(path, value, choices)


def _validate_version(
    version: Document, path: str, shared: frozenset[str], *, stored: Container[str]
) -> Iterator[FieldError]:
    name = version.get("name") or ""
    if problems := names.check_dns1035_label(name):
        yield invalid(f"{path}.name", name, ",".join(problems))
    yield from version_rules.validate_deprecation(version, f"{path}.deprecationWarning")
    if "schema" not in shared:
        yield from validate_schema(version, f"{path}.schema.openAPIV3Schema", stored=stored)
    if "subresources" not in shared:
        yield from version_rules.validate_subresources(version, f"{path}.subresources")
    if "additionalPrinterColumns" not in shared:
        yield from version_rules.validate_columns(version, f"{path}.additionalPrinterColumns")
    has_schema = "schema" not in shared and version.get("schema")
    if version.get("selectableFields") and not has_schema and "selectableFields" not in shared:
        # Kubernetes moves what all versions share to the top level, and finds no schema here
        text = (
            "may only be set when `version.schema.openAPIV3Schema` is not included"
            if has_feature("NewerMessages")
            else "selectableFields may only be set when version.schema.openAPIV3Schema is not"
            " included"
        )
        yield invalid(f"{path}.selectableFields", "", text)
    elif "selectableFields" not in shared:
        yield from version_rules.validate_selectable_fields(version, f"{path}.selectableFields")


def _validate_shared(
    versions: Sequence[Document], shared: frozenset[str], *, stored: Container[str]
) -> Iterator[FieldError]:
    first = versions[0]
    if "schema" in shared:
        path = "spec.validation.openAPIV3Schema"
        yield from validate_schema(first, path, versions=versions, stored=stored)
    if "subresources" in shared:
        yield from version_rules.validate_subresources(first, "spec.subresources")
    if "additionalPrinterColumns" in shared:
        yield from version_rules.validate_columns(first, "spec.additionalPrinterColumns")
    if "selectableFields" in shared and "schema" not in shared:
        text = "may only be set when validations.schema is included"
        text = text if has_feature("NewerMessages") else f"selectableFields {text}"
        yield invalid("spec.selectableFields", "", text)
    elif "selectableFields" in shared:
        yield from version_rules.validate_selectable_fields(first, "spec.selectableFields")


def validate_schema(
    version: Document,
    path: str,
    *,
    versions: Sequence[Document] = (),
    stored: Container[str] = frozenset(),
) -> list[FieldError]:
    """Find what is wrong with the schema of a version, and then with its expressions."""
    document = (version.get("schema") or {}).get("openAPIV3Schema")
    if not document:
        return []
    has_status = any(
        (each.get("subresources") or {}).get("status") is not None
        for each in (versions or (version,))
    )
    errors = check_structure(document, path, has_status=has_status)
    errors = errors or validate_expressions(document, path, stored)
    if not errors:
        prepare_large_schema(document)
    return errors


def _validate_versions(versions: Sequence[Document]) -> Iterator[FieldError]:
    found = [version.get("name") for version in versions]
    shown = Bare(f"[]apiextensions.CustomResourceDefinitionVersion{{{len(versions)} versions}}")
    if len(set(found)) != len(found):
        yield invalid("spec.versions", shown, "must contain unique version names")
    if sum(bool(version.get("storage")) for version in versions) != 1:
        text = "must have exactly one version marked as storage version"
        yield invalid("spec.versions", shown, text)


def _validate_names(given: Document, path: str) -> Iterator[FieldError]:
    if path == "spec.names":
        for member in ("plural", "singular", "kind", "listKind"):
            if not given.get(member):
                yield required(f"{path}.{member}")
    for member in ("plural", "singular"):
        name = given.get(member) or ""
        if name and (problems := names.check_dns1035_label(name)):
            yield invalid(f"{path}.{member}", name, ",".join(problems))
    for member in ("kind", "listKind"):
        name = given.get(member) or ""
        if name and (problems := names.check_dns1035_label(name.lower())):
            text = "may have mixed case, but should otherwise match: " + ",".join(problems)
            yield invalid(f"{path}.{member}", name, text)
    yield from _validate_name_list(given.get("shortNames") or (), f"{path}.shortNames")
    if given.get("kind") and given.get("kind") == given.get("listKind"):
        text = "kind and listKind may not be the same"
        yield invalid(f"{path}.listKind", given["listKind"], text)
    yield from _validate_name_list(given.get("categories") or (), f"{path}.categories")


def _validate_name_list(given: Sequence[str], path: str) -> Iterator[FieldError]:
    for index, name in enumerate(given):
        if problems := names.check_dns1035_label(name):
            yield invalid(f"{path}[{index}]", name, ",".join(problems))


def _validate_conversion(conversion: Document, path: str) -> Iterator[FieldError]:
    strategy = conversion.get("strategy") or ""
    yield from _validate_choice(f"{path}.strategy", strategy, ("None", "Webhook"))
    webhook = conversion.get("webhook") or {}
    config, reviews = webhook.get("clientConfig"), webhook.get("conversionReviewVersions") or []
    if strategy != "Webhook":
        for present, member in (
            (config, "webhookClientConfig"),
            (reviews, "conversionReviewVersions"),
        ):
            if present:
                text = "should not be set when strategy is not set to Webhook"
                yield forbidden(f"{path}.{member}", text)
        return
    if config is None:
        text = "required when strategy is set to Webhook"
        yield required(f"{path}.webhookClientConfig", text)
    else:
        yield from validate_client(config, f"{path}.webhookClientConfig")
    if not reviews:
        yield required(f"{path}.conversionReviewVersions")
    elif not {"v1", "v1beta1"} & set(reviews):
        shown = Bare("[]string{" + ", ".join(map(quote, reviews)) + "}")
        text = "must include at least one of v1, v1beta1"
        yield invalid(f"{path}.conversionReviewVersions", shown, text)


def _validate_status(definition: Object) -> Iterator[FieldError]:
    status: Document = definition.get("status") or {}
    yield from _validate_names(status.get("acceptedNames") or {}, "status.acceptedNames")
    stored: Sequence[str] = status.get("storedVersions") or ()
    path = "status.storedVersions"
    shown = Bare("[]string{" + ", ".join(map(quote, stored)) + "}")
    if not stored:
        yield invalid(path, Bare("[]string(nil)"), "must have at least one stored version")
        return
    versions = definition["spec"].get("versions") or ()
    for version in versions:
        if version.get("storage") and version.get("name") not in stored:
            text = f"must have the storage version {version.get('name')}"
            yield invalid(path, shown, text)
    known = {version.get("name") for version in versions}
    for index, name in enumerate(stored):
        if name not in known:
            yield invalid(f"{path}[{index}]", name, "must appear in spec.versions")


def _validate_approval(definition: Object) -> Iterator[FieldError]:
    state, text = accepted_names.get_approval(definition) or ("Approved", "")
    path = f"metadata.annotations[{accepted_names.APPROVAL_ANNOTATION}]"
    if state == "Missing":
        yield required(path, text)
    elif state == "Invalid":
        annotations = (definition.get("metadata") or {}).get("annotations") or {}
        yield invalid(path, annotations.get(accepted_names.APPROVAL_ANNOTATION), text)


def _is_approval_changed(definition: Object, old: Object) -> bool:
    before, after = accepted_names.get_approval(old), accepted_names.get_approval(definition)
    return (before or ("",))[0] != (after or ("",))[0]


def _validate_immutable(spec: Document, old: Object) -> Iterator[FieldError]:
    before = old["spec"]
    if accepted_names.is_condition_true(old, "Established"):
        if spec.get("scope") != before.get("scope"):
            yield invalid("spec.scope", spec.get("scope"), "field is immutable")
        if _get_name(spec, "kind") != _get_name(before, "kind"):
            yield invalid("spec.names.kind", _get_name(spec, "kind"), "field is immutable")
    if spec.get("group") != before.get("group"):
        yield invalid("spec.group", spec.get("group"), "field is immutable")
    if _get_name(spec, "plural") != _get_name(before, "plural"):
        yield invalid("spec.names.plural", _get_name(spec, "plural"), "field is immutable")


def _get_name(spec: Document, member: str) -> Any:
    return (spec.get("names") or {}).get(member)
