"""Nobody grants what they do not hold, whoever may write roles and bindings."""

from quarterdeck.server.admission.attributes import Attempt
from quarterdeck.server.authorization.rbac.authorizer import RbacAuthorizer
from quarterdeck.server.authorization.rbac.escalation import (
    BINDINGS,
    ROLES,
    check_binding,
    check_role,
)
from quarterdeck.server.authorization.rbac.policy import GROUP

_CHECKS = dict.fromkeys(ROLES, check_role) | dict.fromkeys(BINDINGS, check_binding)
_GARBAGE_COLLECTION = frozenset({"ownerReferences", "finalizers", "managedFields"})


class RoleEscalation:
    """Checks writes to roles and bindings, before and after webhooks had their say."""

    def __init__(self, authorizer: RbacAuthorizer) -> None:
        self._authorizer = authorizer

    def admit(self, attempt: Attempt) -> None:
        """Refuse rules the writer does not hold."""
        gvr, value = attempt.resource.gvr, attempt.value
        if gvr.group != GROUP or value is None or attempt.verb == "delete":
            return
        check = _CHECKS.get(gvr.resource)
        if check is not None and not _is_collection_only(attempt):
            check(self._authorizer, attempt.user, gvr.resource, value)

    def validate(self, attempt: Attempt) -> None:
        """Refuse rules that a webhook added."""
        self.admit(attempt)


def _is_collection_only(attempt: Attempt) -> bool:
    """Whether an update changes only what garbage collection needs."""
    if attempt.old is None or attempt.value is None:
        return False
    return _without(attempt.value) == _without(attempt.old)


def _without(value: dict[str, object]) -> dict[str, object]:
    metadata = value.get("metadata")
    assert isinstance(metadata, dict)
    kept = {name: each for name, each in metadata.items() if name not in _GARBAGE_COLLECTION}
    return {**value, "metadata": kept}
