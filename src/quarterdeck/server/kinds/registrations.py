"""What extends the API: webhook configurations and admission policies, and certificate requests."""

from collections.abc import Iterator, Sequence
from datetime import datetime

from quarterdeck.meta.field import FieldError, duplicate, forbidden, required
from quarterdeck.server.kinds import validators
from quarterdeck.server.kinds.fields import at, fill, items, mapping
from quarterdeck.server.kinds.strategy import Rules
from quarterdeck.server.registry.printer import AGE, NAME, NONE, column, created
from quarterdeck.server.registry.resource import Context, Object

_EFFECTS = ("None", "NoneOnDryRun")


def _default_webhook(webhook: Object) -> None:
    fill(
        webhook,
        failurePolicy="Fail",
        matchPolicy="Equivalent",
        namespaceSelector={},
        objectSelector={},
        timeoutSeconds=10,
    )
    service = at(webhook, "clientConfig", "service")
    if service is not None:
        fill(service, port=443)
    for rule in items(webhook, "rules"):
        fill(rule, scope="*")


def _default_validating(value: Object) -> None:
    for webhook in items(value, "webhooks"):
        _default_webhook(webhook)


def _default_mutating(value: Object) -> None:
    for webhook in items(value, "webhooks"):
        _default_webhook(webhook)
        fill(webhook, reinvocationPolicy="Never")


def _problems(value: Object, context: Context) -> Iterator[FieldError]:
    seen: set[str] = set()
    for index, webhook in enumerate(items(value, "webhooks")):
        place, name = f"webhooks[{index}]", webhook.get("name") or ""
        if not name:
            yield required(f"{place}.name")
        elif name in seen:
            yield duplicate(f"{place}.name", name)
        seen.add(name)
        config = mapping(webhook, "clientConfig")
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
            yield from validators.one_of(f"{place}.sideEffects", effects, _EFFECTS)
        policy = webhook.get("failurePolicy")
        yield from validators.one_of(f"{place}.failurePolicy", policy, ("Fail", "Ignore"))


def _cells(value: Object, now: datetime) -> Sequence[object]:
    return (value["metadata"].get("name", ""), len(items(value, "webhooks")), created(value, now))


_COLUMNS = (NAME, column("Webhooks", "integer"), AGE)

VALIDATING = Rules(
    default=_default_validating,
    validate=_problems,
    counted=("webhooks",),
    unconditional_update=False,
    columns=_COLUMNS,
    cells=_cells,
)
MUTATING = Rules(
    default=_default_mutating,
    validate=_problems,
    counted=("webhooks",),
    unconditional_update=False,
    columns=_COLUMNS,
    cells=_cells,
)


def _policy_cells(value: Object, now: datetime) -> Sequence[object]:
    kind = mapping(value, "spec", "paramKind")
    shown = f"{kind.get('apiVersion')}/{kind.get('kind')}" if kind else "<unset>"
    count = len(items(value, "spec", "validations"))
    return (value["metadata"].get("name", ""), count, shown, created(value, now))


def _default_policy(value: Object) -> None:
    spec = value.setdefault("spec", {})
    fill(spec, failurePolicy="Fail")
    if (match := spec.get("matchConstraints")) is not None:
        fill(match, matchPolicy="Equivalent", namespaceSelector={}, objectSelector={})


POLICY = Rules(
    default=_default_policy,
    counted=("spec",),
    unconditional_update=False,
    columns=(NAME, column("Validations", "integer"), column("ParamKind"), AGE),
    cells=_policy_cells,
)


def _binding_cells(value: Object, now: datetime) -> Sequence[object]:
    reference = mapping(value, "spec", "paramRef")
    name = reference.get("name") or ""
    shown = f"{reference.get('namespace') or '*'}/{name}" if name else "<unset>"
    policy = at(value, "spec", "policyName") or ""
    return (value["metadata"].get("name", ""), policy, shown, created(value, now))


POLICY_BINDING = Rules(
    counted=("spec",),
    unconditional_update=False,
    columns=(NAME, column("PolicyName"), column("ParamRef"), AGE),
    cells=_binding_cells,
)


def _request_cells(value: Object, now: datetime) -> Sequence[object]:
    spec = mapping(value, "spec")
    seconds = spec.get("expirationSeconds")
    types = [each.get("type") for each in items(value, "status", "conditions")]
    state = "Approved" if "Approved" in types else "Denied" if "Denied" in types else "Pending"
    issued = ",Issued" if at(value, "status", "certificate") else ""
    return (
        value["metadata"].get("name", ""),
        created(value, now),
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
        column("SignerName"),
        column("Requestor"),
        column("RequestedDuration"),
        column("Condition"),
    ),
    cells=_request_cells,
)
