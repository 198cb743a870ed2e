"""The admission plugin ValidatingAdmissionPolicy: asks the policies that are bound to a write.

Policies and bindings are read from the store when they change. Which policies may be about a
resource is remembered, so that a write pays only for those that are.
"""

import asyncio
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_refusal
from quarterdeck.server.admission.matching import (
    EquivalentResources,
    find_match,
    is_exempt,
    matches_labels,
    matches_namespace,
)
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.admission.request import build_request, convert
from quarterdeck.server.admission.subject import build_subject
from quarterdeck.server.authorization.authorizer import Authorizer
from quarterdeck.server.registry.registry import Registry
from quarterdeck.server.registry.resource import Object, Resource
from quarterdeck.storage import Store, StoreEvent, StoreKey
from quarterdeck.wire.status import ApiError, Cause, Details

if TYPE_CHECKING:
    from quarterdeck.server.admission.policies.evaluator import Decision, Outcome
    from quarterdeck.server.admission.policies.policy import Binding, Match, Policy

_GROUP = "admissionregistration.k8s.io"
POLICIES = f"validatingadmissionpolicies.{_GROUP}"
BINDINGS = f"validatingadmissionpolicybindings.{_GROUP}"
FAILURE_ANNOTATION = "validation.policy.admission.k8s.io/validation_failure"
_CODES = {"Unauthorized": 401, "Forbidden": 403, "RequestEntityTooLarge": 413, "Invalid": 422}


class _Denial(NamedTuple):
    policy: "Policy"
    binding: "Binding | None"
    decision: "Decision"


class ValidatingPolicies(ValidatingPlugin):
    """Policies and bindings of one server, and their decisions about writes."""

    def __init__(self, store: Store, registry: Registry, authorizer: Authorizer) -> None:
        self._store = store
        self._registry = registry
        self._authorizer = authorizer
        self._equivalents = EquivalentResources(registry)
        self._policies: dict[str, Policy] = {}
        self._bindings: dict[str, Binding] = {}
        self._bound: tuple[tuple[Policy, tuple[Binding, ...]], ...] = ()

    def start(self) -> None:
        """Read what is stored, and follow changes from now on."""
        snapshot = self._store.snapshot()
        for resource in (POLICIES, BINDINGS):
            for entry in snapshot.range(resource):
                self._put(entry.key, entry.value)
        self._bind()
        self._store.subscribe(self._follow)

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse a write that a bound policy denies.

        Raises:
            ApiError: with the reason and message of the first denial.
        """
        if not self._bound or is_exempt(attributes.resource.gvr):
            return
        denials = [
            denial
            for policy, bindings in self._bound
            for denial in self._ask(policy, bindings, attributes)
        ]
        if denials:
            raise _build_denial(attributes, denials[0])

    def _ask(
        self, policy: "Policy", bindings: "Sequence[Binding]", attributes: AdmissionAttributes
    ) -> Iterator[_Denial]:
        from quarterdeck.server.admission.policies.params import ParamError

        seen_as = self._match(policy.match, attributes)
        if seen_as is None:
            return
        parameters: Resource | None = None
        if policy.param_kind is not None:
            parameters = self._registry.find_by_kind(policy.param_kind)
            if parameters is None:
                gvk = policy.param_kind
                text = (
                    "failed to configure policy: failed to find resource referenced by paramKind:"
                    f" '{gvk.api_version}, Kind={gvk.kind}'"
                )
                yield from _refuse_configuration(policy, None, text)
                return
        write = _Write(attributes, seen_as, self._authorizer, self._find_namespace)
        collected: dict[str, list[str]] = {}
        for binding in bindings:
            if binding.match is not None and self._match(binding.match, attributes) is None:
                continue
            try:
                params = self._collect(binding, parameters, attributes)
            except ParamError as error:
                text = f"failed to configure binding: {error}"
                yield from _refuse_configuration(policy, binding, text)
                continue
            for each in params:
                outcome = write.evaluate(policy, each)
                yield from _act(policy, binding, outcome, attributes=attributes)
                for key, value in outcome.annotations.items():
                    if value not in collected.setdefault(key, []):
                        collected[key].append(value)
        for key, values in collected.items():
            attributes.audit_annotations[f"{policy.name}/{key}"] = ", ".join(values)

    def _collect(
        self, binding: "Binding", resource: Resource | None, attributes: AdmissionAttributes
    ) -> Sequence[Object | None]:
        if resource is None or binding.params is None:
            return (None,)
        from quarterdeck.server.admission.policies.params import collect_params

        return collect_params(self._store, resource, binding.params, namespace=attributes.namespace)

    def _match(self, match: "Match", attributes: AdmissionAttributes) -> Resource | None:
        """The resource as which a policy or binding sees a write; None if it is not about it."""
        if not matches_labels(match.object_selector, attributes):
            return None
        equivalents = self._equivalents.get(attributes.resource)
        if match.excluded and find_match(
            match.excluded, attributes, equivalents, is_exact=match.is_exact
        ):
            return None
        if not match.rules:
            seen_as: Resource | None = attributes.resource
        else:
            seen_as = find_match(match.rules, attributes, equivalents, is_exact=match.is_exact)
        if seen_as is None:
            return None
        if not matches_namespace(match.namespace_selector, attributes, self._store):
            return None
        return seen_as

    def _find_namespace(self, attributes: AdmissionAttributes) -> Object | None:
        if not attributes.namespace or attributes.resource.gvr.group_resource == "namespaces":
            return None
        entry = self._store.get_pending(StoreKey("namespaces", "", attributes.namespace))
        if entry is None:
            return None
        namespace: Object = kit_json.decode(entry.value)
        return namespace

    def _follow(self, events: Sequence[StoreEvent]) -> None:
        changed = [event for event in events if event.key.resource in (POLICIES, BINDINGS)]
        for event in changed:
            if event.after is None:
                self._choose(event.key).pop(event.key.name, None)
            else:
                self._put(event.key, event.after.value)
        if changed:
            self._bind()

    def _choose(self, key: StoreKey) -> dict[str, Any]:
        return self._policies if key.resource == POLICIES else self._bindings

    def _put(self, key: StoreKey, value: bytes) -> None:
        from quarterdeck.server.admission.policies.policy import Binding, Policy

        make: Callable[[Object], object] = Policy if key.resource == POLICIES else Binding
        try:
            self._choose(key)[key.name] = make(kit_json.decode(value))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            self._choose(key).pop(key.name, None)
            message = f"{key.resource} {key.name!r} is skipped: it cannot be read; write it again"
            context = {"message": message, "exception": error}
            asyncio.get_running_loop().call_exception_handler(context)

    def _bind(self) -> None:
        """Only policies with a binding decide anything."""
        by_policy: dict[str, list[Binding]] = {}
        for name in sorted(self._bindings):
            binding = self._bindings[name]
            by_policy.setdefault(binding.policy, []).append(binding)
        self._bound = tuple(
            (self._policies[name], tuple(by_policy[name]))
            for name in sorted(by_policy)
            if name in self._policies
        )


class _Write:
    """One write as one policy sees it; everything is computed once, and only if it is needed."""

    def __init__(
        self,
        attributes: AdmissionAttributes,
        seen_as: Resource,
        authorizer: Authorizer,
        find_namespace: Callable[[AdmissionAttributes], Object | None],
    ) -> None:
        self._attributes = attributes
        self._seen_as = seen_as
        self._authorizer = authorizer
        self._find_namespace = find_namespace
        self._known: dict[str, Any] | None = None
        self._size = 0

    def evaluate(self, policy: "Policy", params: Object | None) -> "Outcome":
        """Ask a policy with one parameter object, or with none."""
        from quarterdeck.server.admission.policies.evaluator import evaluate

        known = self._known
        if known is None:
            known = self._known = self._build()
        size = self._size
        if policy.param_kind is not None:
            known = {**known, "params": params}
            size += len(kit_json.encode(params)) if params is not None else 0
        return evaluate(policy, known, size=size)

    def _build(self) -> dict[str, Any]:
        attributes, asked = self._attributes, self._attributes.resource
        value = convert(attributes.value, source=asked, target=self._seen_as)
        old = convert(attributes.old, source=asked, target=self._seen_as)
        namespace = self._find_namespace(attributes)
        self._size = len(kit_json.encode((value, old, namespace)))
        return {
            "object": value,
            "oldObject": old,
            "request": build_request(attributes, self._seen_as),
            "namespaceObject": namespace,
            "authorizer": build_subject(self._authorizer, attributes),
        }


def _refuse_configuration(
    policy: "Policy", binding: "Binding | None", text: str
) -> Iterator[_Denial]:
    from quarterdeck.server.admission.policies.evaluator import Decision

    if policy.fails_closed:
        yield _Denial(policy, binding, Decision(-1, text))


def _act(
    policy: "Policy", binding: "Binding", outcome: "Outcome", *, attributes: AdmissionAttributes
) -> Iterator[_Denial]:
    """Do what the binding says about each decision; those that deny are returned."""
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
        if "Audit" in binding.actions:
            failure = {
                "message": decision.message,
                "policy": policy.name,
                "binding": binding.name,
                "expressionIndex": max(decision.position, 0),
                "validationActions": list(binding.actions),
            }
            attributes.audit_annotations[FAILURE_ANNOTATION] = kit_json.encode([failure]).decode()


def _build_denial(attributes: AdmissionAttributes, denial: _Denial) -> ApiError:
    policy, binding, decision = denial
    said = f"ValidatingAdmissionPolicy '{policy.name}'"
    if binding is not None:
        said += f" with binding '{binding.name}'"
    message = f"{said} denied request: {decision.message}"
    refusal = build_refusal(attributes, message)
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
