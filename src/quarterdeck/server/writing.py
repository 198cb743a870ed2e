"""The road of every write, from a shaped object to a durable one.

Between reading an object and deciding its new state nothing waits, so no two writers can be decided
against the same state; only plugins that must wait (webhooks) open that gap, and then the decision
is made again. The answer is given after the commit.
"""

import uuid
from collections.abc import Callable
from typing import NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.meta.field import Bare, FieldError, invalid
from quarterdeck.server import managed
from quarterdeck.server.answers import decode_stored
from quarterdeck.server.call import Call
from quarterdeck.server.core import Core
from quarterdeck.server.deletion import is_finished
from quarterdeck.server.meta_validation import metadata as rules
from quarterdeck.server.pipeline.admission import Attempt
from quarterdeck.server.registry.resource import Context, Object, Strategy
from quarterdeck.server.settling import settled
from quarterdeck.storage import Entry, RevisionConflict, StoreKey
from quarterdeck.wire.status import AlreadyExists, ApiError, BadRequest, Conflict, Invalid, NotFound

MODIFIED = (
    "the object has been modified; please apply your changes to the latest version and try again"
)
_NAME_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_NAME_BASE_LIMIT = 58
_NAME_SUFFIX = 5
_NAME_ATTEMPTS = 8
_ATTEMPTS = 64
_KEPT_METADATA = (
    "name",
    "namespace",
    "uid",
    "creationTimestamp",
    "deletionTimestamp",
    "deletionGracePeriodSeconds",
    "generation",
    "resourceVersion",
)


class Intent(NamedTuple):
    """What a write is told besides its object."""

    manager: str
    is_dry_run: bool = False
    subresource: str = ""


class Written(NamedTuple):
    """What a write left behind: the object as served, and its stored bytes if they are it."""

    value: Object
    body: bytes | None
    created: bool = False
    deleted: bool = False


Change = Callable[[Object], Object]
"""From the present object (only read) to the shaped new one; may raise an ApiError."""


# create ------------------------------------------------------------------------------------------


async def create(
    core: Core, call: Call, value: Object, intent: Intent, *, track: bool = True
) -> Written:
    """Store a new object.

    Raises:
        ApiError: as Kubernetes would; nothing was stored then.
    """
    strategy, metadata = call.resource.strategy, value["metadata"]
    check_namespace(call, metadata)
    if metadata.get("resourceVersion"):
        raise ApiError("resourceVersion should not be set on objects to be created", code=500)
    context = core.context(call.user.name, call.path.namespace)
    strategy.default(value)
    if track:
        value = managed.track(core, call, value, None, manager=intent.manager)
        metadata = value["metadata"]
    attempt = _attempt(call, "create", intent, value=value)
    core.admission.admit(attempt)
    if core.admission.waits:
        await core.admission.admit_waiting(attempt)
    _fill_metadata(core, strategy, metadata, context)
    strategy.prepare_create(value, context)
    if core.admission.waits:
        _name(core, metadata)
        await core.admission.validate_waiting(attempt)
    return await _store_new(core, call, attempt, context=context)


async def _store_new(core: Core, call: Call, attempt: Attempt, *, context: Context) -> Written:
    value = attempt.value or {}
    metadata = value["metadata"]
    generated = not metadata.get("name") and bool(metadata.get("generateName"))
    for _ in range(_NAME_ATTEMPTS if generated else 1):
        if generated:
            metadata.pop("name", None)
        _name(core, metadata)
        _validate_new(core, call, value, context)
        core.admission.validate(attempt)
        key = StoreKey(call.resource.stored_name, call.path.namespace, metadata["name"])
        if attempt.is_dry_run:
            if core.store.get_pending(key) is None:
                return Written(value, None, created=True)
            continue
        try:
            ticket = core.store.put(key, encoder(call, value), expected=0)
        except RevisionConflict:
            continue
        entry = await ticket
        return _written(call, value, entry, created=True)
    gvr = call.resource.gvr
    raise AlreadyExists.of(gvr.resource, metadata["name"], group=gvr.group)


def _validate_new(core: Core, call: Call, value: Object, context: Context) -> None:
    strategy, metadata = call.resource.strategy, value["metadata"]
    problems = rules.check_new(
        metadata, strategy.name_problems, namespaced=call.resource.namespaced
    )
    errors = [*problems, *strategy.validate_create(value, _told(context, problems))]
    if errors:
        raise Invalid.of(
            call.resource.kind, metadata.get("name") or "", errors, group=call.resource.gvr.group
        )
    for warning in rules.finalizer_warnings(metadata):
        call.warn(warning)
    for warning in strategy.warnings(value, None, context):
        call.warn(warning)


def _fill_metadata(core: Core, strategy: Strategy, metadata: Object, context: Context) -> None:
    for name in ("deletionTimestamp", "deletionGracePeriodSeconds", "selfLink", "generation"):
        metadata.pop(name, None)
    metadata.pop("resourceVersion", None)
    metadata["uid"] = new_uid(core)
    metadata["creationTimestamp"] = format_time(context.now)
    if strategy.has_generation:
        metadata["generation"] = 1


def new_uid(core: Core) -> str:
    """A fresh identity."""
    return str(uuid.UUID(int=core.random.getrandbits(128), version=4))


def _name(core: Core, metadata: Object) -> None:
    """Make up a name from `generateName`, if there is no name."""
    base = metadata.get("generateName")
    if metadata.get("name") or not base:
        return
    suffix = "".join(core.random.choices(_NAME_ALPHABET, k=_NAME_SUFFIX))
    metadata["name"] = base[:_NAME_BASE_LIMIT] + suffix


def check_namespace(call: Call, metadata: Object) -> None:
    """Compare the object's namespace with the path's, and fill it in.

    Raises:
        BadRequest: if they differ.
    """
    named = metadata.get("namespace") or ""
    if not call.resource.namespaced:
        metadata.pop("namespace", None)
        if not named:
            return
    elif not named or named == call.path.namespace:
        metadata["namespace"] = call.path.namespace
        return
    raise BadRequest(
        "the namespace of the provided object does not match the namespace sent on the request"
    )


# update ------------------------------------------------------------------------------------------


async def update(
    core: Core, call: Call, change: Change, intent: Intent, *, track: bool = True
) -> Written:
    """Change a stored object; `change` is asked again where somebody else was faster.

    Raises:
        ApiError: as Kubernetes would; nothing was stored then.
    """
    for _ in range(_ATTEMPTS):
        entry = present(core, call)
        old = decode_stored(call.resource, entry.value)
        value = change(old)
        check_identity(call, value["metadata"], old["metadata"])
        context = core.context(call.user.name, call.path.namespace, intent.subresource)
        call.resource.strategy.default(value)
        _keep_metadata(value["metadata"], old["metadata"])
        if track:
            value = managed.track(core, call, value, old, manager=intent.manager)
        attempt = _attempt(call, "update", intent, value=value, old=old)
        core.admission.admit(attempt)
        if core.admission.waits:
            await core.admission.admit_waiting(attempt)
        call.resource.strategy.prepare_update(value, old, context)
        if call.resource.strategy.bumps_generation(value, old, context):
            value["metadata"]["generation"] = old["metadata"].get("generation", 0) + 1
        if core.admission.waits:
            await core.admission.validate_waiting(attempt)
        _validate_changed(call, value, old, context)
        core.admission.validate(attempt)
        try:
            return await _store_changed(core, call, entry, value=value, old=old, intent=intent)
        except RevisionConflict:
            continue
    raise conflict(call, MODIFIED)


def present(core: Core, call: Call) -> Entry:
    """The newest decided state of the object a call names.

    Raises:
        NotFound: if there is none.
    """
    entry = core.store.get_pending(call.key)
    if entry is None:
        raise missing(call)
    return entry


def missing(call: Call) -> NotFound:
    """The 404 for the object a call names."""
    gvr = call.resource.gvr
    return NotFound.of(gvr.resource, call.path.name, group=gvr.group)


def conflict(call: Call, why: str) -> Conflict:
    """The 409 for the object a call names."""
    gvr = call.resource.gvr
    return Conflict.of(gvr.resource, call.path.name, why, group=gvr.group)


def check_identity(call: Call, metadata: Object, old: Object) -> None:
    """Refuse a change of another object than the one that is there.

    Raises:
        Conflict: if uid or resourceVersion are of another time.
        Invalid: if the kind wants a resourceVersion and there is none.
    """
    uid, version = metadata.get("uid"), metadata.get("resourceVersion")
    if uid and uid != old.get("uid"):
        key = "/".join(part for part in _registry_key(call) if part)
        raise conflict(
            call,
            f"StorageError: invalid object, Code: 4, Key: /registry/{key}, ResourceVersion: 0,"
            f" AdditionalErrorMsg: Precondition failed: UID in precondition: {uid}, UID in object"
            f" meta: {old.get('uid')}",
        )
    if version and version != "0":
        if version != old.get("resourceVersion"):
            raise conflict(call, MODIFIED)
    elif not call.resource.strategy.allow_unconditional_update:
        problem = invalid(
            "metadata.resourceVersion", Bare("0x0"), "must be specified for an update"
        )
        gvr = call.resource.gvr
        raise Invalid.of(gvr.resource, call.path.name, [problem], group=gvr.group)


def _registry_key(call: Call) -> tuple[str, ...]:
    gvr = call.resource.gvr
    return (gvr.group, gvr.resource, call.path.namespace, call.path.name)


def _keep_metadata(metadata: Object, before: Object) -> None:
    """Restore what nobody may change."""
    for name in _KEPT_METADATA:
        if name in before:
            metadata[name] = before[name]
        else:
            metadata.pop(name, None)


def _validate_changed(call: Call, value: Object, old: Object, context: Context) -> None:
    problems = rules.check_changed(value["metadata"], old["metadata"])
    strategy = call.resource.strategy
    # Kubernetes checks the metadata twice on update, and lists what it finds twice
    errors = [
        *problems,
        *problems,
        *strategy.validate_update(value, old, _told(context, problems)),
    ]
    if errors:
        raise Invalid.of(call.resource.kind, call.path.name, errors, group=call.resource.gvr.group)
    for warning in rules.finalizer_warnings(value["metadata"]):
        call.warn(warning)
    for warning in strategy.warnings(value, old, context):
        call.warn(warning)


async def _store_changed(
    core: Core, call: Call, entry: Entry, *, value: Object, old: Object, intent: Intent
) -> Written:
    if is_finished(call.resource, value):
        if not intent.is_dry_run:
            version = value["metadata"].get("resourceVersion")
            ticket = core.store.delete(entry.key, encoder(call, value), expected=entry.revision)
            await ticket
            value["metadata"]["resourceVersion"] = version
        return Written(value, None, deleted=True)
    if managed.only_times_differ(value, old):
        await settled(core, entry)
        return _written(call, old, entry)
    if intent.is_dry_run:
        return Written(value, None)
    ticket = core.store.put(entry.key, encoder(call, value), expected=entry.revision)
    return _written(call, value, await ticket)


# both --------------------------------------------------------------------------------------------


def encoder(call: Call, value: Object) -> Callable[[int], bytes]:
    """Makes the stored bytes of an object once its revision is known."""
    strategy, metadata = call.resource.strategy, value["metadata"]

    def encode(revision: int) -> bytes:
        metadata["resourceVersion"] = str(revision)
        return kit_json.encode(strategy.stored(value))

    return encode


def _written(call: Call, value: Object, entry: Entry | None, *, created: bool = False) -> Written:
    body = entry.value if entry and call.resource.strategy.stored_as_served else None
    return Written(value, body, created=created)


def _attempt(
    call: Call, verb: str, intent: Intent, *, value: Object, old: Object | None = None
) -> Attempt:
    return Attempt(
        verb=verb,
        resource=call.resource,
        namespace=call.path.namespace,
        name=value["metadata"].get("name") or "",
        user=call.user,
        subresource=intent.subresource,
        value=value,
        old=old,
        is_dry_run=intent.is_dry_run,
        warnings=call.warnings,
    )


def _told(context: Context, problems: list[FieldError]) -> Context:
    """The context with what is wrong with the metadata; nearly always the same one."""
    if not problems:
        return context
    return Context(
        now=context.now,
        random=context.random,
        user=context.user,
        namespace=context.namespace,
        subresource=context.subresource,
        metadata_errors=tuple(problems),
    )
