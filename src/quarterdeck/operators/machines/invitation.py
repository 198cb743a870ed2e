"""How a machine is told where to prove itself: the port to the bootstrap service, and a file.

The invitation travels by the seed, a channel that only the hypervisor can write. It carries the
root that the machine must trust, so that no other service can pose as ours.
"""

from typing import Any, NamedTuple, Protocol

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.kit import json
from quarterdeck.kit.redaction import Secret

PATH = "/etc/hyperfleet/agent.json"
METHODS = ("join-token", "tpm", "tpm+token")
"""Ways to prove oneself that every bootstrap service knows."""
METHOD_GROUP = "quarterdeck.attestation"
"""Entry points of further ones."""
MIN_TOKEN_S, MAX_TOKEN_S = 60.0, 86400.0
"""How long a join token may be valid."""


class ServiceMissing(Exception):
    """Raised when there is no bootstrap service, or it does not answer; says why."""


class Invitation(NamedTuple):
    """What a machine needs to prove itself."""

    url: str
    trust_bundle: str
    token: Secret[str] | None = None
    """For one use; None for machines with a TPM."""


class Inviter(Protocol):
    """The bootstrap service, as the operator sees it."""

    async def invite(
        self, claim: MachineClaim, *, needs_token: bool, lifetime_s: float
    ) -> Invitation:
        """An invitation; an earlier token of the claim is void from now on.

        Raises:
            ServiceMissing: if there is no service.
        """


def needs_token(method: str) -> bool:
    """Whether a machine that proves itself by this method needs a join token."""
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
