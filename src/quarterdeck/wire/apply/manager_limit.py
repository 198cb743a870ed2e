"""A bound on managedFields: the oldest updaters of a version share one entry."""

from quarterdeck.wire.apply.fieldset import merge_tries
from quarterdeck.wire.apply.identity import UPDATE, Identity
from quarterdeck.wire.apply.managed_fields import Managed
from quarterdeck.wire.apply.updater import VersionedFields

MAX_UPDATE_MANAGERS = 10
_ANCIENT = "ancient-changes"


def merge_oldest_managers(managed: Managed) -> Managed:
    """Merge the oldest update managers of a version into one when there are too many."""
    owners, times = managed
    updaters = [key for key, owned in owners.items() if not owned.applied]
    surplus = len(updaters) - MAX_UPDATE_MANAGERS
    if surplus <= 0:
        return managed
    updaters.sort(key=lambda identity: (times.get(identity, ""), identity.key()))
    first: dict[str, Identity] = {}
    for key in updaters:
        if surplus <= 0:
            break
        owned = owners[key]
        if owned.api_version not in first:
            first[owned.api_version] = key
            continue
        bucket = Identity(_ANCIENT, UPDATE, owned.api_version)
        if bucket not in owners:
            owners[bucket] = owners.pop(first[owned.api_version])
        owners[bucket] = VersionedFields(
            merge_tries(owned.fields, owners[bucket].fields), owned.api_version, applied=False
        )
        del owners[key]
        surplus -= 1
        if key in times:
            times[bucket] = times[key]
    return managed
