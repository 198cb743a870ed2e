"""CronJobs."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, invalid, not_supported, required
from quarterdeck.server.kinds import cron, validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.job_validation import validate_job_spec
from quarterdeck.server.kinds.pod_defaults import default_template
from quarterdeck.server.kinds.rules import Rules
from quarterdeck.server.kinds.templates import build_container_cells, format_selector
from quarterdeck.server.registry.printer import (
    AGE,
    NAME,
    NONE,
    build_column,
    build_wide_column,
    format_age,
    format_creation_age,
)
from quarterdeck.server.registry.resource import Context, Object

_NAME_LIMIT = 52


def _default_cron_job(value: Object) -> None:
    spec = value.setdefault("spec", {})
    if not spec.get("concurrencyPolicy"):
        spec["concurrencyPolicy"] = "Allow"
    set_defaults(spec, suspend=False, successfulJobsHistoryLimit=3, failedJobsHistoryLimit=1)
    template = spec.setdefault("jobTemplate", {}).setdefault("spec", {}).setdefault("template", {})
    default_template(template)


def _validate_zone(zone: str) -> Iterator[FieldError]:
    if not zone:
        yield invalid("spec.timeZone", zone, "timeZone must be nil or non-empty string")
        return
    if zone.lower() == "local":
        text = (
            "timeZone must be an explicit time zone as defined in https://www.iana.org/time-zones"
        )
        yield invalid("spec.timeZone", zone, text)
    if zone != "Local" and not _is_zone(zone):
        yield invalid("spec.timeZone", zone, f"unknown time zone {zone}")


def _is_zone(name: str) -> bool:
    from zoneinfo import ZoneInfo

    try:
        ZoneInfo(name)
    except (KeyError, ValueError, OSError):
        return False
    return True


def _validate_cron_job(value: Object, context: Context) -> Iterator[FieldError]:
    spec = get_mapping(value, "spec")
    schedule = spec.get("schedule") or ""
    if not schedule:
        yield required("spec.schedule")
    else:
        if text := cron.validate_schedule(schedule):
            yield invalid("spec.schedule", schedule, text)
        if "TZ" in schedule:
            text = "cannot use TZ or CRON_TZ in schedule, use timeZone field instead"
            yield invalid("spec.schedule", schedule, text)
    if (zone := spec.get("timeZone")) is not None:
        yield from _validate_zone(zone)
    yield from validators.validate_non_negative(
        "spec.startingDeadlineSeconds", spec.get("startingDeadlineSeconds")
    )
    policies = ("Allow", "Forbid", "Replace")
    yield from validators.validate_required_enum(
        "spec.concurrencyPolicy", spec.get("concurrencyPolicy"), policies
    )
    for member in ("successfulJobsHistoryLimit", "failedJobsHistoryLimit"):
        yield from validators.validate_non_negative(f"spec.{member}", spec.get(member))
    template = get_mapping(spec, "jobTemplate", "spec")
    if template.get("manualSelector"):
        path = "spec.jobTemplate.spec.manualSelector"
        yield not_supported(path, value=True, choices=("nil", "false"))
    if (selector := template.get("selector")) is not None:
        shown = validators.format_go_label_selector(selector)
        text = "`selector` will be auto-generated"
        yield invalid("spec.jobTemplate.spec.selector", shown, text)
    yield from validate_job_spec(template, "spec.jobTemplate.spec")


def _validate_cron_job_name(value: Object, context: Context) -> Iterator[FieldError]:
    name = value["metadata"].get("name") or ""
    if len(name) > _NAME_LIMIT:
        text = f"must be no more than {_NAME_LIMIT} characters"
        yield invalid("metadata.name", name, text)


def _build_cron_job_cells(value: Object, now: datetime) -> Sequence[object]:
    spec, last = get_mapping(value, "spec"), get_field(value, "status", "lastScheduleTime")
    containers, images = build_container_cells(
        get_mapping(spec, "jobTemplate", "spec", "template", "spec")
    )
    suspend = spec.get("suspend")
    return (
        value["metadata"].get("name", ""),
        spec.get("schedule") or "",
        spec.get("timeZone") or NONE,
        "<unset>" if suspend is None else ("True" if suspend else "False"),
        len(get_items(value, "status", "active")),
        format_age(last, now) if last else NONE,
        format_creation_age(value, now),
        containers,
        images,
        format_selector(get_field(spec, "jobTemplate", "spec", "selector")),
    )


CRON_JOB = Rules(
    default=_default_cron_job,
    validate=_validate_cron_job,
    validate_new=_validate_cron_job_name,
    generation_fields=("spec",),
    columns=(
        NAME,
        build_column("Schedule"),
        build_column("Timezone"),
        build_column("Suspend", "boolean"),
        build_column("Active", "integer"),
        build_column("Last Schedule"),
        AGE,
        build_wide_column("Containers"),
        build_wide_column("Images"),
        build_wide_column("Selector"),
    ),
    cells=_build_cron_job_cells,
    status_updates_labels=True,
)
