"""The rules that every kind has when it has none of its own.

A built-in kind without special rules uses these as they are; kinds with rules of their own may
start from them.
"""

from collections.abc import Iterator, Mapping, Sequence
from datetime import datetime

import msgspec

from quarterdeck.kit import rfc3339
from quarterdeck.meta import builtins
from quarterdeck.meta.field import FieldError
from quarterdeck.meta.identity import GVK
from quarterdeck.meta.schema import Node
from quarterdeck.server.meta_validation import names
from quarterdeck.server.registry.resource import (
    STATUS,
    Column,
    Context,
    Normalised,
    Object,
    Resource,
    Scale,
    Subresource,
)
from quarterdeck.wire.status import BadRequest


class PlainStrategy(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """Shape by the table of built-in kinds; status apart; nothing else."""

    gvk: GVK
    has_status: bool = False
    name_kind: names.NameKind = "subdomain"

    @property
    def has_generation(self) -> bool:
        """Kinds with a status usually count their changes."""
        return self.has_status

    @property
    def allow_unconditional_update(self) -> bool:
        """PUT may leave the version out."""
        return True

    @property
    def allow_create_on_update(self) -> bool:
        """PUT never creates."""
        return False

    @property
    def needs_type_meta(self) -> bool:
        """Built-in kinds may leave it out."""
        return False

    @property
    def stored_as_served(self) -> bool:
        """There is one version."""
        return True

    def normalise(self, value: Object) -> Normalised:
        """Shape by the table of built-in kinds.

        Raises:
            BadRequest: for values of a wrong type.
        """
        decoded = builtins.decode(value, self.gvk)
        if decoded.error is not None:
            kind, version = self.gvk.kind, self.gvk.version
            raise BadRequest(
                f'{kind} in version "{version}" cannot be handled as a {kind}: {decoded.error}'
            )
        unknown = tuple(builtins.unknown_fields(value, self.gvk))
        return Normalised(decoded.object, unknown)

    def default(self, value: Object) -> None:
        """Namespaces are labelled with their name."""
        name = value["metadata"].get("name")
        if self.gvk.kind == "Namespace" and name:
            labels = value["metadata"].setdefault("labels", {})
            labels["kubernetes.io/metadata.name"] = name

    def stored(self, value: Object) -> Object:
        """There is one version."""
        return value

    def served(self, value: Object) -> Object:
        """There is one version."""
        return value

    def prepare_create(self, value: Object, context: Context) -> None:
        """Status begins empty; a namespace begins active."""
        if self.has_status:
            value.pop(STATUS, None)
        if self.gvk.kind == "Namespace":
            value["spec"] = {"finalizers": ["kubernetes"]}
            value[STATUS] = {"phase": "Active"}

    def prepare_update(self, value: Object, old: Object, context: Context) -> None:
        """Status and the rest change at endpoints of their own."""
        if context.subresource == "finalize":
            value[STATUS] = old.get(STATUS)
        elif context.subresource == STATUS:
            for name in value.keys() | old.keys():
                if name in (STATUS, "metadata", "kind", "apiVersion"):
                    continue
                if name in old:
                    value[name] = old[name]
                else:
                    value.pop(name, None)
        elif self.has_status:
            if STATUS in old:
                value[STATUS] = old[STATUS]
            else:
                value.pop(STATUS, None)

    def validate_create(self, value: Object, context: Context) -> Sequence[FieldError]:
        """No rules."""
        return ()

    def validate_update(self, value: Object, old: Object, context: Context) -> Sequence[FieldError]:
        """No rules."""
        return ()

    def bumps_generation(self, value: Object, old: Object, context: Context) -> bool:
        """The spec changed."""
        return self.has_generation and value.get("spec") != old.get("spec")

    def warnings(self, value: Object, old: Object | None, context: Context) -> Sequence[str]:
        """None."""
        return ()

    def name_problems(self, name: str, *, is_prefix: bool) -> Sequence[str]:
        """A DNS name, of a label for namespaces."""
        return names.object_name(self.name_kind, name, is_prefix=is_prefix)

    def reset_fields(self, subresource: str) -> Sequence[tuple[str, ...]]:
        """Status belongs to its own endpoint."""
        if not self.has_status:
            return ()
        return (("spec",),) if subresource == STATUS else ((STATUS,),)

    def grace_period(self, value: Object, requested: int | None) -> int:
        """At once."""
        return 0

    def begin_delete(self, value: Object, context: Context) -> bool:
        """Namespaces stay until they are empty."""
        if self.gvk.kind != "Namespace" or not self.is_kept(value):
            return False
        value.setdefault(STATUS, {})["phase"] = "Terminating"
        return True

    def is_kept(self, value: Object) -> bool:
        """A namespace is kept by its own finalizers."""
        return self.gvk.kind == "Namespace" and bool((value.get("spec") or {}).get("finalizers"))

    @property
    def selectable(self) -> frozenset[str]:
        """Nothing but name and namespace."""
        return frozenset()

    def field_values(self, value: Object) -> Mapping[str, str]:
        """Nothing."""
        return {}

    @property
    def columns(self) -> Sequence[Column]:
        """Name and creation."""
        return (Column(name="Name", format="name"), Column(name="Created At", type="date"))

    def cells(self, value: Object, now: datetime) -> Sequence[object]:
        """Name and creation."""
        metadata = value["metadata"]
        created = metadata.get("creationTimestamp") or rfc3339.format_time(now)
        return [metadata.get("name"), created]

    def read_scale(self, value: Object) -> Scale | None:
        """No scale."""
        return None

    def write_scale(self, value: Object, replicas: int) -> None:
        """No scale."""


def plain_resources() -> Iterator[Resource]:
    """Every resource of the table of built-in kinds, with plain rules."""
    for each in builtins.resources():
        parts = {
            part.name: Subresource(name=part.name, verbs=part.verbs, gvk=part.kind)
            for part in each.subresources
            if part.kind == each.kind or part.name == "eviction"
        }
        kind = each.kind
        yield Resource(
            gvr=each.gvr,
            kind=kind.kind,
            list_kind=f"{kind.kind}List",
            singular=each.singular,
            namespaced=each.namespaced,
            node=builtins.node(kind) or Node(),
            strategy=PlainStrategy(
                gvk=kind,
                has_status=STATUS in parts,
                name_kind="label" if kind.kind == "Namespace" else "subdomain",
            ),
            short_names=each.short_names,
            categories=each.categories,
            verbs=each.verbs,
            subresources=parts,
        )
