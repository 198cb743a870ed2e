"""Refuses roles and bindings that grant more than the user has, even if the user may write them."""

from quarterdeck.server.admission.attributes import AdmissionAttributes
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.authorization.rbac.escalation import (
    BINDINGS,
    ROLES,
    check_binding,
    check_role,
)
from quarterdeck.server.authorization.rbac.policy import GROUP

_GARBAGE_COLLECTION = frozenset({"ownerReferences", "finalizers", "managedFields"})


class RoleEscalation:
    """Checks writes to roles and bindings, before and after webhooks are called."""

    resources = frozenset(f"{name}.{GROUP}" for name in (*ROLES, *BINDINGS))

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Refuse rules the writer does not hold."""
        gvr, value, user = attributes.resource.gvr, attributes.value, attributes.user
        if gvr.group != GROUP or value is None or _is_collection_only(attributes):
            return
        if gvr.resource in ROLES:
            check_role(self._authorizer, user, gvr.resource, value=value, old=attributes.old)
        elif gvr.resource in BINDINGS:
            check_binding(self._authorizer, user, gvr.resource, value)

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse rules that a webhook added."""
        self.admit(attributes)


def _is_collection_only(attributes: AdmissionAttributes) -> bool:
    """Whether an update changes only owner references, finalizers or managedFields."""
    if attributes.old is None or attributes.value is None:
        return False
    return _drop_collection_fields(attributes.value) == _drop_collection_fields(attributes.old)


def _drop_collection_fields(value: dict[str, object]) -> dict[str, object]:
    metadata = value.get("metadata")
    assert isinstance(metadata, dict)
    kept = {name: each for name, each in metadata.items() if name not in _GARBAGE_COLLECTION}
    return {**value, "metadata": kept}
