"""The admission plugin MutatingAdmissionPolicy: lets the policies bound to a write change it."""

import copy
import functools
import sys
from collections.abc import Awaitable, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.meta import builtins
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.computation import Computation, Computations, MakeBudget
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
from quarterdeck.server.admission.request import build_request, convert_for_review, measure_objects
from quarterdeck.server.admission.subject import build_subject
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store
from quarterdeck.wire.status import ApiError, Cause, Details

if TYPE_CHECKING:
    from quarterdeck.server.admission.policies.mutation import MutatingPolicy
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
        computations: Computations,
    ) -> None:
        self._authorizer = authorizer
        self._metrics = metrics
        self._computations = computations
        self._policies: BoundPolicies[MutatingPolicy] = BoundPolicies(
            store, registry, Source(POLICIES, BINDINGS), parse=_parse_policy
        )

    def start(self) -> None:
        """Read what is stored, and follow changes from now on."""
        self._policies.start()

    def admit(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Let every bound policy change the object, in the order of their names.

        Raises:
            ApiError: if one fails, and its failures are not ignored.
        """
        bound = self._policies.bound
        if not bound or attributes.value is None or is_exempt(attributes.resource.gvr):
            return None
        return self._admit(attributes, bound)

    async def _admit(
        self,
        attributes: AdmissionAttributes,
        bound: "Sequence[tuple[MutatingPolicy, Sequence[Binding]]]",
    ) -> None:
        rounds = attributes.reinvocation
        invocations = rounds.get(_PLUGIN)
        if rounds.is_second:
            invocations.begin(attributes.value)
        failures = await self._run_all(attributes, bound)
        invocations.end(attributes.value)
        if refusals := [each for each in failures if each.policy.fails_closed]:
            raise _build_refusal(attributes, refusals)

    async def _run_all(
        self,
        attributes: AdmissionAttributes,
        bound: "Sequence[tuple[MutatingPolicy, Sequence[Binding]]]",
    ) -> list[_Failure]:
        """Run all policies that match the original object; their changes do not affect matching."""
        computation, failures = self._computations.begin(), list[_Failure]()
        found = [
            (policy, each)
            for policy, bindings in bound
            for each in self._policies.find_invocations(policy, bindings, attributes)
        ]
        for policy, each in found:
            if isinstance(each, Misconfiguration):
                failures.append(_Failure(policy, each.binding, each.text))
                continue
            write = _Write(policy, each, attributes, self._authorizer, self._policies)
            failures += await self._run(write, computation)
        return failures

    async def _run(self, write: "_Write", computation: Computation) -> list[_Failure]:
        from quarterdeck.server.admission.match_conditions import ConditionFailed

        policy, binding = write.policy, write.invocation.binding
        try:
            if policy.conditions and not await computation.run(write.size, write.meets_conditions):
                return []
        except ConditionFailed as error:
            return [_Failure(policy, binding, str(error), "Invalid")]
        attributes, rounds = write.attributes, write.attributes.reinvocation
        invocations = rounds.get(_PLUGIN)
        key = (policy.name, binding.name, _get_key(write.invocation))
        if rounds.is_second and not invocations.is_due(key):
            return []
        before = attributes.value
        failures = await self._mutate(write, computation)
        if attributes.value is not before and attributes.value != before:
            invocations.require_previous()
            rounds.is_needed = True
        if policy.is_reinvoked:
            invocations.add(key)
        return failures

    async def _mutate(self, write: "_Write", computation: Computation) -> list[_Failure]:
        from quarterdeck.server.admission.policies.mutation import MutationFailed

        policy, binding, clock = write.policy, write.invocation.binding, self._computations.clock
        failures: list[_Failure] = []
        for index in range(policy.mutation_count):
            started, error_type = clock.monotonic(), NO_ERROR
            size = write.size if policy.is_compiled else sys.maxsize
            try:
                write.attributes.value = await computation.run(
                    size, functools.partial(write.mutate, index)
                )
            except MutationFailed as error:
                error_type = error.error_type
                failures.append(_Failure(policy, binding, str(error), "Invalid"))
            labels = (policy.name, binding.name, error_type)
            self._metrics.observe_policy("mutating", clock.monotonic() - started, labels)
        return failures


class _Write:
    """One write with one invocation of a policy: builds its variables and runs its mutations."""

    def __init__(
        self,
        policy: "MutatingPolicy",
        invocation: Invocation,
        attributes: AdmissionAttributes,
        authorizer: Authorizer,
        policies: "BoundPolicies[MutatingPolicy]",
    ) -> None:
        self.policy = policy
        self.invocation = invocation
        self.attributes = attributes
        self._subject = build_subject(authorizer, attributes)
        self._namespace = policies.find_namespace(attributes)
        params = invocation.params
        self._outside = len(self._namespace) + (0 if params is None else params.size)

    @property
    def size(self) -> int:
        """Bytes of everything the expressions may read, with the object as changed so far."""
        return measure_objects(self.attributes) + self._outside

    def meets_conditions(self, make_budget: MakeBudget) -> bool:
        """Whether the match conditions of the policy are true; may be called in a thread.

        Raises:
            ConditionFailed: if a condition cannot be evaluated.
        """
        from quarterdeck.server.admission.match_conditions import match_conditions

        known, size = self._build_variables()
        return match_conditions(
            self.policy.conditions,
            known,
            make_budget=make_budget,
            has_params=self.policy.param_kind is not None,
            size=size,
        )

    def mutate(self, index: int, make_budget: MakeBudget) -> Object | None:
        """Return the object after a mutation, the same one if unchanged; may run in a thread.

        Raises:
            MutationFailed: if the expression fails, or its value cannot be applied.
            ApiError: if the result does not fit its kind.
        """
        from quarterdeck.server.admission.policies.mutation import mutate

        attributes, seen_as = self.attributes, self.invocation.seen_as
        known, size = self._build_variables()
        node = seen_as.node
        if attributes.view is not None:
            node = builtins.find_node(attributes.view.kind) or node
        mutation = self.policy.programs.mutations[index]
        patched = mutate(self.policy, mutation, known, node=node, budget=make_budget(size=size))
        finished = finish_patch(attributes, copy.deepcopy(patched), seen_as, drops_unknown=False)
        return attributes.value if finished == attributes.value else finished

    def _build_variables(self) -> tuple[dict[str, Any], int]:
        """Build the CEL variables, with the object as changed so far, and their size in bytes."""
        attributes, seen_as = self.attributes, self.invocation.seen_as
        value = convert_for_review(attributes, attributes.value, seen_as)
        old = convert_for_review(attributes, attributes.old, seen_as)
        known = {
            "object": value,
            "oldObject": old,
            "request": build_request(attributes, seen_as),
            "namespaceObject": kit_json.decode(self._namespace),
            "authorizer": self._subject,
        }
        if self.policy.param_kind is not None:
            params = self.invocation.params
            known["params"] = None if params is None else params.decode()
        return known, len(kit_json.encode((value, old))) + self._outside


def _parse_policy(value: Object) -> "MutatingPolicy":
    from quarterdeck.server.admission.policies.mutation import MutatingPolicy

    return MutatingPolicy(value)


def _get_key(invocation: Invocation) -> tuple[str, str]:
    if invocation.params is None:
        return "", ""
    key = invocation.params.entry.key
    return key.namespace, key.name


def _build_refusal(attributes: AdmissionAttributes, failures: list[_Failure]) -> ApiError:
    messages = [_format_failure(each) for each in failures]
    details = build_forbidden(attributes, "").details or Details()
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
