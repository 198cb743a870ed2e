"""Webhook configurations, admission policies and certificate signing requests."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, duplicate, forbidden, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import get_field, get_items, get_mapping, set_defaults
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, NONE, build_column, format_creation_age
from quarterdeck.server.registry.resource import Context, Object

_EFFECTS = ("None", "NoneOnDryRun")


def _default_webhook(webhook: Object) -> None:
    set_defaults(
        webhook,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )
    service = get_field(webhook, "clientConfig", "service")
    if service is not None:
        set_defaults(service, port=443)
    for rule in get_items(webhook, "rules"):
        set_defaults(rule, scope="*")


def _default_validating(value: Object) -> None:
    for webhook in get_items(value, "webhooks"):
        _default_webhook(webhook)


def _default_mutating(value: Object) -> None:
    for webhook in get_items(value, "webhooks"):
        _default_webhook(webhook)
        set_defaults(webhook, reinvocationPolicy="Never")


def _validate(value: Object, context: Context) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, webhook in enumerate(get_items(value, "webhooks")):
        place, name = f"webhooks[{index}]", webhook.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        config = get_mapping(webhook, "clientConfig")
        if (config.get("url") is None) == (config.get("service") is None):
            text = "exactly one of url or service is required"
            yield required(f"{place}.clientConfig", text)
        elif config.get("url") is not None and not config["url"].startswith("https://"):
            text = "'https' is the only allowed URL scheme; desired format: https://host[/path]"
            yield forbidden(f"{place}.clientConfig.url", text)
        if not webhook.get("admissionReviewVersions"):
            text = "must specify one of v1, v1beta1"
            yield required(f"{place}.admissionReviewVersions", text)
        effects = webhook.get("sideEffects")
        if effects is None:
            yield required(f"{place}.sideEffects", "must specify one of None, NoneOnDryRun")
        else:
            yield from validators.validate_enum(f"{place}.sideEffects", effects, _EFFECTS)
        policy = webhook.get("failurePolicy")
        yield from validators.validate_enum(f"{place}.failurePolicy", policy, ("Fail", "Ignore"))


def _build_cells(value: Object, now: datetime) -> Sequence[object]:
    return (
        value["metadata"].get("name", ""),
        len(get_items(value, "webhooks")),
        format_creation_age(value, now),
    )


_COLUMNS = (NAME, build_column("Webhooks", "integer"), AGE)

VALIDATING = Rules(
    default=_default_validating,
    validate=_validate,
    generation_fields=("webhooks",),
    allows_unconditional_update=False,
    columns=_COLUMNS,
    cells=_build_cells,
)
MUTATING = Rules(
    default=_default_mutating,
    validate=_validate,
    generation_fields=("webhooks",),
    allows_unconditional_update=False,
    columns=_COLUMNS,
    cells=_build_cells,
)


def _build_policy_cells(value: Object, now: datetime) -> Sequence[object]:
    kind = get_mapping(value, "spec", "paramKind")
    shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"
    count = len(get_items(value, "spec", "validations"))
    return (value["metadata"].get("name", ""), count, shown, format_creation_age(value, now))


def _default_policy(value: Object) -> None:
    spec = value.setdefault("spec", {})
    set_defaults(spec, failurePolicy="Fail")
    if (match := spec.get("matchConstraints")) is not None:
        set_defaults(match, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})


POLICY = Rules(
    default=_default_policy,
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("Validations", "integer"), build_column("ParamKind"), AGE),
    cells=_build_policy_cells,
)


def _build_binding_cells(value: Object, now: datetime) -> Sequence[object]:
    reference = get_mapping(value, "spec", "paramRef")
    name = reference.get("name") or ""
    shown = f"{reference.get('namespace') or '*'}/{name}" if name else "<unset>"
    policy = get_field(value, "spec", "policyName") or ""
    return (value["metadata"].get("name", ""), policy, shown, format_creation_age(value, now))


POLICY_BINDING = Rules(
    generation_fields=("spec",),
    allows_unconditional_update=False,
    columns=(NAME, build_column("PolicyName"), build_column("ParamRef"), AGE),
    cells=_build_binding_cells,
)


def _build_request_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = get_mapping(value, "spec")
    seconds = spec.get("expirationSeconds")
    types = [each.get("type") for each in get_items(value, "status", "conditions")]
    state = "Approved" if "Approved" in types else "Denied" if "Denied" in types else "Pending"
    issued = ",Issued" if get_field(value, "status", "certificate") else ""
    return (
        value["metadata"].get("name", ""),
        format_creation_age(value, now),
        spec.get("signerName") or NONE,
        spec.get("username") or "",
        NONE if seconds is None else f"{seconds}s",
        state + issued,
    )


def _prepare_request(value: Object, context: Context) -> None:
    """Who asks is what the server found out, not what the request says."""
    spec = value.setdefault("spec", {})
    for member in ("username", "uid", "groups", "extra"):
        spec.pop(member, None)
    if context.user:
        spec["username"] = context.user


CERTIFICATE_REQUEST = Rules(
    prepare_create=_prepare_request,
    selectable={"spec.signerName": ""},
    columns=(
        NAME,
        AGE,
        build_column("SignerName"),
        build_column("Requestor"),
        build_column("RequestedDuration"),
        build_column("Condition"),
    ),
    cells=_build_request_cells,
)
