"""How often Kubernetes checks the metadata of a changed object.

Its generic code checks once as a new object and once as a change; the code of the kind does either
again, or both. Every check lists what it finds, so clients see the same causes several times.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from quarterdeck.meta.field import FieldError
from quarterdeck.meta.release import has_feature
from quarterdeck.server.registry import metadata_validation as rules
from quarterdeck.server.registry.resource import Resource


class KindChecks(NamedTuple):
    """How often the code of a kind checks metadata: as a change, and as a new object."""

    changes: int
    objects: int
    knows_finalizers: bool = True
    """Whether it refuses finalizers without a domain that are not Kubernetes' own."""


_DEFAULT = KindChecks(1, 1)
_CHANGE_ONLY = KindChecks(1, 0)
_OBJECT_ONLY = KindChecks(0, 1)
_OBJECT_TWICE = KindChecks(1, 2)
_NONE = KindChecks(0, 0)
_CUSTOM = KindChecks(1, 0, knows_finalizers=False)
_RESOURCES = {
    "clusterrolebindings.rbac.authorization.k8s.io": _OBJECT_TWICE,
    "clusterroles.rbac.authorization.k8s.io": _OBJECT_TWICE,
    "cronjobs.batch": _CHANGE_ONLY,
    "csidrivers.storage.k8s.io": _CHANGE_ONLY,
    "deployments.apps": _CHANGE_ONLY,
    "endpointslices.discovery.k8s.io": _OBJECT_ONLY,
    "events": _NONE,
    "events.events.k8s.io": _CHANGE_ONLY,
    "flowschemas.flowcontrol.apiserver.k8s.io": _OBJECT_ONLY,
    "horizontalpodautoscalers.autoscaling": _CHANGE_ONLY,
    "leases.coordination.k8s.io": _CUSTOM,
    "limitranges": _OBJECT_ONLY,
    "mutatingwebhookconfigurations.admissionregistration.k8s.io": _OBJECT_ONLY,
    "persistentvolumeclaims": _OBJECT_TWICE,
    "persistentvolumes": KindChecks(0, 2),
    "poddisruptionbudgets.policy": _NONE,
    "podtemplates": _CHANGE_ONLY,
    "priorityclasses.scheduling.k8s.io": _CHANGE_ONLY,
    "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io": _OBJECT_ONLY,
    "resourcequotas": _CHANGE_ONLY,
    "rolebindings.rbac.authorization.k8s.io": _OBJECT_TWICE,
    "roles.rbac.authorization.k8s.io": _OBJECT_TWICE,
    "statefulsets.apps": _CHANGE_ONLY,
    "validatingwebhookconfigurations.admissionregistration.k8s.io": _OBJECT_ONLY,
}
_UNCHECKED_STATUS = frozenset(
    {
        "cronjobs.batch",
        "flowschemas.flowcontrol.apiserver.k8s.io",
        "poddisruptionbudgets.policy",
        "prioritylevelconfigurations.flowcontrol.apiserver.k8s.io",
    }
)


def get_kind_checks(resource: Resource, subresource: str = "") -> KindChecks:
    """Return how often the code of a kind checks metadata on update."""
    if resource.is_custom or resource.gvr.group == "apiextensions.k8s.io":
        return _CUSTOM
    name = resource.gvr.group_resource
    if subresource:
        return _NONE if name in _UNCHECKED_STATUS else _CHANGE_ONLY
    found = _RESOURCES.get(name, _DEFAULT)
    if (
        found is _OBJECT_TWICE
        and name.endswith(".rbac.authorization.k8s.io")
        and has_feature("RolesAreCheckedOnce")
    ):
        return _DEFAULT
    return found


def checks_metadata(resource: Resource) -> bool:
    """Whether the code of a kind checks metadata of new objects itself.

    If not, the generic code checks it, and only of objects that have no other errors.
    """
    checks = get_kind_checks(resource)
    return bool(checks.changes or checks.objects)


def validate_changed_metadata(
    resource: Resource, subresource: str, new: Mapping[str, Any], old: Mapping[str, Any]
) -> list[FieldError]:
    """Find the errors of changed metadata, each as often as Kubernetes reports it."""
    checks = get_kind_checks(resource, subresource)
    errors = rules.validate_immutables(new, old) * (1 + checks.changes)
    errors += rules.validate_contents(new) * (2 + checks.changes + checks.objects)
    if new.get("finalizers"):
        errors += rules.check_finalizer_names(new) * (1 + checks.objects)
        if checks.knows_finalizers:
            errors += rules.validate_finalizers(new) * (checks.changes + checks.objects)
    return errors
