"""POST of a TokenRequest: a token for a service account."""

import functools
from datetime import timedelta

import msgspec

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import FieldError, invalid
from quarterdeck.meta.identity import GVK, GVR
from quarterdeck.server import write
from quarterdeck.server.authentication.service_accounts.claims import Bound
from quarterdeck.server.core import Core
from quarterdeck.server.kinds.catalog import find_rules
from quarterdeck.server.kinds.strategy import BuiltinStrategy
from quarterdeck.server.registry.object_meta import get_object_meta
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.server.request import decoder
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_namespace
from quarterdeck.server.response import responses
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.options import parse_field_validation, parse_write_options
from quarterdeck.server.write.subresource_admission import PostedAdmission
from quarterdeck.storage import StoreKey
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import BadRequest, Conflict, Invalid, NotFound

TOKEN = "token"
KIND = GVK("authentication.k8s.io", "v1", "TokenRequest")
_DEFAULT_SECONDS = 3600
_MIN_SECONDS = 600
_MAX_SECONDS = 2**32
_BINDABLE = {"Pod": "pods", "Secret": "secrets", "Node": "nodes"}


async def handle(core: Core, call: Call) -> responses.Response:
    """Issue a token; answers 201 with the TokenRequest and the token in its status."""
    options = CreateOptions.parse(call.request.query)
    write_options = parse_write_options(call, options, "CreateOptions", subresource=TOKEN)
    validation = parse_field_validation(options)
    asked = msgspec.structs.replace(call, resource=_build_resource())
    body = await decoder.read_body(call, core.options.max_body_bytes)
    value = await core.worker.run(
        len(body), lambda: decoder.decode_object(asked, body, KIND, validation)
    )
    check_namespace(call, value["metadata"])
    value.pop("status", None)
    _read_seconds(value)
    value = field_managers.track_fields(core, asked, value, None, manager=write_options.manager)
    admission = PostedAdmission(core, call, write_options, kind=KIND)
    value = await admission.admit(value)
    account = write.get_current(core, call)
    _check_name(call, value["metadata"])
    value["metadata"]["creationTimestamp"] = format_time(core.clock.now())
    seconds, spec = _read_seconds(value), value["spec"]
    if errors := _validate_seconds(seconds):
        raise Invalid.of(KIND.kind, "", errors, group=KIND.group)
    spec["audiences"] = spec.get("audiences") or list(core.accounts.audiences)
    await admission.validate(value)
    bound = _find_bound_object(core, call, spec.get("boundObjectRef"))
    token = core.accounts.issue(
        call.key,
        uid=get_object_meta(account).uid,
        audiences=spec["audiences"],
        seconds=seconds,
        bound=bound,
    )
    ends = core.clock.now() + timedelta(seconds=seconds)
    value["status"] = {"token": token, "expirationTimestamp": format_time(ends)}
    return responses.build_object(core, asked, value, 201)


def _check_name(call: Call, metadata: Object) -> None:
    """Fill in the name of the account, which a request may leave out.

    Raises:
        Invalid: if the request has another name.
    """
    name = call.path.name
    if metadata.setdefault("name", name) != name:
        text = "must match the service account name if specified"
        problem = invalid("metadata.name", metadata["name"], text)
        raise Invalid.of(KIND.kind, name, [problem], group=KIND.group)


def _read_seconds(value: Object) -> int:
    """Return the lifetime of the token in seconds; the default is filled in if it is absent."""
    spec: Object = value.setdefault("spec", {})
    spec["expirationSeconds"] = seconds = spec.get("expirationSeconds") or _DEFAULT_SECONDS
    return int(seconds)


@functools.cache
def _build_resource() -> Resource:
    return Resource(
        gvr=GVR(KIND.group, KIND.version, "tokenrequests"),
        kind=KIND.kind,
        list_kind="TokenRequestList",
        singular="tokenrequest",
        namespaced=True,
        strategy=BuiltinStrategy(KIND, find_rules(KIND), has_status=False),
        verbs=("create",),
    )


def _validate_seconds(seconds: int) -> list[FieldError]:
    field = "spec.expirationSeconds"
    if seconds < _MIN_SECONDS:
        return [invalid(field, seconds, "may not specify a duration less than 10 minutes")]
    if seconds > _MAX_SECONDS:
        return [invalid(field, seconds, "may not specify a duration larger than 2^32 seconds")]
    return []


def _find_bound_object(core: Core, call: Call, reference: Object | None) -> Bound | None:
    """Find the object that the token is bound to.

    Raises:
        BadRequest: for kinds that tokens cannot be bound to, and pods of another account.
        NotFound: if the object does not exist.
        Conflict: if the object has another uid.
    """
    if not reference:
        return None
    kind, name = reference.get("kind") or "", reference.get("name") or ""
    group, _, version = (reference.get("apiVersion") or "").rpartition("/")
    if group or kind not in _BINDABLE:
        raise BadRequest(f"cannot bind token to object of type {group}/{version}, Kind={kind}")
    namespace = "" if kind == "Node" else call.path.namespace
    entry = core.store.get(StoreKey(_BINDABLE[kind], namespace, name))
    if entry is None:
        raise NotFound.of(_BINDABLE[kind], name)
    if kind == "Pod":
        _check_account(call, kit_json.decode(entry.value))
    uid, wanted = get_object_meta(entry).uid, reference.get("uid") or ""
    if wanted and wanted != uid:
        raise Conflict.of(
            kind,
            name,
            f"the UID in the bound object reference ({wanted}) does not match the UID in record."
            " The object might have been deleted and then recreated",
        )
    return Bound(kind=kind.lower(), name=name, uid=uid)


def _check_account(call: Call, pod: Object) -> None:
    if (pod.get("spec") or {}).get("serviceAccountName") != call.path.name:
        raise BadRequest(
            f'cannot bind token for serviceaccount "{call.path.name}" to pod running with different'
            " serviceaccount name."
        )
