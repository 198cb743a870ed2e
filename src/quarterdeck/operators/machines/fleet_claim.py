"""The claims that a fleet makes: their labels, annotations and overrides. Pure."""

from collections.abc import Mapping

from quarterdeck.apis.hypervisor.claim import MachineClaim, MachineClaimSpec
from quarterdeck.apis.hypervisor.fleet import Fleet
from quarterdeck.apis.hypervisor.names import (
    CLAIM_FINALIZER,
    CLUSTER_LABEL,
    FLEET_LABEL,
    REVISION_LABEL,
    TEMPLATE_LABEL,
)
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.objects import ObjectMeta
from quarterdeck.operators.machines.conditions import Reason
from quarterdeck.operators.machines.fleet_selector import parse_selector_labels
from quarterdeck.operators.machines.revisions import get_overrides
from quarterdeck.runtime import Stalled


def build_claim(
    fleet: Fleet, template: HypervisorMachineTemplate, *, name: str, revision: str
) -> MachineClaim:
    """A new machine of the fleet."""
    overrides = get_overrides(fleet)
    metadata = fleet.spec.template.metadata if fleet.spec.template is not None else None
    annotations = {
        **(template.spec.metadata.annotations if template.spec.metadata is not None else {}),
        **(metadata.annotations if metadata is not None else {}),
    }
    return MachineClaim(
        metadata=ObjectMeta(
            name=name,
            namespace=fleet.metadata.namespace,
            labels=build_claim_labels(fleet, template, revision),
            annotations=annotations,
            finalizers=(CLAIM_FINALIZER,),  # the claim would get it first of all
        ),
        spec=MachineClaimSpec(
            template_ref=ObjectReference(name=template.metadata.name),
            fleet_ref=ObjectReference(name=fleet.metadata.name),
            revision=revision,
            workload_config=overrides.workload if overrides is not None else None,
            resources=overrides.resources if overrides is not None else None,
            network=overrides.network if overrides is not None else None,
        ),
    )


def check_selector(fleet: Fleet, labels: Mapping[str, str]) -> None:
    """Check that the fleet selects its own claims.

    Raises:
        Stalled: InvalidSelector, naming the label that they do not have.
    """
    for key, value in parse_selector_labels(fleet.spec.selector).items():
        if labels.get(key) != value:
            raise Stalled(
                Reason.INVALID_SELECTOR,
                f"spec.selector requires {key}={value}, but claims get {key}={labels.get(key)}: "
                "correct spec.template.metadata.labels",
            )


def build_claim_labels(
    fleet: Fleet, template: HypervisorMachineTemplate, revision: str
) -> dict[str, str]:
    """The labels of a claim: the template's, the selector's, the fleet's, then our own."""
    own = fleet.spec.template.metadata if fleet.spec.template is not None else None
    given = template.spec.metadata
    return {
        **(given.labels if given is not None else {}),
        **parse_selector_labels(fleet.spec.selector),
        **(own.labels if own is not None else {}),
        FLEET_LABEL: fleet.metadata.name,
        TEMPLATE_LABEL: template.metadata.name,
        CLUSTER_LABEL: template.spec.hypervisor_cluster_ref.name,
        REVISION_LABEL: revision,
    }
