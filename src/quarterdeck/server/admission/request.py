"""The AdmissionRequest of a write, as webhooks and expressions see it. Pure."""

import copy

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.registry.resource import Object, Resource

_NOT_SHOWN = frozenset({"force", "pretty"})
"""Options of the request that CreateOptions, UpdateOptions and DeleteOptions do not have."""
_OPTIONS = {"create": "CreateOptions", "update": "UpdateOptions", "delete": "DeleteOptions"}


def build_request(attributes: AdmissionAttributes, seen_as: Resource) -> Object:
    """Build the request without objects and uid; `seen_as` is the resource by which it matched."""
    asked = attributes.resource
    request: Object = {
        "kind": _describe_kind(seen_as, attributes),
        "resource": _describe_resource(seen_as),
        "requestKind": _describe_kind(asked, attributes),
        "requestResource": _describe_resource(asked),
        "operation": attributes.verb.upper(),
        "userInfo": attributes.user.to_info(),
        "dryRun": attributes.is_dry_run,
        "options": _describe_options(attributes),
    }
    if attributes.subresource:
        request["subResource"] = attributes.subresource
        request["requestSubResource"] = attributes.subresource
    if attributes.name:
        request["name"] = attributes.name
    if attributes.namespace:
        request["namespace"] = attributes.namespace
    return request


def convert_for_review(
    attributes: AdmissionAttributes, value: Object | None, seen_as: Resource
) -> Object | None:
    """Convert the new or old object of a write to the version a webhook or policy sees."""
    if attributes.view is not None and value is not None:
        return attributes.view.to_subresource(value)
    return convert(value, source=attributes.resource, target=seen_as)


def measure_objects(attributes: AdmissionAttributes) -> int:
    """Return the size of the new and the old object of a write, in bytes of JSON."""
    return len(kit_json.encode((attributes.value, attributes.old)))


def convert(value: Object | None, *, source: Resource, target: Resource) -> Object | None:
    """Convert an object to the version of another resource that serves the same objects."""
    if value is None or source is target:
        return value
    return target.strategy.to_served(source.strategy.to_stored(copy.deepcopy(value)))


def _describe_kind(resource: Resource, attributes: AdmissionAttributes) -> Object:
    gvk = resource.gvk if attributes.view is None else attributes.view.kind
    return {"group": gvk.group, "version": gvk.version, "kind": gvk.kind}


def _describe_resource(resource: Resource) -> Object:
    gvr = resource.gvr
    return {"group": gvr.group, "version": gvr.version, "resource": gvr.resource}


def _describe_options(attributes: AdmissionAttributes) -> Object:
    sent: Object = {} if attributes.options is None else msgspec.to_builtins(attributes.options)
    return {
        "kind": _OPTIONS.get(attributes.verb, "CreateOptions"),
        "apiVersion": "meta.k8s.io/v1",
        **{name: value for name, value in sent.items() if name not in _NOT_SHOWN},
    }
