"""`kind` and `apiVersion` of patched objects, which a patch may change or remove."""

from quarterdeck.kit import json as kit_json
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.type_meta import check_builtin_type, name_json_type
from quarterdeck.wire.status import BadRequest, InternalError

_TYPE_META = ("apiVersion", "kind")


def check_patched_type(call: Call, value: Object, validation: str) -> None:
    """Check kind and version of a patched object; validation does the rest for custom kinds.

    Raises:
        BadRequest: for a kind or version that is malformed, unknown or missing.
        InternalError: for a custom object without apiVersion, as in Kubernetes.
    """
    _check_texts(value)
    if not call.resource.is_custom:
        _check_builtin(call, value, validation)
    elif not value.get("kind"):
        raise BadRequest(f"Object 'Kind' is missing in '{kit_json.encode(value).decode()}'")
    elif not value.get("apiVersion"):
        decoder.check_metadata(value, call.resource.gvk)
        problem = "Object 'apiVersion' is missing in 'object has no apiVersion field'"
        raise InternalError.of(problem)


def _check_texts(value: Object) -> None:
    for name in _TYPE_META:
        text = value.get(name)
        if text is not None and not isinstance(text, str):
            raise BadRequest(
                "couldn't get version/kind; json parse error: json: cannot unmarshal"
                f" {name_json_type(text)} into Go struct field .{name} of type string"
            )


def _check_builtin(call: Call, value: Object, validation: str) -> None:
    gvk = call.resource.gvk
    kind, api_version = value.get("kind") or gvk.kind, value.get("apiVersion") or ""
    if api_version.count("/") > 1:
        raise BadRequest(f"unexpected GroupVersion string: {api_version}")
    check_builtin_type(kind, api_version or gvk.api_version, gvk)
    if not api_version:
        _drop_members(call, value, validation)
    value["kind"], value["apiVersion"] = gvk.kind, gvk.api_version


def _drop_members(call: Call, value: Object, validation: str) -> None:
    """Drop all members of an object without version: Kubernetes decodes it into an empty type.

    The result has no name and is refused later.
    """
    members = sorted(value.keys() - {*_TYPE_META})
    problems = [f'unknown field "{name}"' for name in members]
    if validation == "Strict":
        raise BadRequest(f"strict decoding error: {', '.join(problems)}")
    for problem in problems if validation == "Warn" else ():
        call.warn(problem)
    for name in members:
        del value[name]
