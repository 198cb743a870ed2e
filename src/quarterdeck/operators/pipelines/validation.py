"""Checks of every kind of the group: the same for the webhook and for `pipelines lint`. Pure.

These are checks that a schema cannot express: matchers and configurations must parse, durations
must be valid, and fields must fit together.
"""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple, TypeVar

from quarterdeck.apis.fleetmanagement.rollout import Rollout
from quarterdeck.apis.fleetmanagement.v1alpha1 import (
    Collector,
    CollectorDiscovery,
    ExternalAttributeSync,
    FleetConnection,
    Pipeline,
    PipelineDiscovery,
    PipelineRevision,
    PipelineSet,
    RemoteAttributePolicy,
    TenantPolicy,
)
from quarterdeck.kit import duration
from quarterdeck.meta.objects import Object
from quarterdeck.meta.selectors import LabelSelector
from quarterdeck.operators.pipelines.address import InvalidAddress, normalize_url, split_source_url
from quarterdeck.operators.pipelines.desired import (
    Contents,
    find_isolation_problems,
    find_matcher_problems,
    find_problems,
)
from quarterdeck.telemetry import contents as checks
from quarterdeck.telemetry.contents import ConfigType
from quarterdeck.telemetry.findings import Severity

MIN_INTERVAL_S = 60.0
RESERVED = "collector."
MAX_VALUE = 1024
T = TypeVar("T", bound=Object)


class Finding(NamedTuple):
    """One problem of an object; `field` is its path."""

    text: str
    is_error: bool = True


Check = Callable[[Any], Iterator[Finding]]


def check(obj: Object) -> list[Finding]:
    """Everything wrong with an object of the group."""
    return list(CHECKS[type(obj)](obj))


def list_contents(obj: Object) -> list[tuple[str, ConfigType]]:
    """List the configurations that an object holds, each with its language."""
    if isinstance(obj, Pipeline):
        return [(obj.spec.contents, ConfigType(obj.spec.config_type))]
    if isinstance(obj, PipelineSet):
        return [(each.contents, ConfigType(each.config_type)) for each in obj.spec.pipelines]
    return []


def check_change(obj: Object, old: Object | None) -> list[Finding]:
    """Check a change of an object; an unchanged spec is not checked again.

    An object that is being deleted, or whose spec does not change, must stay writable even if the
    rules became stricter: its finalizer has to be removed.
    """
    if obj.is_deleting:
        return []
    if old is not None and _get_spec(old) == _get_spec(obj):
        return []
    if old is not None and isinstance(obj, PipelineRevision):
        return [Finding("spec: a revision is a record of the server and cannot be changed")]
    return check(obj)


def _get_spec(obj: Object) -> object:
    return getattr(obj, "spec", None)


def _check_pipeline(pipeline: Pipeline) -> Iterator[Finding]:
    spec = pipeline.spec
    if spec.contents_from is not None:
        yield from _build_errors(find_matcher_problems(spec.matchers))
        yield from _build_errors(find_isolation_problems(spec))
    else:
        yield from _build_errors(find_problems(pipeline, Contents(spec.contents)))
        yield from _find_content_warnings(spec.contents, spec.config_type, "spec.contents")
    if not spec.matchers:
        yield Finding("spec.matchers: empty, no collector matches", is_error=False)
    if spec.source is not None and spec.source.type == "Kubernetes":
        text = "spec.source.type: Kubernetes is not known to fleet servers and is not sent"
        yield Finding(text, is_error=False)
    is_grafana = spec.source is not None and spec.source.type == "Grafana"
    if is_grafana and spec.adoption_policy != "Never":
        yield Finding("spec.adoptionPolicy: a pipeline of Grafana cannot be adopted")
    if spec.rollout is not None:
        yield from _check_rollout(spec.rollout)


def _check_rollout(rollout: Rollout) -> Iterator[Finding]:
    before = 0
    for index, step in enumerate(rollout.steps):
        field = f"spec.rollout.steps[{index}]"
        yield from _build_errors(find_matcher_problems(step.matchers, f"{field}.matchers"))
        if bool(step.weight) == bool(step.matchers):
            yield Finding(f"{field}: exactly one of weight and matchers must be set")
        elif step.weight and step.weight <= before:
            text = (
                f"{field}.weight: {step.weight} must be greater than {before}, the weight of the "
                "previous step"
            )
            yield Finding(text)
        before = max(before, step.weight)
        if step.duration:
            yield from _check_duration(step.duration, f"{field}.duration", at_least_s=0.0)


def _check_connection(connection: FleetConnection) -> Iterator[Finding]:
    if connection.spec.url:
        try:
            normalize_url(connection.spec.url)
        except InvalidAddress as error:
            yield Finding(f"spec.url: {error}")
    spec = connection.spec
    yield from _check_duration(spec.sync_interval, "spec.syncInterval", at_least_s=0.0)
    yield from _check_duration(spec.timeout, "spec.timeout", at_least_s=0.0)


def _check_set(set_: PipelineSet) -> Iterator[Finding]:
    spec = set_.spec
    yield from _build_errors(find_matcher_problems(spec.matchers))
    seen: set[str] = set()
    for index, member in enumerate(spec.pipelines):
        field = f"spec.pipelines[{index}]"
        if member.name in seen:
            yield Finding(f"{field}.name: {member.name!r} is used twice")
        seen.add(member.name)
        yield from _build_errors(find_matcher_problems(member.matchers, f"{field}.matchers"))
        yield from _build_errors(find_isolation_problems(member, field))
        for each in checks.check(member.contents, ConfigType(member.config_type)):
            yield Finding(f"{field}.contents: {each}", each.severity is Severity.ERROR)
        if not member.matchers and not spec.matchers:
            yield Finding(f"{field}.matchers: empty, no collector matches", is_error=False)
    yield from _check_selector(spec.selector, "spec.selector")
    if not spec.pipelines and spec.selector is None and not spec.allow_empty:
        yield Finding("spec.pipelines: empty; set allowEmpty to delete all of the source")


def _check_revision(revision: PipelineRevision) -> Iterator[Finding]:
    return iter(())


def _check_collector(collector: Collector) -> Iterator[Finding]:
    yield from _check_keys(collector.spec.remote_attributes, "spec.remoteAttributes")


def _check_policy(policy: RemoteAttributePolicy) -> Iterator[Finding]:
    selector = policy.spec.selector
    yield from _build_errors(find_matcher_problems(selector.matchers, "spec.selector.matchers"))
    if not selector.matchers and not selector.collector_ids:
        yield Finding("spec.selector: matchers or collectorIDs must be set")
    yield from _check_keys(policy.spec.attributes, "spec.attributes")


def _check_tenant(policy: TenantPolicy) -> Iterator[Finding]:
    spec = policy.spec
    yield from _build_errors(find_matcher_problems(spec.required_matchers, "spec.requiredMatchers"))
    for index, subject in enumerate(spec.subjects):
        if subject.kind == "ServiceAccount" and not subject.namespace:
            yield Finding(f"spec.subjects[{index}].namespace: required for a ServiceAccount")
    yield from _check_selector(spec.namespace_selector, "spec.namespaceSelector")
    if not spec.subjects and spec.namespace_selector is None:
        text = "spec: applies to every user in every namespace: set subjects or namespaceSelector"
        yield Finding(text, is_error=False)


def _check_selector(selector: LabelSelector | None, field: str) -> Iterator[Finding]:
    """Requirements that Kubernetes refuses: they would select nothing, or everything."""
    for index, each in enumerate(selector.match_expressions if selector is not None else ()):
        place = f"{field}.matchExpressions[{index}].values"
        if each.operator in ("In", "NotIn") and not each.values:
            yield Finding(f"{place}: must have at least one value for the operator {each.operator}")
        if each.operator in ("Exists", "DoesNotExist") and each.values:
            yield Finding(f"{place}: must be empty for the operator {each.operator}")


def _check_pipeline_discovery(discovery: PipelineDiscovery) -> Iterator[Finding]:
    yield from _check_duration(discovery.spec.poll_interval, "spec.pollInterval")


def _check_collector_discovery(discovery: CollectorDiscovery) -> Iterator[Finding]:
    yield from _check_duration(discovery.spec.poll_interval, "spec.pollInterval")
    matchers = discovery.spec.selector.matchers
    yield from _build_errors(find_matcher_problems(matchers, "spec.selector.matchers"))


def _check_external_sync(sync: ExternalAttributeSync) -> Iterator[Finding]:
    spec = sync.spec
    yield from _check_duration(spec.schedule, "spec.schedule")
    try:
        split_source_url(spec.source.http.url)
    except InvalidAddress as error:
        yield Finding(str(error))
    yield from _build_errors(
        find_matcher_problems(spec.selector.matchers, "spec.selector.matchers")
    )
    yield from _check_keys(spec.mapping.attribute_fields, "spec.mapping.attributeFields")
    for key in spec.mapping.required_keys:
        if key not in spec.mapping.attribute_fields:
            yield Finding(f"spec.mapping.requiredKeys: {key!r} is not among attributeFields")
    if spec.source.secret_ref is not None and not spec.source.http.url.startswith("https://"):
        yield Finding("spec.source.http.url: https is required to send credentials")


CHECKS: dict[type[Object], Check] = {
    Pipeline: _check_pipeline,
    FleetConnection: _check_connection,
    PipelineSet: _check_set,
    PipelineRevision: _check_revision,
    Collector: _check_collector,
    RemoteAttributePolicy: _check_policy,
    TenantPolicy: _check_tenant,
    PipelineDiscovery: _check_pipeline_discovery,
    CollectorDiscovery: _check_collector_discovery,
    ExternalAttributeSync: _check_external_sync,
}


def _build_errors(texts: Sequence[str]) -> Iterator[Finding]:
    return (Finding(text) for text in texts)


def _find_content_warnings(text: str, config_type: str, field: str) -> Iterator[Finding]:
    for each in checks.check(text, ConfigType(config_type)):
        if each.severity is not Severity.ERROR:
            yield Finding(f"{field}: {each}", is_error=False)


def _check_keys(attributes: Any, field: str) -> Iterator[Finding]:
    for key in attributes:
        if not key or len(key) > 100 or key.startswith(RESERVED):
            text = "has 1 to 100 characters and does not start with collector., which is reserved"
            yield Finding(f"{field}: a key {text}, got {key!r}")
        if len(attributes[key]) > MAX_VALUE:
            yield Finding(f"{field}[{key}]: must have at most {MAX_VALUE} characters")


def _check_duration(
    text: str, field: str, *, at_least_s: float = MIN_INTERVAL_S
) -> Iterator[Finding]:
    try:
        seconds = duration.parse_seconds(text)
    except ValueError as error:
        yield Finding(f"{field}: {error}")
        return
    if seconds < at_least_s:
        yield Finding(f"{field}: {text} is less than {at_least_s:.0f}s")
