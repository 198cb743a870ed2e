"""Signs approved certificate requests for the signers of Kubernetes itself.

A request that the signer does not accept gets the condition `Failed`. Requests to other signers are
ignored.
"""

import base64
import functools
from collections.abc import Iterator, Sequence
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from quarterdeck.kit.certificate import Certificate, load_certificate
from quarterdeck.kit.certificate_signing import RequestedName, read_request, sign_request
from quarterdeck.kit.clock import Clock
from quarterdeck.kit.rfc3339 import format_time
from quarterdeck.server.authentication.user import MASTERS_GROUP
from quarterdeck.server.lifecycle.engine.actions import Action
from quarterdeck.server.lifecycle.engine.index import Index
from quarterdeck.server.lifecycle.engine.objects import get_status, is_deleting, update
from quarterdeck.server.lifecycle.engine.view import View
from quarterdeck.server.registry.resource import STATUS, Object
from quarterdeck.storage import StoreEvent, StoreKey

REQUESTS = "certificatesigningrequests.certificates.k8s.io"
_LONGEST = timedelta(days=365)
_SHORTEST = timedelta(minutes=10)
_NODES = "system:nodes"
_NODE_PREFIX = "system:node:"
_ENCRYPTION = ("digital signature", "key encipherment")


class Signer(NamedTuple):
    """The requirements of one signer."""

    purpose: str
    """The key usage that a request must have."""
    is_for_nodes: bool = False
    needs_hosts: bool = False
    allows_hosts: bool = True


SIGNERS = {
    "kubernetes.io/kube-apiserver-client": Signer("client auth"),
    "kubernetes.io/kube-apiserver-client-kubelet": Signer(
        "client auth", is_for_nodes=True, allows_hosts=False
    ),
    "kubernetes.io/kubelet-serving": Signer("server auth", is_for_nodes=True, needs_hosts=True),
}


class CertificateSigning:
    """Issues certificates of the cluster's authority."""

    name = "csrsigning"
    manager = "kube-controller-manager"
    resources: frozenset[str] | None = frozenset({REQUESTS})
    initial: Sequence[StoreKey] = ()

    def __init__(self, certificate: Path, key: Path, clock: Clock) -> None:
        self._certificate = certificate
        self._key = key
        self._clock = clock

    @functools.cached_property
    def _authority(self) -> Certificate:
        """The CA certificate and key, read when the first request is signed."""
        return load_certificate(self._certificate.read_bytes(), self._key.read_bytes())

    def find_keys(self, event: StoreEvent, index: Index) -> Iterator[StoreKey]:
        """Find the request that was written."""
        if event.after is not None:
            yield event.key

    def plan(self, view: View, key: StoreKey) -> Sequence[Action]:
        """Issue the certificate of an approved request, or set the condition `Failed`."""
        request = view.get(key)
        if request is None or is_deleting(request) or not _is_waiting(request):
            return ()
        spec, status = request["spec"], get_status(request)
        signer = SIGNERS[spec["signerName"]]
        document = base64.b64decode(spec.get("request") or "")
        usages = spec.get("usages") or ()
        try:
            check_request(signer, read_request(document), usages)
            seconds = timedelta(seconds=spec.get("expirationSeconds") or _LONGEST.total_seconds())
            issued = sign_request(
                document,
                self._authority,
                usages,
                now=self._clock.now(),
                lifetime=max(_SHORTEST, min(seconds, _LONGEST)),
            )
        except ValueError as error:
            status = {**status, "conditions": [*status["conditions"], self._build_failure(error)]}
        else:
            status = {**status, "certificate": base64.b64encode(issued).decode()}
        return (update(REQUESTS, request, subresource=STATUS, status=status),)

    def _build_failure(self, error: Exception) -> Object:
        now = format_time(self._clock.now())
        return {
            "type": "Failed",
            "status": "True",
            "reason": "SignerValidationFailure",
            "message": str(error),
            "lastUpdateTime": now,
            "lastTransitionTime": now,
        }


def _is_waiting(request: Object) -> bool:
    status = get_status(request)
    types = {each.get("type") for each in status.get("conditions") or ()}
    return (
        request["spec"].get("signerName") in SIGNERS
        and "Approved" in types
        and not types & {"Denied", "Failed"}
        and not status.get("certificate")
    )


def check_request(signer: Signer, name: RequestedName, usages: Sequence[str]) -> None:
    """Check whether the signer accepts the name and the usages of a request.

    Raises:
        ValueError: naming what the signer does not accept.
    """
    allowed = {signer.purpose, *_ENCRYPTION}
    if signer.purpose not in usages or not set(usages) <= allowed:
        raise ValueError(
            f"invalid usages: {', '.join(usages)}; expected {signer.purpose}, and optionally"
            f" {', '.join(_ENCRYPTION)}"
        )
    if MASTERS_GROUP in name.organizations:
        raise ValueError(f"the organization {MASTERS_GROUP} is not allowed")
    if not signer.is_for_nodes:
        return
    if name.organizations != (_NODES,):
        raise ValueError(f"the only organization must be {_NODES}")
    if not name.common_name.startswith(_NODE_PREFIX):
        raise ValueError(f"the common name must begin with {_NODE_PREFIX}")
    if name.has_other_names:
        raise ValueError("email addresses and URIs are not allowed")
    if signer.needs_hosts and not name.has_hosts:
        raise ValueError("at least one DNS name or IP address is required")
    if name.has_hosts and not signer.allows_hosts:
        raise ValueError("DNS names and IP addresses are not allowed")
