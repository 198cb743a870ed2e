"""References between objects. Pure."""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.identity import Key


def resolve(reference: ObjectReference, namespace: str) -> Key:
    """The key of the referenced object; `namespace` applies if the reference names none."""
    return Key(reference.namespace or namespace, reference.name)


def cluster_key_of(template: HypervisorMachineTemplate) -> Key:
    """The cluster of a template."""
    return resolve(template.spec.hypervisor_cluster_ref, template.metadata.namespace)


def template_key_of(claim: MachineClaim) -> Key:
    """The template of a claim."""
    return resolve(claim.spec.template_ref, claim.metadata.namespace)


def parse_key(text: str) -> Key:
    """A key from namespace/name."""
    namespace, _, name = text.partition("/")
    return Key(namespace, name)


def secrets_of(cluster: HypervisorCluster) -> frozenset[str]:
    """The names of the Secrets that a cluster reads."""
    given, tls = cluster.spec.credentials, cluster.spec.tls
    selectors = []
    if given is not None:
        selectors += [
            given.token_id,
            given.token_secret,
            given.username,
            given.password,
            given.client_cert,
            given.client_key,
        ]
    if tls is not None:
        selectors.append(tls.ca_certificate)
    return frozenset(each.name for each in selectors if each is not None)
