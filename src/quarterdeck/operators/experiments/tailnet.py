"""Tailscale's OAuth client on targets: a copied Secret, never a value in an Application."""

from typing import Any, Final

from quarterdeck.apis.core.config import Secret
from quarterdeck.apis.experiments.targets import Target
from quarterdeck.meta.identity import Key
from quarterdeck.operators.experiments import naming
from quarterdeck.operators.experiments.conditions import EventReason
from quarterdeck.operators.experiments.run import Run
from quarterdeck.wire.status import NotFound

NAMESPACE: Final = "tailscale"
CREDENTIALS: Final = Key(NAMESPACE, "operator-oauth")


async def ensure_credentials(run: Run, target: Target, kubeconfig: bytes) -> None:
    """Copy the OAuth client of the hub to a target that joins the tailnet.

    Raises:
        TargetUnreachable, TargetRefused: if it cannot be applied on the target.
    """
    observability = target.observability
    if (
        observability is None
        or not observability.enabled
        or observability.transport != "tailscale"
        or target.cluster.type == naming.HUB
    ):
        return
    try:
        found = await run.ctx.api.get_live(Secret, CREDENTIALS)
    except NotFound:
        run.ctx.event(
            EventReason.FIELD_IGNORED,
            f"target {target.name} uses transport tailscale, but Secret {CREDENTIALS} with the "
            "OAuth client does not exist; its metrics will not reach the hub",
            warning=True,
        )
        return
    await run.environment.targets.apply(kubeconfig, build_documents(dict(found.data)))


def build_documents(data: dict[str, str]) -> list[dict[str, Any]]:
    """The namespace and the Secret on the target."""
    return [
        {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": NAMESPACE}},
        {
            "apiVersion": "v1",
            "kind": "Secret",
            "metadata": {"name": CREDENTIALS.name, "namespace": NAMESPACE},
            "type": "Opaque",
            "data": data,
        },
    ]
