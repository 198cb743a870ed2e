"""Transforms objects before they are stored: drops the managed fields of other managers.

`managedFields` is often a third of an object. One reader of the caches needs it: the check that
skips redundant applies (`reconcile.apply`), which reads only the fields that we applied. So all
other entries are dropped before an object is stored, as kube-controller-manager does. Writes never
send `managedFields` back, so nothing is lost on the server. To keep them, watch with
`CacheScope(managed_fields=True)`.
"""

from collections.abc import Callable

import msgspec

from quarterdeck.runtime.cache.snapshot import Metadata

Transform = Callable[[bytes, Metadata], bytes]
"""Maps an encoded object and its metadata to the bytes that are stored."""

_NAME = b'"managedFields":'
_APPLY = b'"Apply"'


class _Entry(msgspec.Struct, frozen=True, gc=False):
    manager: str = ""
    operation: str = ""
    subresource: str = ""


_entries: "msgspec.json.Decoder[list[_Entry]]" = msgspec.json.Decoder(list[_Entry])
_raws: "msgspec.json.Decoder[list[msgspec.Raw]]" = msgspec.json.Decoder(list[msgspec.Raw])


def keep_all(raw: bytes, metadata: Metadata) -> bytes:
    """Store the whole object."""
    return raw


def keep_managed_fields_of(manager: str) -> Transform:
    """Drop all managed fields but those that `manager` applied to the object itself.

    Fields applied to `/status` are dropped: a status is compared without looking at its owners.
    """
    name = manager.encode()

    def transform(raw: bytes, metadata: Metadata) -> bytes:
        managed = bytes(metadata.managed_fields)
        if not managed:
            return raw
        start = raw.find(_NAME) + len(_NAME)
        end = start + len(managed)
        if not raw.startswith(managed, start) or raw.find(_NAME, end) >= 0:
            return raw  # written with spaces, or a second field of that name: leave it
        try:
            may_be_ours = managed.find(name) >= 0 and managed.find(_APPLY) >= 0
            kept = _select_applied_by(managed, manager) if may_be_ours else b"[]"
        except msgspec.DecodeError:
            return raw
        return b"".join((raw[:start], kept, raw[end:]))

    return transform


def _select_applied_by(managed: bytes, manager: str) -> bytes:
    ours = _Entry(manager, "Apply")
    entries = _entries.decode(managed)
    if ours not in entries:
        return b"[]"
    kept = [raw for entry, raw in zip(entries, _raws.decode(managed), strict=True) if entry == ours]
    return b"[%b]" % b",".join(map(bytes, kept))
