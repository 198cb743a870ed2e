"""Creation of objects."""

import functools

from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.release import has_feature
from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.core import Core
from quarterdeck.server.custom.finalizer import DEFINITIONS
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.metadata_checks import checks_metadata
from quarterdeck.server.registry.name_generator import generate_name, generate_uid
from quarterdeck.server.registry.resource import Context, Object, Resource, Strategy
from quarterdeck.server.request.call import Call
from quarterdeck.server.request.object_key import check_namespace
from quarterdeck.server.write import field_managers
from quarterdeck.server.write.result import (
    WriteOptions,
    WriteResult,
    build_attributes,
    build_bounded_encoder,
    build_dry_result,
    build_result,
    validate_finalizers_of,
    validate_in_thread,
    validate_inline,
    wait_for_completion,
    with_metadata_errors,
)
from quarterdeck.storage import RevisionConflict, StoreKey
from quarterdeck.wire.status import (
    AlreadyExists,
    ApiError,
    Details,
    Forbidden,
    Invalid,
    MethodNotAllowed,
    NotFound,
)

_NAME_ATTEMPTS = 8
_TERMINATING = "create not allowed while custom resource definition is terminating"


def build_terminating(resource: Resource, name: str) -> ApiError:
    """Build the error for a new object whose definition is being deleted."""
    gvr = resource.gvr
    if refuses_applied_objects():
        return Forbidden.of(gvr.resource, name, _TERMINATING, group=gvr.group)
    return MethodNotAllowed(_TERMINATING, details=Details(group=gvr.group, kind=gvr.resource))


def refuses_applied_objects() -> bool:
    """Whether server-side apply cannot create objects of a definition that is being deleted.

    Older releases refuse only POST, before the body is read.
    """
    return has_feature("TerminatingKindsAreForbidden")


async def create(
    core: Core, call: Call, value: Object, write_options: WriteOptions, *, track: bool = True
) -> WriteResult:
    """Create an object.

    Raises:
        ApiError: as in Kubernetes; nothing is stored then.
    """
    strategy, metadata = call.resource.strategy, value["metadata"]
    check_namespace(call, metadata)
    if call.resource.is_terminating and refuses_applied_objects():
        raise build_terminating(call.resource, metadata.get("name") or "")
    if track:
        _drop_system_fields(metadata)
    version = metadata.get("resourceVersion") if track else None
    has_version = version is not None and _is_resource_version(version)
    context = core.build_context(call.user.name, call.path.namespace, is_quick=True)
    manager = write_options.manager if track else None
    field_managers.prepare(core, call)
    if core.worker.is_quick(len(call.body or b"")):
        value = _complete(core, call, value, manager=manager, context=context)
    else:
        value = await core.worker.run_in_thread(
            functools.partial(_complete, core, call, value, manager=manager, context=context)
        )
    attributes = build_attributes(call, "create", write_options, value=value)
    if (pending := core.admission.admit_all(attributes)) is not None:
        await pending
        attributes.has_waited = True
    value = attributes.value or value
    metadata = value["metadata"]
    _fill_metadata(core, strategy, metadata, context)
    strategy.prepare_create(value, context)
    return await _store_new(core, call, attributes, context=context, has_version=has_version)


def _complete(
    core: Core, call: Call, value: Object, *, manager: str | None, context: Context
) -> Object:
    """Fill in defaults, and record the field manager; None if apply has recorded it already."""
    strategy = call.resource.strategy
    (strategy.default_applied if manager is None else strategy.default)(value)
    if manager is None:
        return value
    return field_managers.track_new(core, call, value, manager=manager, now=context.now)


async def _store_new(
    core: Core,
    call: Call,
    attributes: AdmissionAttributes,
    *,
    context: Context,
    has_version: bool,
) -> WriteResult:
    value = attributes.value or {}
    metadata, size = value["metadata"], len(call.body or b"")
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    for _ in range(_NAME_ATTEMPTS if generated else 1):
        if generated:
            metadata.pop("name", None)  # so that it comes last
            metadata["name"] = generate_name(metadata["generateName"], core.random)
        validate = functools.partial(_validate_new, call, value)
        if not validate_inline(core, size, context, validate):
            await validate_in_thread(core, context, validate)
            attributes.has_waited = True
        attributes.name = metadata["name"]
        if (pending := core.admission.validate_all(attributes)) is not None:
            await pending
            attributes.has_waited = True
        converted = None
        if call.resource.converter is not None and not attributes.is_dry_run:
            converted = await core.conversions.convert_to_stored(call.resource, value)
            attributes.has_waited = True
        core.admission.charge(attributes)
        key = StoreKey(call.resource.stored_name, call.path.namespace, metadata["name"])
        if attributes.is_dry_run:
            if core.store.get_pending(key) is None:
                return build_dry_result(call, value, created=True, size=size)
            continue
        if has_version:
            raise ApiError("resourceVersion should not be set on objects to be created", code=500)
        if call.resource.is_custom:
            # the definition may have been deleted while a webhook was called: an object that is
            # stored after it would stay for ever, and appear under the next definition of the name
            definition = StoreKey(DEFINITIONS, "", call.resource.stored_name)
            if core.store.get_pending(definition) is None:
                raise NotFound.resource()
        try:
            encode = build_bounded_encoder(core, call, value, converted)
            ticket = core.store.put(key, encode, expected=0)
        except RevisionConflict:
            continue
        entry = await ticket
        if call.resource.is_completed:
            await wait_for_completion(core, call, entry)
        return await build_result(core, call, value, entry, created=True)
    raise _build_already_exists(core, call, metadata["name"])


def _build_already_exists(core: Core, call: Call, name: str) -> AlreadyExists:
    """Build the 409 for a name that exists; the message differs if that object is being deleted."""
    gvr = call.resource.gvr
    error = AlreadyExists.of(gvr.resource, name, group=gvr.group)
    key = StoreKey(call.resource.stored_name, call.path.namespace, name)
    present = core.store.get_pending(key)
    if present is None or b'"deletionTimestamp"' not in present.value:
        return error
    return AlreadyExists(f"object is being deleted: {error.message}", details=error.details)


def _is_resource_version(text: str) -> bool:
    """Whether a text is a resource version; invalid texts and zero are ignored."""
    return text.isascii() and text.isdigit() and text.strip("0") != ""


def _validate_new(call: Call, value: Object, context: Context) -> None:
    strategy, metadata = call.resource.strategy, value["metadata"]
    problems = rules.validate_metadata(
        metadata, strategy.validate_name, namespaced=call.resource.namespaced
    )
    if metadata.get("finalizers"):
        problems += validate_finalizers_of(call, metadata)
    if problems:
        context = with_metadata_errors(context, problems)
    errors = strategy.validate_create(value, context)
    if problems and (not errors or checks_metadata(call.resource)):
        errors = [*problems, *errors]
    if errors:
        raise Invalid.of(
            call.resource.kind, metadata.get("name") or "", errors, group=call.resource.error_group
        )
    for warning in strategy.find_warnings(value, None, context):
        call.warn(warning)


def _drop_system_fields(metadata: Object) -> None:
    """Drop metadata that only the server sets; as in Kubernetes, apply does not call this."""
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink"):
        metadata.pop(name, None)


def _fill_metadata(core: Core, strategy: Strategy, metadata: Object, context: Context) -> None:
    metadata.pop("resourceVersion", None)
    metadata["uid"] = generate_uid(core.random)
    metadata["creationTimestamp"] = format_time(context.now)
    if strategy.has_generation:
        metadata["generation"] = 1
