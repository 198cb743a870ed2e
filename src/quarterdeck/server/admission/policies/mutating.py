"""The admission plugin MutatingAdmissionPolicy: lets the policies bound to a write change it."""

import copy
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.kit.clock import Clock
from quarterdeck.meta import builtins
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_refusal
from quarterdeck.server.admission.matching import is_exempt
from quarterdeck.server.admission.metrics import NO_ERROR, AdmissionMetrics
from quarterdeck.server.admission.patched_object import finish_patch
from quarterdeck.server.admission.plugin import MutatingPlugin
from quarterdeck.server.admission.policies.bound import (
    BoundPolicies,
    Invocation,
    Misconfiguration,
    Source,
)
from quarterdeck.server.admission.request import build_request, show
from quarterdeck.server.admission.subject import build_subject
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store
from quarterdeck.wire.status import ApiError, Cause, Details

if TYPE_CHECKING:
    from quarterdeck.server.admission.policies.mutation import MutatingPolicy, Mutation
    from quarterdeck.server.admission.policies.policy import Binding

_GROUP = "admissionregistration.k8s.io"
POLICIES = f"mutatingadmissionpolicies.{_GROUP}"
BINDINGS = f"mutatingadmissionpolicybindings.{_GROUP}"
_PLUGIN = "MutatingAdmissionPolicy"
_CODE = 403


class _Failure(NamedTuple):
    policy: "MutatingPolicy"
    binding: "Binding | None"
    message: str
    reason: str = "Forbidden"


class MutatingPolicies(MutatingPlugin):
    """Policies and bindings of one server, and what they do to writes."""

    def __init__(
        self,
        store: Store,
        registry: Registry,
        authorizer: Authorizer,
        *,
        metrics: AdmissionMetrics,
        clock: Clock,
    ) -> None:
        self._authorizer = authorizer
        self._metrics = metrics
        self._clock = clock
        self._policies: BoundPolicies[MutatingPolicy] = BoundPolicies(
            store, registry, Source(POLICIES, BINDINGS), parse=_parse_policy
        )

    def start(self) -> None:
        """Read what is stored, and follow changes from now on."""
        self._policies.start()

    def admit(self, attributes: AdmissionAttributes) -> None:
        """Let every bound policy change the object, in the order of their names.

        Raises:
            ApiError: if one fails, and its failures are not ignored.
        """
        bound = self._policies.bound
        if not bound or attributes.value is None or is_exempt(attributes.resource.gvr):
            return
        rounds = attributes.reinvocation
        invocations = rounds.get(_PLUGIN)
        if rounds.is_second:
            invocations.begin(attributes.value)
        failures = list(self._run_all(attributes))
        invocations.end(attributes.value)
        if refusals := [each for each in failures if each.policy.fails_closed]:
            raise _build_refusal(attributes, refusals)

    def _run_all(self, attributes: AdmissionAttributes) -> Iterator[_Failure]:
        """Run what matched the object as it was before: the first change decides about no other."""
        found = [
            (policy, each)
            for policy, bindings in self._policies.bound
            for each in self._policies.find_invocations(policy, bindings, attributes)
        ]
        for policy, each in found:
            if isinstance(each, Misconfiguration):
                yield _Failure(policy, each.binding, each.text)
            else:
                yield from self._run(policy, each, attributes)

    def _run(
        self, policy: "MutatingPolicy", invocation: Invocation, attributes: AdmissionAttributes
    ) -> Iterator[_Failure]:
        from quarterdeck.server.admission.match_conditions import ConditionFailed
        from quarterdeck.server.admission.policies.mutation import MutationFailed

        try:
            if not self._meets_conditions(policy, invocation, attributes):
                return
        except ConditionFailed as error:
            yield _Failure(policy, invocation.binding, str(error), "Invalid")
            return
        rounds = attributes.reinvocation
        invocations = rounds.get(_PLUGIN)
        key = (policy.name, invocation.binding.name, _get_key(invocation.params))
        if rounds.is_second and not invocations.is_due(key):
            return
        before = attributes.value
        for mutation in policy.programs.mutations:
            started, error_type = self._clock.monotonic(), NO_ERROR
            try:
                self._mutate(policy, mutation, invocation, attributes=attributes)
            except MutationFailed as error:
                error_type = error.error_type
                yield _Failure(policy, invocation.binding, str(error), "Invalid")
            labels = (policy.name, invocation.binding.name, error_type)
            self._metrics.observe_policy("mutating", self._clock.monotonic() - started, labels)
        if attributes.value != before:
            invocations.require_previous()
            rounds.is_needed = True
        if policy.is_reinvoked:
            invocations.add(key)

    def _meets_conditions(
        self, policy: "MutatingPolicy", invocation: Invocation, attributes: AdmissionAttributes
    ) -> bool:
        from quarterdeck.server.admission.match_conditions import match_conditions

        if not policy.conditions:
            return True
        known, size = self._build_variables(policy, invocation, attributes)
        has_params = policy.param_kind is not None
        return match_conditions(policy.conditions, known, has_params=has_params, size=size)

    def _mutate(
        self,
        policy: "MutatingPolicy",
        mutation: "Mutation",
        invocation: Invocation,
        *,
        attributes: AdmissionAttributes,
    ) -> None:
        from quarterdeck.server.admission.policies.mutation import mutate

        known, size = self._build_variables(policy, invocation, attributes)
        node = invocation.seen_as.node
        if attributes.view is not None:
            node = builtins.find_node(attributes.view.kind) or node
        patched = mutate(policy, mutation, known, node=node, size=size)
        finished = finish_patch(
            attributes, copy.deepcopy(patched), invocation.seen_as, drops_unknown=False
        )
        if finished != attributes.value:
            attributes.value = finished

    def _build_variables(
        self, policy: "MutatingPolicy", invocation: Invocation, attributes: AdmissionAttributes
    ) -> tuple[dict[str, Any], int]:
        """What expressions may refer to, with the object as it is by now; and its size."""
        seen_as = invocation.seen_as
        value = show(attributes, attributes.value, seen_as)
        old = show(attributes, attributes.old, seen_as)
        namespace = self._policies.find_namespace(attributes)
        known = {
            "object": value,
            "oldObject": old,
            "request": build_request(attributes, seen_as),
            "namespaceObject": namespace,
            "authorizer": build_subject(self._authorizer, attributes),
        }
        if policy.param_kind is not None:
            known["params"] = invocation.params
        return known, len(kit_json.encode((value, old, namespace, invocation.params)))


def _parse_policy(value: Object) -> "MutatingPolicy":
    from quarterdeck.server.admission.policies.mutation import MutatingPolicy

    return MutatingPolicy(value)


def _get_key(params: Object | None) -> tuple[str, str]:
    metadata = (params or {}).get("metadata") or {}
    return metadata.get("namespace") or "", metadata.get("name") or ""


def _build_refusal(attributes: AdmissionAttributes, failures: list[_Failure]) -> ApiError:
    messages = [_format_failure(each) for each in failures]
    details = build_refusal(attributes, "").details or Details()
    causes = tuple(Cause(message=each) for each in messages)
    return ApiError(
        messages[0],
        code=_CODE,
        unknown_reason=failures[0].reason,
        details=Details(name=details.name, group=details.group, kind=details.kind, causes=causes),
    )


def _format_failure(failure: _Failure) -> str:
    policy, binding, message, _ = failure
    if binding is None:
        return f'policy "{policy.name}" denied request: {message}'
    return f"policy '{policy.name}' with binding '{binding.name}' denied request: {message}"
