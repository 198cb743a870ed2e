"""Aggregation of cluster roles: collects the rules of the roles they select."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.engine.actions import Action, Apply
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_key, get_labels, is_deleting
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import StoreEvent, StoreKey
from quarterdeck.wire.label_selector import Selector, SelectorError

ROLES = "clusterroles.rbac.authorization.k8s.io"
_ALL = StoreKey(ROLES, "", "")


class RoleAggregation:
    """Fills in the rules of roles that have an `aggregationRule`; there are few of them."""

    name = "clusterrole-aggregation-controller"
    manager = "clusterrole-aggregation-controller"
    resources: frozenset[str] | None = frozenset({ROLES})
    initial: Sequence[StoreKey] = ()

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Return one key for all roles, because any role may be part of any other."""
        yield _ALL

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Update the aggregated roles whose rules differ from those of the selected roles."""
        roles = list(view.list(ROLES))
        actions: list[Action] = []
        for place, role in enumerate(roles):
            if role.get("aggregationRule") is None or is_deleting(role):
                continue
            rules = _sum(role, roles)
            if rules != (role.get("rules") or []):
                actions.append(Apply(key=get_key(ROLES, role), value={"rules": rules}))
                # used for the next roles: so two that select each other get equal rules
                roles[place] = {**role, "rules": rules}
        return actions


def _sum(role: Object, roles: Sequence[Object]) -> list[Object]:
    rules: list[Object] = []
    for selector in _parse_selectors(role):
        for part in roles:
            if part is role or not selector.matches(get_labels(part)):
                continue
            rules += [rule for rule in part.get("rules") or () if rule not in rules]
    return rules


def _parse_selectors(role: Object) -> Iterator[Selector]:
    for each in role["aggregationRule"].get("clusterRoleSelectors") or ():
        try:
            yield Selector.from_label_selector(each)
        except (SelectorError, ValueError):
            continue
