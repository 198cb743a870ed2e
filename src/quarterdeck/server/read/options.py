"""Query options of lists and watches, checked as Kubernetes checks them."""

from quarterdeck.meta.field import FieldError, forbidden, not_supported
from quarterdeck.wire.query import ListOptions
from quarterdeck.wire.status import Invalid

EXACT = "Exact"


NOT_OLDER = "NotOlderThan"


def check_options(options: ListOptions) -> None:
    """Refuse combinations of options that have no meaning.

    Raises:
        Invalid: naming each of them.
    """
    errors = _watch_errors(options) if options.watch else _list_errors(options)
    if errors:
        raise Invalid.of("ListOptions", "", errors, group="meta.k8s.io")


def _list_errors(options: ListOptions) -> list[FieldError]:
    errors = _list_match_errors(options) if options.resource_version_match else []
    if options.send_initial_events is not None:
        errors.append(forbidden("sendInitialEvents", "sendInitialEvents is forbidden for list"))
    return errors


def _list_match_errors(options: ListOptions) -> list[FieldError]:
    match, version = options.resource_version_match, options.resource_version
    field = "resourceVersionMatch"
    errors: list[FieldError] = []
    if not version:
        errors.append(forbidden(field, f"{field} is forbidden unless resourceVersion is provided"))
    if options.continue_:
        errors.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    if match not in (EXACT, NOT_OLDER):
        errors.append(not_supported(field, match, (EXACT, NOT_OLDER, "")))
    elif match == EXACT and version == "0":
        errors.append(forbidden(field, f'{field} "exact" is forbidden for resourceVersion "0"'))
    return errors


def _watch_errors(options: ListOptions) -> list[FieldError]:
    field, initial = "resourceVersionMatch", "sendInitialEvents"
    match = options.resource_version_match
    errors: list[FieldError] = []
    if options.send_initial_events is not None and match != NOT_OLDER:
        errors.append(forbidden(field, f"{initial} requires setting {field} to {NOT_OLDER}"))
    if not match:
        if options.continue_ and _begins_with_state(options):
            errors.append(forbidden(field, f"{field} is forbidden when continue is provided"))
        return errors
    if options.send_initial_events is None:
        errors.append(
            forbidden(field, f"{field} is forbidden for watch unless {initial} is provided")
        )
    if match != NOT_OLDER:
        errors.append(not_supported(field, match, (NOT_OLDER,)))
    if options.continue_:
        errors.append(forbidden(field, f"{field} is forbidden when continue is provided"))
    return errors


def _begins_with_state(options: ListOptions) -> bool:
    """Whether Kubernetes sets `sendInitialEvents` and `resourceVersionMatch` by default."""
    return options.send_initial_events is None and options.resource_version in ("", "0")
