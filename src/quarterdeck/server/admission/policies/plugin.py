"""The admission plugin ValidatingAdmissionPolicy: evaluates the policies bound to a write."""

import sys
from collections.abc import Awaitable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.computation import Computation, Computations, MakeBudget
from quarterdeck.server.admission.matching import is_exempt
from quarterdeck.server.admission.metrics import AdmissionMetrics
from quarterdeck.server.admission.plugin import ValidatingPlugin
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
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store
from quarterdeck.wire.status import ApiError, Cause, Details

if TYPE_CHECKING:
    from quarterdeck.server.admission.policies.evaluator import Decision, Outcome
    from quarterdeck.server.admission.policies.params import Params
    from quarterdeck.server.admission.policies.policy import Binding, Policy

_GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{_GROUP}"
FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_MAX_FAILURES = 50
"""Failures in the annotation, as in Kubernetes."""
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class _Denial(NamedTuple):
    policy: "Policy"
    binding: "Binding | None"
    decision: "Decision"


class ValidatingPolicies(ValidatingPlugin):
    """Policies and bindings of one server, and their decisions about writes."""

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
        self._policies: BoundPolicies[Policy] = BoundPolicies(
            store, registry, Source(POLICIES, BINDINGS), parse=_parse_policy
        )

    def start(self) -> None:
        """Read what is stored, and follow changes from now on."""
        self._policies.start()

    def validate(self, attributes: AdmissionAttributes) -> Awaitable[None] | None:
        """Refuse a write that a bound policy denies.

        Raises:
            ApiError: with the reason and message of the first denial.
        """
        bound = self._policies.bound
        if not bound or is_exempt(attributes.resource.gvr):
            return None
        return self._validate(attributes, bound)

    async def _validate(
        self, attributes: AdmissionAttributes, bound: "Sequence[tuple[Policy, Sequence[Binding]]]"
    ) -> None:
        computation = self._computations.begin()
        denials: list[_Denial] = []
        failures: list[Object] = []
        for policy, bindings in bound:
            found = list(self._policies.find_invocations(policy, bindings, attributes))
            if found:
                denials += await self._evaluate_all(
                    policy, found, attributes, computation=computation, failures=failures
                )
        if failures:
            shown = kit_json.encode(failures[:_MAX_FAILURES]).decode()
            attributes.audit_annotations[FAILURE_ANNOTATION] = shown
        if denials:
            raise _build_denial(attributes, denials[0])

    async def _evaluate_all(
        self,
        policy: "Policy",
        invocations: Sequence[Invocation | Misconfiguration],
        attributes: AdmissionAttributes,
        *,
        computation: Computation,
        failures: list[Object],
    ) -> list[_Denial]:
        """Evaluate a policy for all its bindings; `failures` gets those for the audit log."""
        write: _Write | None = None
        denials: list[_Denial] = []
        collected: dict[str, list[str]] = {}
        for each in invocations:
            if isinstance(each, Misconfiguration):
                denials += _refuse_configuration(policy, each.binding, each.text)
                continue
            if write is None:
                write = _Write(attributes, each.seen_as, self._authorizer, self._policies)
            outcome, duration_s = await self._evaluate(policy, each, write, computation)
            if outcome.decisions:
                self._observe(policy, each.binding, outcome, duration_s)
            denials += _enforce(policy, each.binding, outcome, attributes=attributes)
            failures += _list_audited(policy, each.binding, outcome)
            for key, value in outcome.annotations.items():
                if value not in collected.setdefault(key, []):
                    collected[key].append(value)
        for key, values in collected.items():
            attributes.audit_annotations[f"{policy.name}/{key}"] = ", ".join(values)
        return denials

    async def _evaluate(
        self, policy: "Policy", invocation: Invocation, write: "_Write", computation: Computation
    ) -> tuple["Outcome", float]:
        """Evaluate a policy; return its outcome and how many seconds it took."""
        clock, params = self._computations.clock, invocation.params
        started = clock.monotonic()
        size = write.size + (0 if params is None else params.size)
        outcome = await computation.run(
            size if policy.is_compiled else sys.maxsize,
            lambda make_budget: write.evaluate(policy, params, make_budget=make_budget),
        )
        return outcome, clock.monotonic() - started

    def _observe(
        self, policy: "Policy", binding: "Binding", outcome: "Outcome", duration_s: float
    ) -> None:
        """Count each decision once for each action that follows it."""
        for decision in outcome.decisions:
            for action in ("Deny",) if decision.is_forced else binding.actions:
                labels = (policy.name, binding.name, decision.error_type, action.lower())
                self._metrics.observe_policy("validating", duration_s, labels)


def _parse_policy(value: Object) -> "Policy":
    from quarterdeck.server.admission.policies.policy import Policy

    return Policy(value)


class _Write:
    """One write in the version that policies match it by; CEL variables are built on first use."""

    def __init__(
        self,
        attributes: AdmissionAttributes,
        seen_as: Resource,
        authorizer: Authorizer,
        policies: "BoundPolicies[Policy]",
    ) -> None:
        self._attributes = attributes
        self._seen_as = seen_as
        self._subject = build_subject(authorizer, attributes)
        self._namespace = policies.find_namespace(attributes)
        self._known: dict[str, Any] | None = None
        self._seen_size = 0
        self.size = measure_objects(attributes) + len(self._namespace)
        """Size of the new and old object and the namespace, in bytes."""

    def evaluate(
        self, policy: "Policy", params: "Params | None", *, make_budget: MakeBudget
    ) -> "Outcome":
        """Evaluate a policy with one params object, or with none; may be called in a thread."""
        from quarterdeck.server.admission.policies.evaluator import evaluate

        known = self._known
        if known is None:
            known = self._known = self._build()
        size = self._seen_size
        if policy.param_kind is not None:
            known = {**known, "params": None if params is None else params.decode()}
            size += 0 if params is None else params.size
        return evaluate(policy, known, size=size, make_budget=make_budget)

    def _build(self) -> dict[str, Any]:
        attributes = self._attributes
        value = convert_for_review(attributes, attributes.value, self._seen_as)
        old = convert_for_review(attributes, attributes.old, self._seen_as)
        self._seen_size = len(kit_json.encode((value, old))) + len(self._namespace)
        return {
            "object": value,
            "oldObject": old,
            "request": build_request(attributes, self._seen_as),
            "namespaceObject": kit_json.decode(self._namespace),
            "authorizer": self._subject,
        }


def _refuse_configuration(
    policy: "Policy", binding: "Binding | None", text: str
) -> Iterator[_Denial]:
    from quarterdeck.server.admission.policies.evaluator import Decision

    if policy.fails_closed:
        yield _Denial(policy, binding, Decision(-1, text))


def _enforce(
    policy: "Policy", binding: "Binding", outcome: "Outcome", *, attributes: AdmissionAttributes
) -> Iterator[_Denial]:
    """Carry out the actions of the binding for each decision, and yield the denials."""
    for decision in outcome.decisions:
        if decision.is_forced or "Deny" in binding.actions:
            yield _Denial(policy, binding, decision)
        if decision.is_forced:
            continue
        if "Warn" in binding.actions:
            warning = (
                f"Validation failed for ValidatingAdmissionPolicy '{policy.name}' with binding"
                f" '{binding.name}': {decision.message}"
            )
            if warning not in attributes.warnings:
                attributes.warnings.append(warning)


def _list_audited(policy: "Policy", binding: "Binding", outcome: "Outcome") -> Iterator[Object]:
    """Describe the failures that the binding writes to the audit log."""
    if "Audit" not in binding.actions:
        return
    for decision in outcome.decisions:
        if not decision.is_forced:
            yield {
                "message": decision.message,
                "policy": policy.name,
                "binding": binding.name,
                "expressionIndex": max(decision.position, 0),
                "validationActions": list(binding.actions),
            }


def _build_denial(attributes: AdmissionAttributes, denial: _Denial) -> ApiError:
    policy, binding, decision = denial
    said = f"ValidatingAdmissionPolicy '{policy.name}'"
    if binding is not None:
        said += f" with binding '{binding.name}'"
    message = f"{said} denied request: {decision.message}"
    refusal = build_forbidden(attributes, message)
    details = refusal.details or Details()
    return ApiError(
        refusal.message,
        code=_CODES.get(decision.reason, 422),
        unknown_reason=decision.reason,
        details=Details(
            name=details.name,
            group=details.group,
            kind=details.kind,
            causes=(*details.causes, Cause(message=message)),
        ),
    )
