"""What claims and volumes have in common: modes, amounts and classes."""

from collections.abc import Iterator, Sequence

from quarterdeck.kit.quantity import Quantity
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, forbidden, invalid
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_mapping
from quarterdeck.server.registry.resource import Object

_MODES = ("ReadOnlyMany", "ReadWriteMany", "ReadWriteOnce", "ReadWriteOncePod")
_SHORT = {
    "ReadWriteOnce": "RWO",
    "ReadOnlyMany": "ROX",
    "ReadWriteMany": "RWX",
    "ReadWriteOncePod": "RWOP",
}
UNSET = "<unset>"
OLD_CLASS = "volume.beta.kubernetes.io/storage-class"


def format_modes(modes: Sequence[str]) -> str:
    """Format access modes as tables show them."""
    return ",".join(short for mode, short in _SHORT.items() if mode in modes)


def get_storage_class(value: Object) -> str:
    """Return the storage class; the deprecated annotation takes precedence over the field."""
    old = (value["metadata"].get("annotations") or {}).get(OLD_CLASS)
    return str(old or get_mapping(value, "spec").get("storageClassName") or "")


def default_phase(value: Object) -> None:
    """Fill in the phase of a new object."""
    status = value.setdefault("status", {})
    if not status.get("phase"):
        status["phase"] = "Pending"


def validate_modes(modes: Sequence[str], path: str = "spec.accessModes") -> Iterator[FieldError]:
    """Check the access modes of a volume."""
    for mode in modes:
        yield from validators.validate_enum(path, mode, _MODES)
    others = set(modes) & set(_MODES) - {"ReadWriteOncePod"}
    if "ReadWriteOncePod" in modes and others:
        text = "may not use ReadWriteOncePod with other access modes"
        yield forbidden(path, text)


def validate_positive(path: str, amount: object) -> Iterator[FieldError]:
    """Check that an amount is greater than zero."""
    if Quantity.parse(str(amount)).sign() <= 0:
        yield invalid(path, str(amount), "must be greater than zero")


def validate_class_name(
    spec: Object, path: str = "spec", member: str = "storageClassName"
) -> Iterator[FieldError]:
    """Check the name of the storage class, or of the class of attributes."""
    if name := spec.get(member):
        for problem in names.check_dns1123_subdomain(name):
            yield invalid(f"{path}.{member}", name, problem)
