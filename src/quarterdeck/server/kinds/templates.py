"""What every workload has: a selector, a template of pods, and how both are shown."""

from collections.abc import Iterator, Sequence

from quarterdeck.meta.field import FieldError, forbidden, invalid, not_supported, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, items, mapping
from quarterdeck.server.kinds.pod_validation import spec_problems
from quarterdeck.server.registry.metadata_validation import check_labels
from quarterdeck.server.registry.printer import NONE, wide
from quarterdeck.server.registry.resource import Object

ROLLING = "RollingUpdate"
CONTAINERS = wide("Containers", text="Names of each container in the template.")
IMAGES = wide("Images", text="Images referenced by each container in the template.")


def template_problems(
    spec: Object, path: str, *, policies: Sequence[str] = ("Always",)
) -> Iterator[FieldError]:
    """A template whose labels the selector must select."""
    selector, template = spec.get("selector"), mapping(spec, "template")
    labels = mapping(template, "metadata", "labels")
    if any(validators.label_selector(f"{path}.selector", selector)):  # reported with the selector
        text = "invalid label selector"
        yield invalid(f"{path}.selector", validators.go_label_selector(selector), text)
        return
    is_missing = selector is None  # which selects nothing, not even these labels
    if is_missing or (
        _says_something(selector) and not validators.selector_matches(selector or {}, labels)
    ):
        text = "`selector` does not match template `labels`"
        yield invalid(f"{path}.template.metadata.labels", validators.go_string_map(labels), text)
    yield from pod_template_problems(template, f"{path}.template")
    policy = at(template, "spec", "restartPolicy")
    if policy and policy not in policies:
        yield not_supported(f"{path}.template.spec.restartPolicy", policy, policies)
    if at(template, "spec", "activeDeadlineSeconds") is not None:
        text = "activeDeadlineSeconds in ReplicaSet is not Supported"
        yield forbidden(f"{path}.template.spec.activeDeadlineSeconds", text)


def pod_template_problems(template: Object, path: str) -> Iterator[FieldError]:
    """Labels and spec of a template."""
    labels = mapping(template, "metadata", "labels")
    yield from check_labels(labels, f"{path}.labels")
    yield from spec_problems(mapping(template, "spec"), f"{path}.spec")


def _says_something(selector: Object | None) -> bool:
    return bool(selector and (selector.get("matchLabels") or selector.get("matchExpressions")))


def selector_problems(spec: Object, path: str, kind: str) -> Iterator[FieldError]:
    """A selector must be there and select something."""
    selector = spec.get("selector")
    if selector is None:
        yield required(f"{path}.selector")
        return
    yield from validators.label_selector(f"{path}.selector", selector)
    if not _says_something(selector):
        text = f"empty selector is invalid for {kind}"
        yield invalid(f"{path}.selector", validators.go_label_selector(selector), text)


def immutable_selector(value: Object, old: Object) -> Iterator[FieldError]:
    """A workload never changes which pods are its own."""
    selector, before = at(value, "spec", "selector"), at(old, "spec", "selector")
    if selector != before:
        yield invalid("spec.selector", validators.go_label_selector(selector), validators.IMMUTABLE)


def container_cells(spec: Object) -> tuple[str, str]:
    """Names and images of the containers of a pod spec."""
    containers = items(spec, "containers")
    names = ",".join(each.get("name") or "" for each in containers)
    return names, ",".join(each.get("image") or "" for each in containers)


def shown_selector(selector: Object | None) -> str:
    """A selector in a table; one that says nothing is `<none>`."""
    return validators.selector_text(selector) or NONE


def wide_cells(value: Object) -> tuple[str, str, str]:
    """Containers, images and selector of a workload."""
    names, images = container_cells(mapping(value, "spec", "template", "spec"))
    return names, images, shown_selector(at(value, "spec", "selector"))


def selector_of(value: Object) -> str:
    """The selector of a workload as its scale shows it."""
    return validators.selector_text(at(value, "spec", "selector"))
