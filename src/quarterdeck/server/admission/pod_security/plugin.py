"""The admission plugin PodSecurity: enforces, warns and notes for the audit."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from quarterdeck.kit import json as kit_json
from quarterdeck.server.admission.attributes import AdmissionAttributes, build_forbidden
from quarterdeck.server.admission.plugin import ValidatingPlugin
from quarterdeck.server.admission.pod_security.levels import (
    NO_POLICY,
    Level,
    LevelVersion,
    Policy,
    parse_labels,
)
from quarterdeck.server.admission.pod_security.pod import Pod, Violation
from quarterdeck.server.kinds.fields import get_items, get_mapping
from quarterdeck.server.registry.resource import Object
from quarterdeck.storage import Store, StoreKey
from quarterdeck.wire.status import Invalid

_TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "podtemplates": ("template",),
    "replicationcontrollers": ("spec", "template"),
    "replicasets.apps": ("spec", "template"),
    "deployments.apps": ("spec", "template"),
    "statefulsets.apps": ("spec", "template"),
    "daemonsets.apps": ("spec", "template"),
    "jobs.batch": ("spec", "template"),
    "cronjobs.batch": ("spec", "jobTemplate", "spec", "template"),
}
"""The path of the pod template in each kind of workload."""
_IGNORED_SUBRESOURCES = frozenset(
    ("exec", "attach", "binding", "eviction", "log", "portforward", "proxy", "status")
)
_MOST_PODS = 3000
_ANNOTATION = "pod-security.kubernetes.io/"


class PodSecurity(ValidatingPlugin):
    """Checks pods against the levels that the labels of their namespace set."""

    resources = frozenset({"pods", "namespaces", *_TEMPLATES})

    def __init__(self, store: Store) -> None:
        self._store = store

    def validate(self, attributes: AdmissionAttributes) -> None:
        """Refuse pods that violate the enforced level, warn of those that violate another.

        Raises:
            Forbidden: for a pod.
            Invalid: for a namespace with invalid Pod Security labels.
        """
        if attributes.verb not in ("create", "update") or attributes.value is None:
            return
        resource = attributes.resource.gvr.group_resource
        if resource == "pods":
            self._validate_pod(attributes, attributes.value)
        elif resource in _TEMPLATES and not attributes.subresource:
            self._validate_template(
                attributes, get_mapping(attributes.value, *_TEMPLATES[resource])
            )
        elif resource == "namespaces" and not attributes.subresource:
            self._validate_namespace(attributes, attributes.value)

    def _validate_pod(self, attributes: AdmissionAttributes, value: Object) -> None:
        if attributes.subresource in _IGNORED_SUBRESOURCES:
            return
        policy = self._find_policy(attributes.namespace)
        if policy.is_privileged:
            return
        if attributes.verb == "update" and not _is_significant(value, attributes.old or {}):
            return
        self._evaluate(attributes, policy, value, is_enforced=True)

    def _validate_template(self, attributes: AdmissionAttributes, template: Object) -> None:
        policy = self._find_policy(attributes.namespace)
        if template and (policy.warn.level or policy.audit.level):
            self._evaluate(attributes, policy, template, is_enforced=False)

    def _evaluate(
        self, attributes: AdmissionAttributes, policy: Policy, value: Object, *, is_enforced: bool
    ) -> None:
        if is_enforced:
            attributes.audit_annotations[f"{_ANNOTATION}enforce-policy"] = str(policy.enforce)
        violations = _find_violations(value, policy.audit)
        if violations:
            attributes.audit_annotations[f"{_ANNOTATION}audit-violations"] = (
                f'would violate PodSecurity "{policy.audit}": {_join(violations)}'
            )
        if is_enforced and (violations := _find_violations(value, policy.enforce)):
            raise build_forbidden(
                attributes, f'violates PodSecurity "{policy.enforce}": {_join(violations)}'
            )
        if violations := _find_violations(value, policy.warn):
            attributes.warnings.append(
                f'would violate PodSecurity "{policy.warn}": {_join(violations)}'
            )

    def _validate_namespace(self, attributes: AdmissionAttributes, value: Object) -> None:
        policy = parse_labels(get_mapping(value, "metadata", "labels"))
        before = NO_POLICY
        if attributes.old is not None:
            before = parse_labels(get_mapping(attributes.old, "metadata", "labels"))
        if policy.errors and policy.errors != before.errors:
            raise Invalid.of("Namespace", attributes.name, policy.errors)
        if attributes.old is None or not _is_tightened(policy.enforce, before.enforce):
            return
        for warning in self._check_pods(attributes.name, policy.enforce):
            attributes.warnings.append(warning)

    def _check_pods(self, namespace: str, enforce: LevelVersion) -> Iterator[str]:
        """Yield warnings about existing pods that violate a new enforce level."""
        by_reason: dict[str, list[str]] = {}
        entries = list(self._store.snapshot().range("pods", namespace))
        for entry in entries[:_MOST_PODS]:
            violations = _find_violations(kit_json.decode(entry.value), enforce)
            if violations:
                reasons = ", ".join(each.reason for each in violations)
                by_reason.setdefault(reasons, []).append(entry.key.name)
        if len(entries) > _MOST_PODS:
            yield (
                f"new PodSecurity enforce level only checked against the first {_MOST_PODS} of"
                f" {len(entries)} existing pods"
            )
        if by_reason:
            yield (
                f'existing pods in namespace "{namespace}" violate the new PodSecurity enforce'
                f' level "{enforce}"'
            )
        yield from sorted(
            f"{_count_pods(sorted(names))}: {reasons}" for reasons, names in by_reason.items()
        )

    def _find_policy(self, namespace: str) -> Policy:
        entry = self._store.get_pending(StoreKey("namespaces", "", namespace))
        if entry is None or b"pod-security.kubernetes.io/" not in entry.value:
            return NO_POLICY
        value: Object = kit_json.decode(entry.value)
        return parse_labels(get_mapping(value, "metadata", "labels"))


def _find_violations(value: Mapping[str, Any], wanted: LevelVersion) -> list[Violation]:
    if wanted.level is Level.PRIVILEGED:
        return []
    from quarterdeck.server.admission.pod_security.evaluator import find_violations

    metadata = value.get("metadata") or {}
    return find_violations(Pod(value.get("spec") or {}, metadata.get("annotations") or {}), wanted)


def _join(violations: Sequence[Violation]) -> str:
    return ", ".join(map(str, violations))


def _is_tightened(now: LevelVersion, before: LevelVersion) -> bool:
    if now == before or now.level is Level.PRIVILEGED:
        return False
    return now.minor != before.minor or now.level > before.level


def _count_pods(names: Sequence[str]) -> str:
    others = len(names) - 1
    if not others:
        return names[0]
    return f"{names[0]} (and {others} other {'pod' if others == 1 else 'pods'})"


def _is_significant(value: Object, old: Object) -> bool:
    """Whether an update adds containers or changes images; other changes are not checked again."""
    for member in ("containers", "initContainers"):
        now, before = get_items(value, "spec", member), get_items(old, "spec", member)
        if [each.get("image") for each in now] != [each.get("image") for each in before]:
            return True
    known = {
        each.get("name"): each.get("image")
        for each in get_items(old, "spec", "ephemeralContainers")
    }
    return any(
        each.get("name") not in known or known[each.get("name")] != each.get("image")
        for each in get_items(value, "spec", "ephemeralContainers")
    )
