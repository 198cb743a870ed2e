"""An object as an `autoscaling/v1 Scale`, and back: what is shown, decoded and written."""

from quarterdeck.kit import json as kit_json
from quarterdeck.meta import builtins
from quarterdeck.meta.field import format_go_value, invalid
from quarterdeck.meta.identity import GVK
from quarterdeck.server.handlers import patch as patching
from quarterdeck.server.kinds.fields import get_field
from quarterdeck.server.registry.resource import Object
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_name
from quarterdeck.server.request.type_meta import check_builtin_type, explain_non_object, name_scheme
from quarterdeck.wire.apply.schema_type import build_root_type
from quarterdeck.wire.apply.typed_objects import TypedObjects, get_metadata
from quarterdeck.wire.status import ApiError, BadRequest, InternalError, Invalid, NotFound

SCALE_KIND = GVK("autoscaling", "v1", "Scale")


class ScaleView:
    """Converts an object to a Scale for webhooks and policies, and back."""

    kind = SCALE_KIND

    def __init__(self, call: Call) -> None:
        self._call = call

    def to_subresource(self, value: Object) -> Object:
        """Return the Scale of an object."""
        return to_patched_scale(self._call, value)

    def from_subresource(self, value: Object, shown: Object) -> Object:
        """Return the object with the replica count of a Scale."""
        return apply_scale(self._call, value, decode_scale(self._call, shown, "Ignore"))


def to_scale(call: Call, value: Object) -> Object:
    """Return the Scale of an object.

    Raises:
        NotFound: if the kind has no scale.
        ApiError: 500 if the spec replicas field is absent, as in Kubernetes.
    """
    scale = call.resource.strategy.read_scale(value)
    if scale is None:
        raise NotFound.resource()
    metadata = value["metadata"]
    names = ("name", "namespace", "uid", "resourceVersion", "creationTimestamp")
    status: Object = {"replicas": scale.status_replicas}
    if scale.selector:
        status["selector"] = scale.selector
    return {
        "kind": SCALE_KIND.kind,
        "apiVersion": SCALE_KIND.api_version,
        "metadata": {name: metadata[name] for name in names if name in metadata},
        "spec": {"replicas": scale.spec_replicas} if scale.spec_replicas else {},
        "status": status,
    }


def to_patched_scale(call: Call, value: Object, *, absent: int = 0) -> Object:
    """Return the Scale before a patch; `absent` is used if the object has no replica count."""
    try:
        return to_scale(call, value)
    except InternalError:
        filled = patching.copy_object(value)
        call.resource.strategy.write_scale(filled, absent)
        return to_scale(call, filled)


def decode_scale(call: Call, document: object, validation: str) -> Object:
    """Decode a body as a Scale.

    Raises:
        BadRequest: in Kubernetes' words, for another kind, wrong types, and unknown fields where
            these are refused.
    """
    if not isinstance(document, dict):
        raise BadRequest(f"couldn't get version/kind; {explain_non_object(document)}")
    kind, api_version = document.get("kind"), document.get("apiVersion")
    check_builtin_type(
        str(kind or SCALE_KIND.kind), str(api_version or SCALE_KIND.api_version), SCALE_KIND
    )
    decoded = builtins.decode(document, SCALE_KIND)
    problem = decoded.error
    unknown = [
        f'unknown field "{each}"' for each in builtins.find_unknown_fields(document, SCALE_KIND)
    ]
    if problem is None and unknown and validation == "Strict":
        problem = f"strict decoding error: {', '.join(unknown)}"
    if problem is not None:
        raise BadRequest(f'Scale in version "v1" cannot be handled as a Scale: {problem}')
    if validation == "Warn":
        for each in unknown:
            call.warn(each)
    return {"metadata": {}, **decoded.object}


def decode_sent(call: Call, document: object, validation: str) -> Object:
    """Decode the body of a PUT as a Scale; errors of custom kinds have no cause, as in Kubernetes.

    Raises:
        BadRequest: if the body is not a Scale.
    """
    try:
        return decode_scale(call, document, validation)
    except BadRequest as error:
        if not call.resource.is_custom or "strict decoding error" in error.message:
            raise
        raise BadRequest(
            f'no kind is registered for the type v1.Scale in scheme "{name_scheme()}"'
        ) from error


def decode_patched(
    call: Call, patched: Object, validation: str, *, strategic: Object | None = None
) -> Object:
    """Decode a patched Scale; `strategic` is the patch if it is a strategic merge patch.

    Raises:
        Invalid: showing the patched Scale, or the strategic merge patch.
    """
    if strategic is not None:
        patched = builtins.convert_numbers(patched, SCALE_KIND)
    try:
        scale = decode_scale(call, patched, validation)
    except BadRequest as error:
        why = error.message.rpartition("cannot be handled as a Scale: ")[2]
        text = kit_json.encode(patched).decode()
        if strategic is not None:
            why = builtins.find_conversion_error(patched, SCALE_KIND) or why
            text = format_go_value(strategic)
        raise Invalid.of("", "", [invalid("patch", text, why)]) from error
    check_name(call, scale["metadata"])
    return scale


class AppliedScale:
    """A Scale of a server-side apply, checked and converted as Kubernetes does."""

    def __init__(self, config: Object) -> None:
        self._config = config

    def check(self) -> None:
        """Compare the configuration with the schema of a Scale.

        Raises:
            ApiError: 500 if it does not fit, as Kubernetes answers it.
        """
        node = builtins.find_node(SCALE_KIND)
        assert node is not None  # the table has it
        objects = TypedObjects(node, build_root_type(node), SCALE_KIND.api_version)
        objects.check_applied(self._config)

    def get_replicas(self) -> int | None:
        """Return the applied replica count as an integer; None if it is absent."""
        replicas = get_field(builtins.convert_numbers(self._config, SCALE_KIND), "spec", "replicas")
        return None if replicas is None else int(replicas)

    def decode(self) -> Object:
        """Decode the Scale; called after the check for conflicts with other managers.

        Raises:
            ApiError: 500 if Go cannot convert it.
        """
        config = builtins.convert_numbers(self._config, SCALE_KIND)
        decoded = builtins.decode(config, SCALE_KIND)
        if decoded.error is None:
            return {"metadata": {}, **decoded.object}
        why = builtins.find_conversion_error(config, SCALE_KIND) or decoded.error
        raise self.build_conversion_error(
            f"unable to convert unstructured object to {SCALE_KIND.api_version},"
            f" Kind={SCALE_KIND.kind}: {why}"
        )

    def build_conversion_error(self, why: str) -> ApiError:
        """Build the 500 for a Scale that cannot be converted."""
        metadata = get_metadata(self._config)
        name = f"{metadata.get('namespace', '')}/{metadata.get('name', '')}"
        where = f"({name}; {SCALE_KIND.api_version}, Kind={SCALE_KIND.kind})"
        return ApiError(f"failed to convert new object {where} to proper version: {why}", code=500)


def apply_scale(call: Call, old: Object, scale: Object) -> Object:
    """Return a copy of an object with the replica count of a Scale."""
    metadata, replicas = scale["metadata"], (scale.get("spec") or {}).get("replicas") or 0
    if replicas < 0 and not call.resource.is_custom:
        problem = invalid("spec.replicas", replicas, "must be greater than or equal to 0")
        raise Invalid.of("Scale", call.path.name, [problem], group=SCALE_KIND.group)
    value = patching.copy_object(old)
    for name in ("resourceVersion", "uid"):
        if metadata.get(name):
            value["metadata"][name] = metadata[name]
    call.resource.strategy.write_scale(value, replicas)
    return value
