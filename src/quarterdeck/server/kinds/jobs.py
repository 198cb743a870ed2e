"""Jobs."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.kit import rfc3339
from quarterdeck.meta import names
from quarterdeck.meta.field import FieldError, invalid, prints_json, required
from quarterdeck.meta.release import has_feature
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.go_structs import format_go_struct
from quarterdeck.server.kinds.job_status_validation import validate_job_status
from quarterdeck.server.kinds.job_validation import validate_job_spec
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import build_container_cells, format_selector
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    build_column,
    build_wide_column,
    format_creation_age,
    format_duration,
)
from quarterdeck.server.registry.resource import Context, Object

_UID_LABEL = "batch.kubernetes.io/controller-uid"
_NAME_LABEL = "batch.kubernetes.io/job-name"
_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"


def _default_job_spec(spec: Object) -> None:
    """Fill in the defaults of a job; templates of CronJobs get only those of the pod."""
    if spec.get("completions") is None and spec.get("parallelism") is None:
        spec["completions"] = spec["parallelism"] = 1
    set_defaults(
        spec,
        parallelism=1,
        backoffLimit=2**31 - 1 if spec.get("backoffLimitPerIndex") is not None else 6,
        completionMode="NonIndexed",
        suspend=False,
        manualSelector=False,
    )
    for rule in get_items(spec, "podFailurePolicy", "rules"):
        for condition in get_items(rule, "onPodConditions"):
            if not condition.get("status"):
                condition["status"] = "True"
    if spec.get("podReplacementPolicy") is None:
        has_policy = spec.get("podFailurePolicy") is not None
        spec["podReplacementPolicy"] = "Failed" if has_policy else "TerminatingOrFailed"


def _default_job(value: Object) -> None:
    spec = value.setdefault("spec", {})
    template = spec.setdefault("template", {})
    _default_job_spec(spec)
    default_template(template)
    labels = get_mapping(template, "metadata", "labels")
    if labels and not value["metadata"].get("labels"):
        value["metadata"]["labels"] = dict(labels)


def _prepare_create(value: Object, context: Context) -> None:
    spec, metadata = value["spec"], value["metadata"]
    if spec.get("manualSelector"):
        return
    if not metadata.get("name") and metadata.get("generateName"):
        suffix = "".join(context.random.choices(_ALPHABET, k=5))
        metadata["name"] = metadata["generateName"][:58] + suffix
    own = _build_own_labels(metadata)
    template = spec["template"].setdefault("metadata", {})
    labels = template.get("labels") or {}
    if (metadata.get("labels") or {}) == labels:
        # labels that were defaulted from the template stay those of the template
        metadata["labels"] = {**own, **labels}
    template["labels"] = {**own, **labels}
    if spec.get("selector") is None:
        spec["selector"] = {}
    selector = spec["selector"]
    uid = {_UID_LABEL: metadata["uid"]}
    selector["matchLabels"] = {**uid, **(selector.get("matchLabels") or {})}


def _validate_job(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    yield from validate_job_spec(spec, "spec")
    selector = spec.get("selector")
    if selector is None:
        yield required("spec.selector")
    problems = [*validators.validate_label_selector("spec.selector", selector)]
    yield from problems
    labels = get_mapping(spec, "template", "metadata", "labels")
    if not problems and not (selector and validators.matches_selector(selector, labels)):
        text = "`selector` does not match template `labels`"
        shown = validators.format_go_map(get_field(spec, "template", "metadata", "labels"))
        yield invalid("spec.template.metadata.labels", shown, text)


def _validate_new_job(value: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_generated_selector(value)
    spec, name = get_mapping(value, "spec"), value["metadata"].get("name") or ""
    completions = spec.get("completions") or 0
    if spec.get("completionMode") == "Indexed" and completions > 0:
        last = f"{name}-{completions - 1}"
        if names.check_dns1123_label(last):
            text = f"will not able to create pod with invalid DNS label: {last}"
            yield invalid("metadata.name", name, text)


def _validate_generated_selector(value: Object) -> Iterator[FieldError]:
    """Check that labels and selector are the generated ones, unless `manualSelector` is set."""
    spec, metadata = get_mapping(value, "spec"), value["metadata"]
    selector = spec.get("selector")
    if spec.get("manualSelector") or selector is None:
        return
    own = _build_own_labels(metadata)
    labels = get_mapping(spec, "template", "metadata", "labels")
    for name, expected in own.items():
        place = f"spec.template.metadata.labels[{name}]"
        if name not in labels:
            yield required(place, f"must be '{expected}'")
        elif labels[name] != expected:
            yield invalid(place, labels[name], f"must be '{expected}'")
    if any(validators.validate_label_selector("", selector)):
        return
    if not validators.matches_selector(selector, own):
        shown = validators.format_go_label_selector(selector)
        yield invalid("spec.selector", shown, "`selector` not auto-generated")


def _build_own_labels(metadata: Object) -> dict[str, str]:
    uid, name = metadata["uid"], metadata.get("name") or ""
    return {_UID_LABEL: uid, _NAME_LABEL: name, "controller-uid": uid, "job-name": name}


def _validate_job_update(value: Object, old: Object, context: Context) -> Iterator[FieldError]:
    yield from _validate_generated_selector(value)
    spec, before = get_mapping(value, "spec"), get_mapping(old, "spec")
    if spec.get("selector") != before.get("selector"):
        shown = validators.format_go_label_selector(spec.get("selector"))
        yield invalid("spec.selector", shown, validators.IMMUTABLE)
    done, before_done = spec.get("completions"), before.get("completions")
    if spec.get("completionMode") != "Indexed":
        yield from validators.validate_immutable("spec.completions", done, before_done)
    elif done not in (before_done, None) and done != spec.get("parallelism"):
        text = "can only be modified in tandem with spec.parallelism"
        yield invalid("spec.completions", done, text)
    for member in ("completionMode", "backoffLimitPerIndex", "managedBy"):
        yield from validators.validate_immutable(
            f"spec.{member}", spec.get(member), before.get(member)
        )
    may_move = before.get("suspend") and not get_field(old, "status", "startTime")
    templates = [get_mapping(each, "template") for each in (spec, before)]
    if may_move:
        templates = [_drop_scheduling_fields(each) for each in templates]
    if templates[0] != templates[1]:
        yield _build_template_error(spec, before)


def _build_template_error(spec: Object, before: Object) -> FieldError:
    """Build the error for a changed template; in newer releases it may name the pod spec."""
    if not prints_json():
        return invalid("spec.template", spec.get("template"), validators.IMMUTABLE)
    template = get_mapping(spec, "template")
    if before.get("suspend"):
        shown = format_go_struct("core/v1.PodSpec", get_mapping(template, "spec"))
        return invalid("spec.template.spec", shown, validators.IMMUTABLE)
    shown = format_go_struct("core/v1.PodTemplateSpec", template)
    return invalid("spec.template", shown, validators.IMMUTABLE)


_SCHEDULING_FIELDS = ("nodeSelector", "affinity", "tolerations", "schedulingGates")
"""Fields of the pod spec that may change while a job is suspended and has never started."""


def _drop_scheduling_fields(template: Object) -> Object:
    spec = {
        key: each
        for key, each in get_mapping(template, "spec").items()
        if key not in _SCHEDULING_FIELDS
    }
    if has_feature("MutablePodResourcesForSuspendedJobs"):
        for member in ("containers", "initContainers"):
            if member in spec:
                spec[member] = [{**each, "resources": {}} for each in spec[member]]
    return {"spec": spec}


def _format_job_status(value: Object) -> str:
    true = {
        each.get("type")
        for each in get_items(value, "status", "conditions")
        if each.get("status") == "True"
    }
    if "Complete" in true:
        return "Complete"
    if "Failed" in true:
        return "Failed"
    if value["metadata"].get("deletionTimestamp"):
        return "Terminating"
    for word in ("Suspended", "FailureTarget"):
        if word in true:
            return word
    return "Running"


def _build_job_cells(value: Object, now: datetime) -> Sequence[object]:
    spec, status = get_mapping(value, "spec"), get_mapping(value, "status")
    done, wanted = status.get("succeeded") or 0, spec.get("completions")
    completions = f"{done}/{wanted}"
    if wanted is None:
        parallel = spec.get("parallelism") or 0
        completions = f"{done}/1 of {parallel}" if parallel > 1 else f"{done}/1"
    containers, images = build_container_cells(get_mapping(spec, "template", "spec"))
    return (
        value["metadata"].get("name", ""),
        _format_job_status(value),
        completions,
        _format_job_duration(status, now),
        format_creation_age(value, now),
        containers,
        images,
        format_selector(spec.get("selector")),
    )


def _format_job_duration(status: Object, now: datetime) -> str:
    if not status.get("startTime"):
        return ""
    ended = rfc3339.parse(status["completionTime"]) if status.get("completionTime") else now
    return format_duration((ended - rfc3339.parse(status["startTime"])).total_seconds())


JOB = Rules(
    default=_default_job,
    prepare_create=_prepare_create,
    validate=_validate_job,
    validate_new=_validate_new_job,
    validate_change=_validate_job_update,
    validate_status=validate_job_status,
    validates_twice=True,
    validates_twice_in_newer_releases=True,
    required_lists=(("spec", "podFailurePolicy", "rules"),),
    generation_fields=("spec",),
    selectable={"status.successful": "0"},
    field_values=lambda value: {
        "status.successful": str(get_field(value, "status", "succeeded") or 0)
    },
    columns=(
        NAME,
        build_column("Status"),
        build_column("Completions"),
        build_column("Duration"),
        AGE,
        build_wide_column("Containers"),
        build_wide_column("Images"),
        build_wide_column("Selector"),
    ),
    cells=_build_job_cells,
    status_updates_labels=True,
)
