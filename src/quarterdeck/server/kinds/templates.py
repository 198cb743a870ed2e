"""Selectors and pod templates of workloads: validation and table cells."""

from collections.abc import Iterator

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping
from quarterdeck.server.kinds.pod_validation import validate_spec
from quarterdeck.server.registry.metadata_validation import validate_annotations, validate_labels
from quarterdeck.server.registry.printer import NONE, build_wide_column
from quarterdeck.server.registry.resource import Object

ROLLING = "RollingUpdate"
CONTAINERS = build_wide_column("Containers", text="Names of each container in the template.")
IMAGES = build_wide_column("Images", text="Images referenced by each container in the template.")


def validate_template(spec: Object, path: str) -> Iterator[FieldError]:
    """Check the template of a workload whose selector must select its labels."""
    selector, template = spec.get("selector"), get_mapping(spec, "template")
    if is_invalid_selector(selector):
        text = "invalid label selector"
        yield invalid(f"{path}.selector", validators.format_go_label_selector(selector), text)
        return
    yield from validate_template_labels(spec, path)
    yield from validate_pod_template(template, f"{path}.template")
    yield from validate_always_running(template, f"{path}.template", "ReplicaSet")


def is_invalid_selector(selector: Object | None) -> bool:
    """Whether a selector cannot be evaluated."""
    return any(validators.validate_label_selector("", selector))


def validate_template_labels(
    spec: Object, path: str, *, may_select_all: bool = True
) -> Iterator[FieldError]:
    """Check that the selector selects the labels of the template; a missing one selects none."""
    selector = spec.get("selector")
    if may_select_all and selector is not None and not _has_terms(selector):
        return
    labels = get_mapping(spec, "template", "metadata", "labels")
    if selector is None or not validators.matches_selector(selector, labels):
        shown = validators.format_go_map(get_field(spec, "template", "metadata", "labels"))
        text = "`selector` does not match template `labels`"
        yield invalid(f"{path}.template.metadata.labels", shown, text)


def validate_always_running(template: Object, path: str, kind: str) -> Iterator[FieldError]:
    """Check that pods of a workload run without end: restartPolicy Always and no deadline."""
    policy = get_field(template, "spec", "restartPolicy") or ""
    if policy != "Always":
        yield not_supported(f"{path}.spec.restartPolicy", policy, ("Always",))
    if get_field(template, "spec", "activeDeadlineSeconds") is not None:
        text = f"activeDeadlineSeconds in {kind} is not Supported"
        yield forbidden(f"{path}.spec.activeDeadlineSeconds", text)


def validate_template_metadata(template: Object, path: str) -> Iterator[FieldError]:
    """Check the labels and annotations of a template."""
    yield from validate_labels(get_mapping(template, "metadata", "labels"), f"{path}.labels")
    annotations = get_mapping(template, "metadata", "annotations")
    yield from validate_annotations(annotations, f"{path}.annotations")


def validate_pod_template(template: Object, path: str) -> Iterator[FieldError]:
    """Check the labels, annotations and spec of a template."""
    yield from validate_template_metadata(template, path)
    pod = get_mapping(template, "spec")
    yield from validate_spec(pod, f"{path}.spec")
    if get_items(pod, "ephemeralContainers"):
        text = "ephemeral containers not allowed in pod template"
        yield forbidden(f"{path}.spec.ephemeralContainers", text)


def _has_terms(selector: Object | None) -> bool:
    return bool(selector and (selector.get("matchLabels") or selector.get("matchExpressions")))


def validate_selector(spec: Object, path: str, kind: str) -> Iterator[FieldError]:
    """Check that a selector exists and is not empty."""
    selector = spec.get("selector")
    if selector is None:
        yield required(f"{path}.selector")
        return
    yield from validators.validate_label_selector(f"{path}.selector", selector)
    if not _has_terms(selector):
        text = f"empty selector is invalid for {kind}"
        yield invalid(f"{path}.selector", validators.format_go_label_selector(selector), text)


def validate_selector_update(value: Object, old: Object) -> Iterator[FieldError]:
    """Check that the selector of a workload did not change."""
    selector, before = get_field(value, "spec", "selector"), get_field(old, "spec", "selector")
    if selector != before:
        yield invalid(
            "spec.selector", validators.format_go_label_selector(selector), validators.IMMUTABLE
        )


def build_container_cells(spec: Object) -> tuple[str, str]:
    """Build the cells with names and images of the containers of a pod spec."""
    containers = get_items(spec, "containers")
    names = ",".join(each.get("name") or "" for each in containers)
    return names, ",".join(each.get("image") or "" for each in containers)


def format_selector(selector: Object | None) -> str:
    """Format a selector in a table; an empty one is `<none>`."""
    return validators.format_selector(selector) or NONE


def build_wide_cells(value: Object) -> tuple[str, str, str]:
    """Build the cells with containers, images and selector of a workload."""
    names, images = build_container_cells(get_mapping(value, "spec", "template", "spec"))
    return names, images, format_selector(get_field(value, "spec", "selector"))


def format_scale_selector(value: Object) -> str:
    """Format the selector of a workload as its scale shows it."""
    return validators.format_selector(get_field(value, "spec", "selector"))
