"""`admissionregistration.k8s.io/v1`: which webhooks are asked."""

import msgspec

from quarterdeck.meta.kinds import KindInfo, Scope
from quarterdeck.meta.markers import Int32
from quarterdeck.meta.objects import Object, Struct
from quarterdeck.meta.selectors import LabelSelector


class ServiceReference(Struct, frozen=True, kw_only=True):
    """A webhook behind a Service."""

    namespace: str
    name: str
    path: str | None = None
    port: Int32 | None = None


class WebhookClientConfig(Struct, frozen=True, kw_only=True):
    """How to reach a webhook; `ca_bundle` is PEM in base64."""

    url: str | None = None
    service: ServiceReference | None = None
    ca_bundle: str = msgspec.field(name="caBundle", default="")


class RuleWithOperations(Struct, frozen=True, kw_only=True):
    """Which writes are asked about."""

    operations: tuple[str, ...] = ()
    api_groups: tuple[str, ...] = ()
    api_versions: tuple[str, ...] = ()
    resources: tuple[str, ...] = ()
    scope: str | None = None


class MatchCondition(Struct, frozen=True, kw_only=True):
    """A CEL expression that must hold before the webhook is asked."""

    name: str
    expression: str


class Webhook(Struct, frozen=True, kw_only=True):
    """One webhook."""

    name: str
    client_config: WebhookClientConfig
    admission_review_versions: tuple[str, ...]
    side_effects: str | None = None
    rules: tuple[RuleWithOperations, ...] = ()
    failure_policy: str | None = None
    match_policy: str | None = None
    namespace_selector: LabelSelector | None = None
    object_selector: LabelSelector | None = None
    timeout_seconds: Int32 | None = None
    match_conditions: tuple[MatchCondition, ...] = ()


class MutatingWebhook(Webhook, frozen=True, kw_only=True):
    """One webhook that may change what it is asked about."""

    reinvocation_policy: str | None = None


class ValidatingWebhookConfiguration(Object, frozen=True, kw_only=True):
    """Webhooks that may refuse."""

    KIND = KindInfo(
        group="admissionregistration.k8s.io",
        version="v1",
        kind="ValidatingWebhookConfiguration",
        plural="validatingwebhookconfigurations",
        singular="validatingwebhookconfiguration",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    webhooks: tuple[Webhook, ...] = ()


class MutatingWebhookConfiguration(Object, frozen=True, kw_only=True):
    """Webhooks that may change."""

    KIND = KindInfo(
        group="admissionregistration.k8s.io",
        version="v1",
        kind="MutatingWebhookConfiguration",
        plural="mutatingwebhookconfigurations",
        singular="mutatingwebhookconfiguration",
        scope=Scope.CLUSTER,
        subresource_status=False,
    )
    webhooks: tuple[MutatingWebhook, ...] = ()


KINDS: tuple[type[Object], ...] = (ValidatingWebhookConfiguration, MutatingWebhookConfiguration)
