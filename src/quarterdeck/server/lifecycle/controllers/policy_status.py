"""Type checking of admission policies: reports expressions with type errors in their status."""

from collections.abc import Iterator, Sequence

from quarterdeck.server.lifecycle.engine.actions import Action, Apply
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_status, is_deleting
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import STATUS
from quarterdeck.storage import StoreEvent, StoreKey

POLICIES = "validatingadmissionpolicies.admissionregistration.k8s.io"


class PolicyStatus:
    """Checks each generation of a policy once."""

    name = "validatingadmissionpolicy-status"
    manager = "validatingadmissionpolicy-status"
    resources: frozenset[str] | None = frozenset({POLICIES})
    initial: Sequence[StoreKey] = ()

    def __init__(self, registry: Registry) -> None:
        self._registry = registry

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """The policy itself."""
        if event.after is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Apply the status of the current generation, unless the policy has it."""
        policy = view.get(key)
        if policy is None or is_deleting(policy):
            return ()
        generation = policy["metadata"].get("generation")
        if get_status(policy).get("observedGeneration") == generation:
            return ()
        from quarterdeck.server.admission.policies.type_checking import check_types

        warnings = check_types(policy.get("spec") or {}, self._registry)
        checking = {"expressionWarnings": warnings} if warnings else {}
        status = {"observedGeneration": generation, "typeChecking": checking}
        return (Apply(key=key, value={STATUS: status}, subresource=STATUS),)
