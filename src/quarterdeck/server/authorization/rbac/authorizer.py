"""The RBAC authorizer: follows the store, and decides by `grants`."""

from collections.abc import Sequence

from quarterdeck.kit import json as kit_json
from quarterdeck.server.authentication.user import MASTERS_GROUP, User
from quarterdeck.server.authorization.authorizer import Attributes
from quarterdeck.server.authorization.policy_rule import PolicyRule
from quarterdeck.server.authorization.rbac.grants import Grants, Permissions, ResourceAccess, Source
from quarterdeck.server.authorization.rbac.policy import GROUP
from quarterdeck.storage import Store, StoreEvent

_SOURCES = {f"{source.value}.{GROUP}": source for source in Source}


class RbacAuthorizer:
    """Authorizes requests by roles and bindings; the group `system:masters` may do everything."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self.grants = Grants()

    def start(self) -> None:
        """Read all roles and bindings, and follow their changes from now on."""
        snapshot = self._store.snapshot()
        for stored_name, source in _SOURCES.items():
            for entry in snapshot.range(stored_name):
                self.grants.put(source, kit_json.decode(entry.value))
        self._store.subscribe(self._apply_events)

    def allows(self, user: User, attributes: Attributes) -> bool:
        """Whether a rule of the user, in the namespace or cluster-wide, allows the request."""
        if MASTERS_GROUP in user.groups:
            return True
        return _is_allowed(self.get_permissions(user, attributes.namespace), attributes)

    def explain(self, user: User, attributes: Attributes) -> str:
        """Return which binding allows the request, as access reviews show it."""
        if MASTERS_GROUP in user.groups:
            return ""

        def allows(rule: PolicyRule) -> bool:
            return _is_allowed(Permissions((rule,)), attributes)

        found = self.grants.explain(user.name, user.groups, attributes.namespace, allows=allows)
        return "" if found is None else str(found)

    def list_rules(self, user: User, namespace: str) -> Sequence[PolicyRule]:
        """Every rule a user holds in a namespace."""
        return self.get_permissions(user, namespace).rules

    def get_permissions(self, user: User, namespace: str) -> Permissions:
        """Return the permissions of a user in a namespace; cluster-wide ones if it is empty."""
        return self.grants.get_permissions(user.name, user.groups, namespace)

    def _apply_events(self, events: Sequence[StoreEvent]) -> None:
        for event in events:
            source = _SOURCES.get(event.key.resource)
            if source is None:
                continue
            if event.after is None:
                self.grants.remove(source, event.key.namespace, event.key.name)
            else:
                self.grants.put(source, kit_json.decode(event.after.value))


def _is_allowed(permissions: Permissions, attributes: Attributes) -> bool:
    if attributes.path:
        return permissions.allows_path(attributes.verb, attributes.path)
    access = ResourceAccess(
        attributes.verb, attributes.group, attributes.resource, attributes.subresource
    )
    return permissions.allows(access, attributes.name)
