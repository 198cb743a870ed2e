"""Names of resources that containers use and quotas count: cpu, memory and others."""

from collections.abc import Iterator

from quarterdeck.meta import names
from quarterdeck.meta.field import Bare, FieldError, invalid

_CONTAINER = frozenset({"cpu", "memory", "ephemeral-storage"})
_COUNTED = frozenset(
    {
        *("pods", "resourcequotas", "services", "replicationcontrollers", "secrets"),
        *("configmaps", "persistentvolumeclaims", "storage", "requests.storage"),
        *("services.nodeports", "services.loadbalancers"),
    }
)
_STANDARD = (
    _CONTAINER
    | _COUNTED
    | {f"{kind}.{name}" for kind in ("requests", "limits") for name in _CONTAINER}
)


def validate_resource_name(path: str, name: str) -> Iterator[FieldError]:
    """Check the name of a resource: one of Kubernetes' own, or one with a domain."""
    problems = names.check_qualified_name(name)
    yield from (invalid(path, Bare(name), problem) for problem in problems)
    is_huge = name.startswith(("hugepages-", "requests.hugepages-"))
    if not problems and "/" not in name and name not in _STANDARD and not is_huge:
        yield invalid(path, Bare(name), "must be a standard resource type or fully qualified")


def validate_container_resource_name(path: str, name: str) -> Iterator[FieldError]:
    """Check the name of a resource that containers request."""
    yield from validate_resource_name(path, name)
    if "/" not in name and name not in _CONTAINER and not name.startswith("hugepages-"):
        yield invalid(path, Bare(name), "must be a standard resource for containers")
