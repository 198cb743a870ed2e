"""`kind` and `apiVersion` of request bodies, compared with what the endpoint expects."""

from quarterdeck.meta import builtins
from quarterdeck.meta.field import invalid, quote
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.release import has_feature
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.wire.status import BadRequest, Invalid

_SHOWN_BYTES = 30
_GO_STRUCT = (
    'struct { APIVersion string "json:\\"apiVersion,omitempty\\"";'
    ' Kind string "json:\\"kind,omitempty\\"" }'
)
_JSON_NAMES = {
    list: "array",
    dict: "object",
    str: "string",
    bool: "bool",
    int: "number",
    float: "number",
}


def name_scheme() -> str:
    """Return the name of the scheme in Kubernetes' messages, which is a line of its source."""
    return f"pkg/runtime/scheme.go:{111 if has_feature('NewerMessages') else 100}"


def check_type(call: Call, value: Object, gvk: GVK, *, body: bytes) -> None:
    """Compare `kind` and `apiVersion` with the endpoint's; built-in kinds may leave them out.

    Raises:
        BadRequest, Invalid: as Kubernetes does, which differs between built-in and custom kinds.
    """
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if kind == gvk.kind and api_version == gvk.api_version:
        return
    _check_readable(value, gvk, body)
    if call.resource.strategy.needs_type_meta:
        _check_custom_type(call, value, gvk, body=body)
        return
    check_builtin_type(kind or gvk.kind, api_version or gvk.api_version, gvk)
    value["kind"], value["apiVersion"] = gvk.kind, gvk.api_version


def _check_readable(value: Object, gvk: GVK, body: bytes) -> None:
    """Refuse a kind or apiVersion that cannot be parsed, before they are compared."""
    for name in ("apiVersion", "kind"):
        text = value.get(name)
        if text is not None and not isinstance(text, str):
            problem = f"json: cannot unmarshal {name_json_type(text)} into Go struct field .{name}"
            raise build_unrecognized(
                f"couldn't get version/kind; json parse error: {problem} of type string", gvk, body
            )
    version = value.get("apiVersion") or ""
    if version.count("/") > 1:
        raise build_unrecognized(f"unexpected GroupVersion string: {version}", gvk, body)


def _check_custom_type(call: Call, value: Object, gvk: GVK, *, body: bytes) -> None:
    kind, api_version = value.get("kind"), value.get("apiVersion")
    if not kind:
        raise build_unrecognized(f"Object 'Kind' is missing in '{decode_text(body)}'", gvk, body)
    if api_version is None and "apiVersion" in value:
        raise BadRequest(
            f'{gvk.kind} in version "" cannot be handled as a {gvk.kind}: .apiVersion'
            " accessor error: <nil> is of the type <nil>, expected string"
        )
    if api_version != gvk.api_version:
        raise BadRequest(
            f"the API version in the data ({api_version or ''}) does not match the expected API"
            f" version ({gvk.api_version})"
        )
    metadata = value.get("metadata")
    name = metadata.get("name") if isinstance(metadata, dict) else ""
    problem = invalid("kind", kind, f"must be {gvk.kind}")
    raise Invalid.of(str(kind), name or "", [problem], group=call.resource.gvr.group)


def check_builtin_type(kind: str, api_version: str, gvk: GVK) -> None:
    """Compare the kind and version of a built-in object with those expected.

    Raises:
        BadRequest: naming the kind or the version in the body.
    """
    if kind == gvk.kind and api_version == gvk.api_version:
        return
    group, _, version = api_version.rpartition("/")
    if not builtins.is_builtin(GVK(group, version, kind)):
        raise BadRequest(
            f"{kind} in version {quote(version)} cannot be handled as a {gvk.kind}: no kind"
            f" {quote(kind)} is registered for version {quote(api_version)} in scheme"
            f" {quote(name_scheme())}"
        )
    if kind == gvk.kind:
        raise BadRequest(
            f"the API version in the data ({api_version}) does not match the expected API version"
            f" ({gvk.api_version})"
        )
    raise BadRequest(
        f"{kind} in version {quote(version)} cannot be handled as a {gvk.kind}: converting"
        f" ({group}/{version}.{kind}) to ({gvk.group}/{gvk.version}.{gvk.kind}): unknown conversion"
    )


def build_unrecognized(problem: str, gvk: GVK, body: bytes) -> BadRequest:
    """Build the 400 for a body whose kind is unrecognized; it shows the beginning of the body."""
    return BadRequest(
        f"the object provided is unrecognized (must be of type {gvk.kind}): {problem}"
        f" ({_summarize(body)})"
    )


def _summarize(body: bytes) -> str:
    """Return the first bytes of a body: as text if it looks like JSON, else in hexadecimal."""
    if not body:
        return "<empty>"
    start = body[:_SHOWN_BYTES]
    shown = decode_text(start) if body.startswith(b"{") else start.hex()
    return f"{shown} ..." if len(body) > _SHOWN_BYTES else shown


def explain_non_object(value: object) -> str:
    """Return Go's error for a body that is not an object."""
    return f"json: cannot unmarshal {name_json_type(value)} into Go value of type {_GO_STRUCT}"


def name_json_type(value: object) -> str:
    """Return Go's name for the type of a JSON value."""
    return _JSON_NAMES.get(type(value), "null")


def decode_text(body: bytes) -> str:
    """Decode a body as UTF-8; invalid bytes are replaced."""
    return body.decode("utf-8", "replace")
