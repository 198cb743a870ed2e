"""The invitation of a machine to attest: a port to the bootstrap service, and the agent's file.

The invitation is part of the seed, which only the hypervisor can write. It has the root
certificate that the machine must trust, so that no other service can pose as ours.
"""

from typing import Any, NamedTuple, Protocol

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret

PATH = "/etc/hyperfleet/agent.json"
METHODS = ("join-token", "tpm", "tpm+token")
"""Attestation methods that every bootstrap service has."""
METHOD_GROUP = "quarterdeck.attestation"
"""Entry point group of attestation methods of other packages."""
MIN_TOKEN_S, MAX_TOKEN_S = 60.0, 86400.0
"""How long a join token may be valid."""


class ServiceMissing(Exception):
    """Raised when there is no bootstrap service, or it fails; the message has the cause."""


class Invitation(NamedTuple):
    """What the agent of a machine needs to attest."""

    url: str
    trust_bundle: str
    token: Secret[str] | None = None
    """Join token for one use; None if the attestation method needs none."""


class Inviter(Protocol):
    """The port to the bootstrap service."""

    async def invite(
        self, claim: MachineClaim, *, needs_token: bool, lifetime_s: float
    ) -> Invitation:
        """Create an invitation; a new token revokes an earlier one of the claim.

        Raises:
            ServiceMissing: if there is no service, or it fails.
        """


def needs_token(method: str) -> bool:
    """Whether an attestation method needs a join token."""
    return "token" in method


def build_document(
    claim: MachineClaim, template: HypervisorMachineTemplate, invitation: Invitation
) -> dict[str, Any]:
    """The part of cloud-init that writes the configuration of the agent."""
    attestation = template.spec.attestation
    config = attestation.config if attestation is not None else None
    meta = claim.metadata
    settings: dict[str, Any] = {
        "url": invitation.url,
        "trustBundle": invitation.trust_bundle,
        "method": attestation.method if attestation is not None else "",
        "claim": {"namespace": meta.namespace, "name": meta.name, "uid": meta.uid},
    }
    if invitation.token is not None:
        settings["token"] = invitation.token.reveal()
    if config is not None and settings["method"] != "join-token":
        settings["tpmDevice"] = config.tpm_device
    content = json.encode(settings).decode()
    file = {"path": PATH, "permissions": "0600", "owner": "root:root", "content": content}
    return {"write_files": [file]}
