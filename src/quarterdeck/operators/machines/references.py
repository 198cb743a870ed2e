"""References between objects. Pure."""

from quarterdeck.apis.hypervisor.claim import MachineClaim
from quarterdeck.apis.hypervisor.cluster import HypervisorCluster
from quarterdeck.apis.hypervisor.references import ObjectReference
from quarterdeck.apis.hypervisor.template import HypervisorMachineTemplate
from quarterdeck.meta.identity import Key


def resolve(reference: ObjectReference, namespace: str) -> Key:
    """The key of the referenced object; `namespace` applies if the reference names none."""
    return Key(reference.namespace or namespace, reference.name)


def get_cluster_key(template: HypervisorMachineTemplate) -> Key:
    """Return the key of a template's cluster."""
    return resolve(template.spec.hypervisor_cluster_ref, template.metadata.namespace)


def get_template_key(claim: MachineClaim) -> Key:
    """Return the key of a claim's template."""
    return resolve(claim.spec.template_ref, claim.metadata.namespace)


def parse_key(text: str) -> Key:
    """Parse a key of the form namespace/name."""
    namespace, _, name = text.partition("/")
    return Key(namespace, name)


def list_secrets(cluster: HypervisorCluster) -> frozenset[str]:
    """List the names of the Secrets that a cluster reads."""
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
