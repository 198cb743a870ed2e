"""The start and the end of a deletion: finalizers, grace periods, and when an object is removed."""

from quarterdeck.kit import duration
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.registry.resource import Context, Object, Resource
from quarterdeck.wire.query import DeleteOptions

ORPHAN = "orphan"
"""The finalizer that waits until the dependents are orphaned."""
_WITHOUT_DEPENDENTS = "events"
"""The resource that the garbage collector ignores: the propagation policy has no effect."""
_WITHOUT_POLICY = "customresourcedefinitions.apiextensions.k8s.io"
"""The resource whose first deletion ignores the propagation policy."""
FOREGROUND = "foregroundDeletion"
"""The finalizer that waits until the dependents are gone."""


def begin_deletion(
    resource: Resource, value: Object, options: DeleteOptions, *, context: Context
) -> tuple[bool, bool]:
    """Mark an object as being deleted, in place; return whether it is kept, and if it changed."""
    strategy, metadata = resource.strategy, value["metadata"]
    is_deleting = bool(metadata.get("deletionTimestamp"))
    if is_deleting and strategy.is_kept(value):
        return True, False
    finalizers = list(metadata.get("finalizers") or ())
    if _has_policy(resource.stored_name, is_deleting=is_deleting):
        finalizers = _compute_finalizers(finalizers, options)
    is_changed = finalizers != (metadata.get("finalizers") or [])
    if finalizers:
        metadata["finalizers"] = finalizers
    else:
        metadata.pop("finalizers", None)
    grace = strategy.compute_grace_period(value, options.grace_period_seconds)
    if is_deleting:
        is_changed |= _shorten(metadata, grace, options, context=context)
        return not is_finished(resource, value), is_changed
    is_kept = strategy.begin_delete(value, context)
    if not (is_kept or metadata.get("finalizers") or grace):
        return False, True
    metadata["deletionTimestamp"] = format_time(context.now + duration.from_seconds(grace))
    if grace or not is_kept:
        metadata["deletionGracePeriodSeconds"] = grace
    if metadata.get("generation") and not is_kept:
        metadata["generation"] += 1
    return True, True


def is_finished(resource: Resource, value: Object) -> bool:
    """Whether an object that is being deleted can be removed now."""
    metadata = value["metadata"]
    return (
        bool(metadata.get("deletionTimestamp"))
        and not metadata.get("finalizers")
        and not metadata.get("deletionGracePeriodSeconds")
        and not resource.strategy.is_kept(value)
    )


def _has_policy(name: str, *, is_deleting: bool) -> bool:
    """Whether the propagation policy applies to a deletion."""
    return name != _WITHOUT_DEPENDENTS and (is_deleting or name != _WITHOUT_POLICY)


def _shorten(metadata: Object, grace: int, options: DeleteOptions, *, context: Context) -> bool:
    """Shorten the grace period by a second deletion, which cannot extend it.

    If finalizers keep an object without a grace period, the period becomes 0.

    Returns whether the metadata changed.
    """
    if "deletionGracePeriodSeconds" not in metadata and metadata.get("finalizers"):
        metadata["deletionGracePeriodSeconds"] = 0
        return True
    present = metadata.get("deletionGracePeriodSeconds") or 0
    if options.grace_period_seconds is None or grace >= present:
        return False
    metadata["deletionTimestamp"] = format_time(context.now + duration.from_seconds(grace))
    metadata["deletionGracePeriodSeconds"] = grace
    return True


def _compute_finalizers(present: list[str], options: DeleteOptions) -> list[str]:
    """Compute the finalizers of an object by the propagation policy."""
    policy = options.propagation_policy
    if options.orphan_dependents is not None:
        policy = "Orphan" if options.orphan_dependents else "Background"
    if policy is None:
        return list(present)
    kept = [each for each in present if each not in (ORPHAN, FOREGROUND)]
    if policy == "Orphan":
        kept.append(ORPHAN)
    elif policy == "Foreground":
        kept.append(FOREGROUND)
    return kept
