"""What webhook configurations say, from their stored form. Pure."""

import base64
import enum
from collections.abc import Iterator, Mapping
from typing import Any

import msgspec

from quarterdeck.server.admission.matching import Rule, parse_rules
from quarterdeck.wire.label_selector import Selector


class FailurePolicy(enum.Enum):
    """What happens when the call of a webhook fails, or its answer is invalid."""

    FAIL = "Fail"
    IGNORE = "Ignore"


class Service(msgspec.Struct, frozen=True, kw_only=True):
    """A webhook behind a Service of the cluster."""

    namespace: str
    name: str
    path: str = ""
    port: int = 443


class ClientConfig(msgspec.Struct, frozen=True, kw_only=True):
    """How to reach a webhook: by URL or by Service."""

    url: str = ""
    service: Service | None = None
    ca_bundle: bytes = b""


class MatchCondition(msgspec.Struct, frozen=True):
    """An expression that must be true for a webhook to be called."""

    name: str
    expression: str


class Webhook(msgspec.Struct, frozen=True, kw_only=True, eq=False):
    """One webhook of a configuration."""

    configuration: str
    name: str
    is_mutating: bool
    client: ClientConfig
    rules: tuple[Rule, ...]
    namespace_selector: Selector
    object_selector: Selector
    failure_policy: FailurePolicy
    is_exact: bool
    """Whether `matchPolicy` is Exact: equivalent resources of other versions do not match."""
    timeout_s: int
    review_versions: tuple[str, ...]
    conditions: tuple[MatchCondition, ...] = ()
    is_reinvoked: bool = False
    """Whether it is called again when a later webhook changes the object."""


def parse_webhooks(value: Mapping[str, Any], *, is_mutating: bool) -> Iterator[Webhook]:
    """Parse the webhooks of a stored configuration, in its order."""
    configuration = value["metadata"]["name"]
    for entry in value.get("webhooks") or ():
        yield Webhook(
            configuration=configuration,
            name=entry["name"],
            is_mutating=is_mutating,
            client=parse_client(entry.get("clientConfig") or {}),
            rules=parse_rules(entry.get("rules")),
            namespace_selector=Selector.from_label_selector(entry.get("namespaceSelector") or {}),
            object_selector=Selector.from_label_selector(entry.get("objectSelector") or {}),
            failure_policy=FailurePolicy(entry.get("failurePolicy") or "Fail"),
            is_exact=entry.get("matchPolicy") == "Exact",
            timeout_s=entry.get("timeoutSeconds") or 10,
            review_versions=tuple(entry.get("admissionReviewVersions") or ()),
            conditions=tuple(
                MatchCondition(each["name"], each["expression"])
                for each in entry.get("matchConditions") or ()
            ),
            is_reinvoked=entry.get("reinvocationPolicy") == "IfNeeded",
        )


def parse_client(client: Mapping[str, Any]) -> ClientConfig:
    """Parse the `clientConfig` of a webhook."""
    service = client.get("service")
    return ClientConfig(
        url=client.get("url") or "",
        service=None
        if service is None
        else Service(
            namespace=service.get("namespace") or "",
            name=service.get("name") or "",
            path=service.get("path") or "",
            port=service.get("port") or 443,
        ),
        ca_bundle=base64.b64decode(client.get("caBundle") or ""),
    )
