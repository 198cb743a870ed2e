"""Warnings about claims of volumes, and about amounts of bytes with a fraction."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.quantity import Quantity, QuantityError
from quarterdeck.meta.field import quote
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.volume_fields import OLD_CLASS
from quarterdeck.server.registry.resource import Context, Object


def find_claim_warnings(value: Object, old: Object | None, context: Context) -> Sequence[str]:
    """Find warnings about a claim; none for writes of the status."""
    if context.subresource:
        return ()
    return [
        *find_class_warnings(value),
        *find_claim_spec_warnings(get_mapping(value, "spec"), "spec"),
    ]


def find_class_warnings(value: Object) -> Iterator[str]:
    """Warn of a volume or claim with the deprecated annotation for its storage class."""
    if OLD_CLASS in (value["metadata"].get("annotations") or {}):
        yield (
            f'metadata.annotations[{OLD_CLASS}]: deprecated since v1.8; use "storageClassName"'
            " attribute instead"
        )


def find_template_claim_warnings(value: Object, *, is_new: bool) -> Iterator[str]:
    """Warnings about the claims of a StatefulSet, with the path that Kubernetes uses."""
    for index, claim in enumerate(get_items(value, "spec", "volumeClaimTemplates")):
        path = f"spec.volumeClaimTemplates[{index}]{'' if is_new else '.Spec'}"
        yield from find_claim_spec_warnings(get_mapping(claim, "spec"), path)


def find_claim_spec_warnings(spec: Object, path: str) -> Iterator[str]:
    """Warnings about the spec of the claim at `path`."""
    for member in ("requests", "limits"):
        yield from find_fraction_warnings(spec, path, member, ("storage",))


def find_fraction_warnings(
    value: Object, path: str, member: str, resources: Sequence[str]
) -> Iterator[str]:
    """Warn of amounts of memory or storage that are not whole bytes."""
    for resource in resources:
        amount = get_field(value, "resources", member, resource)
        if amount is not None and _is_fraction(str(amount)):
            yield (
                f"{path}.resources.{member}[{resource}]: fractional byte value"
                f" {quote(str(amount))} is invalid, must be an integer"
            )


def _is_fraction(amount: str) -> bool:
    try:
        return not Quantity.parse(amount).is_integer()
    except QuantityError:
        return False
