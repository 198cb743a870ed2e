"""The kinds: types and defaults only, one frozen struct per kind, nothing that acts.

A kind is the single source of its schema, CRD, builder and reference
page. Start at `applications.v1` for a kind of our own, at `core` for those of Kubernetes.
`scheme()` is the table of all of them; a group is imported when it is first looked into.
"""

from quarterdeck.meta.identity import GroupVersion
from quarterdeck.meta.scheme import Scheme

OURS = {
    GroupVersion("cloudnative.elide.dev", "v1"): "quarterdeck.apis.applications.v1",
    GroupVersion("clusterpulse.io", "v1alpha1"): "quarterdeck.apis.clusterpulse.v1alpha1",
    GroupVersion("fleetmanagement.grafana.com", "v1alpha1"): (
        "quarterdeck.apis.fleetmanagement.v1alpha1"
    ),
    GroupVersion("experiments.illm.io", "v1alpha1"): "quarterdeck.apis.experiments.v1alpha1",
    GroupVersion("hypervisor.hyperfleet.io", "v1alpha1"): "quarterdeck.apis.hypervisor.v1alpha1",
}
"""The groups whose CRDs we ship."""

KUBERNETES = {
    GroupVersion("", "v1"): "quarterdeck.apis.core",
    GroupVersion("apps", "v1"): "quarterdeck.apis.apps",
    GroupVersion("batch", "v1"): "quarterdeck.apis.batch",
    GroupVersion("policy", "v1"): "quarterdeck.apis.policy",
    GroupVersion("coordination.k8s.io", "v1"): "quarterdeck.apis.coordination",
    GroupVersion("events.k8s.io", "v1"): "quarterdeck.apis.events",
    GroupVersion("rbac.authorization.k8s.io", "v1"): "quarterdeck.apis.rbac",
    GroupVersion("authentication.k8s.io", "v1"): "quarterdeck.apis.authentication",
    GroupVersion("authorization.k8s.io", "v1"): "quarterdeck.apis.authorization",
    GroupVersion("admission.k8s.io", "v1"): "quarterdeck.apis.admission",
    GroupVersion("admissionregistration.k8s.io", "v1"): "quarterdeck.apis.admissionregistration",
    GroupVersion("apiextensions.k8s.io", "v1"): "quarterdeck.apis.apiextensions",
}
"""The groups of Kubernetes that operators touch."""


def scheme() -> Scheme:
    """Every kind there is a type for, each group loaded at its first use."""
    return Scheme(modules=OURS | KUBERNETES)


def own_scheme() -> Scheme:
    """The kinds whose CRDs we ship."""
    return Scheme(modules=OURS)
