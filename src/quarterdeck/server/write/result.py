"""What creation, change and deletion share: intent, result, admission attributes and errors."""

import contextlib
from collections.abc import Callable

import msgspec

from quarterdeck.meta.field import FieldError
from quarterdeck.server.admission.attributes import AdmissionAttributes, View
from quarterdeck.server.core import Core
from quarterdeck.server.core.durability import wait_until_durable
from quarterdeck.server.registry.codec import build_encoder, decode_stored, encode_custom
from quarterdeck.server.registry.metadata_checks import checks_metadata, get_kind_checks
from quarterdeck.server.registry.metadata_validation import validate_finalizers
from quarterdeck.server.registry.resource import Context, Object, ValidationTooExpensive
from quarterdeck.server.request.call import Call
from quarterdeck.storage import Entry, RevisionConflict
from quarterdeck.storage.types import Encode
from quarterdeck.wire.query import CreateOptions
from quarterdeck.wire.status import Conflict, NotFound, RequestEntityTooLarge

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)


class WriteOptions(msgspec.Struct, frozen=True):
    """The options of a write besides its object."""

    manager: str
    is_dry_run: bool = False
    subresource: str = ""
    view: View | None = None
    """Converts the object to the kind of the subresource, if that has its own kind."""
    sent: CreateOptions | None = None
    """The options of the request as sent; None if none were set."""


class WriteResult(msgspec.Struct, frozen=True, eq=False):
    """The object as served after a write, and its stored bytes if they are served unchanged."""

    value: Object
    body: bytes | None
    created: bool = False
    deleted: bool = False
    size: int = 0
    """The approximate size of the object in bytes."""


Change = Callable[[Object], Object]
"""Takes the current object, which it must not change; returns the new one, or raises ApiError."""


def get_current(core: Core, call: Call) -> Entry:
    """Return the newest decided state of the object of a call.

    Raises:
        NotFound: if it does not exist.
    """
    entry = core.store.get_pending(call.key)
    if entry is None:
        raise build_not_found(call)
    return entry


def build_not_found(call: Call) -> NotFound:
    """Build the 404 for the object a call names."""
    gvr = call.resource.gvr
    return NotFound.of(gvr.resource, call.path.name, group=gvr.group)


def build_conflict(call: Call, why: str) -> Conflict:
    """Build the 409 for the object a call names."""
    gvr = call.resource.gvr
    return Conflict.of(gvr.resource, call.path.name, why, group=gvr.group)


def build_bounded_encoder(
    core: Core, call: Call, value: Object, converted: Object | None
) -> Encode:
    """Build the encoder of an object for storage, which refuses objects over the size limit.

    `converted` is the object in its stored version, if a webhook converted it.
    """
    resource, limit = call.resource, core.options.max_object_bytes
    if converted is not None or not (resource.is_custom and resource.strategy.stored_as_served):
        return _bound_size(build_encoder(value, resource, stored=converted), limit)
    metadata = value["metadata"]

    def encode(revision: int) -> bytes:
        metadata["resourceVersion"] = str(revision)
        if len(data := encode_custom(value)) > limit:
            raise _build_too_large(data, limit)
        return data

    return encode


async def wait_for_completion(core: Core, call: Call, entry: Entry | None) -> None:
    """Wait for the write of the server that follows one of a client; see `is_completed`.

    The write of the client is durable in any case, and the server repeats its own if it fails.
    """
    if call.resource.is_completed and entry is not None:
        follower = core.store.get_pending(entry.key)
        if follower is not None:
            with contextlib.suppress(RevisionConflict):
                await wait_until_durable(core, follower)


async def build_result(
    core: Core, call: Call, value: Object, entry: Entry | None, *, created: bool = False
) -> WriteResult:
    """Build the result of a write, with the stored bytes if they are served as they are."""
    resource = call.resource
    if entry is None:
        return WriteResult(value, None, created=created)
    size = len(entry.value)
    if resource.strategy.stored_as_served:
        return WriteResult(value, entry.value, created, size=size)
    if resource.is_custom and resource.converter is None:
        # the schema of the stored version has the last word, as it has for every later read
        value = await core.worker.run(size, lambda: decode_stored(resource, entry.value))
    return WriteResult(value, None, created=created, size=size)


def build_dry_result(
    call: Call, value: Object, *, created: bool = False, size: int = 0
) -> WriteResult:
    """Build the result of a dry run: the object as it would be read if it were stored."""
    resource = call.resource
    if resource.is_custom and resource.converter is None and not resource.strategy.stored_as_served:
        value = resource.strategy.to_served(resource.strategy.to_stored(value))
    return WriteResult(value, None, created=created, size=size)


def _bound_size(encode: Encode, limit: int) -> Encode:
    """Wrap an encoder, so that it refuses objects over the size limit.

    Bodies are limited when they are read, but defaults, merges, webhooks and conversions add to
    them.
    """

    def encode_bounded(revision: int) -> bytes:
        data = encode(revision)
        if len(data) > limit:
            raise _build_too_large(data, limit)
        return data

    return encode_bounded


def _build_too_large(data: bytes, limit: int) -> RequestEntityTooLarge:
    return RequestEntityTooLarge(
        f"Request entity too large: the object has {len(data)} bytes, limit is {limit}"
    )


async def validate_in_thread(
    core: Core, context: Context, validate: Callable[[Context], None]
) -> None:
    """Validate an object in a thread, without a time limit.

    Raises:
        ApiError: if the object is invalid.
    """
    patient = msgspec.structs.replace(context, is_quick=False)
    await core.worker.run_in_thread(lambda: validate(patient))


def validate_inline(
    core: Core, size: int, context: Context, validate: Callable[[Context], None]
) -> bool:
    """Validate an object of `size` bytes now; False if `validate_in_thread` must be used instead.

    Small objects are validated at once, unless their rules turn out to be expensive.

    Raises:
        ApiError: if the object is invalid.
    """
    if not core.worker.is_quick(size):
        return False
    try:
        validate(context if context.is_quick else msgspec.structs.replace(context, is_quick=True))
    except ValidationTooExpensive:
        return False
    return True


def build_attributes(
    call: Call, verb: str, write_options: WriteOptions, *, value: Object, old: Object | None = None
) -> AdmissionAttributes:
    """Build the admission attributes of a write."""
    return AdmissionAttributes(
        verb=verb,
        resource=call.resource,
        namespace=call.path.namespace,
        name=value["metadata"].get("name") or "",
        user=call.user,
        subresource=write_options.subresource,
        value=value,
        old=old,
        options=write_options.sent,
        view=write_options.view,
        is_dry_run=write_options.is_dry_run,
        warnings=call.warnings,
        audit_annotations=call.audit_annotations,
    )


def validate_finalizers_of(call: Call, metadata: Object) -> list[FieldError]:
    """Find invalid finalizers; for custom resources they only cause a warning elsewhere."""
    if not get_kind_checks(call.resource).knows_finalizers or not checks_metadata(call.resource):
        return []
    return validate_finalizers(metadata)


def with_metadata_errors(context: Context, problems: list[FieldError]) -> Context:
    """Return the context with the errors of the metadata; the same one if there are none."""
    if not problems:
        return context
    return Context(
        now=context.now,
        random=context.random,
        user=context.user,
        namespace=context.namespace,
        subresource=context.subresource,
        metadata_errors=tuple(problems),
        is_quick=context.is_quick,
    )
