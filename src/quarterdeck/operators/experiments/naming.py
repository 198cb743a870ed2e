"""Names of everything an experiment creates, and their limits. Pure.

Names are derived, never random: after a restart the objects are found again. An experiment in
the namespace `experiments` keeps the plain names of existing manifests. In any other namespace the
namespace goes into an 8-digit hash, so that two experiments of one name never share an object. A
name that would be too long is cut and gets the same hash.
"""

import hashlib

from quarterdeck.apis.experiments.v1alpha1 import GROUP, Experiment
from quarterdeck.meta.name_truncation import append_hash, shorten_name

HOME = "experiments"
"""The namespace whose experiments get plain names."""
HUB = "hub"
MANAGED_BY = "app.kubernetes.io/managed-by"
OPERATOR = "experiment-operator"
LABEL_EXPERIMENT = f"{GROUP}/experiment"
LABEL_NAMESPACE = f"{GROUP}/namespace"
LABEL_UID = f"{GROUP}/uid"
LABEL_TARGET = f"{GROUP}/target"
LABEL_LAYER = f"{GROUP}/layer"
LABEL_CLUSTER = f"{GROUP}/cluster"
SELECTOR = f"{MANAGED_BY}={OPERATOR}"

MAX_BASE = 52
MAX_LABEL = 63
MAX_GKE = 40
GKE_PREFIX = "illm-"
XR_SUFFIX = 6
"""A dash and five random characters, which Crossplane adds to a claim's name."""


def build_base_name(experiment: Experiment) -> str:
    """The prefix of all names of an experiment."""
    namespace, name = experiment.key
    if namespace == HOME:
        return shorten_name(name, MAX_BASE, salt=f"{namespace}/{name}")
    return append_hash(name, MAX_BASE, salt=f"{namespace}/{name}")


def build_cluster_name(experiment: Experiment, target: str, *, limit: int, attempt: int = 0) -> str:
    """The name of a target's cluster; `attempt` counts the clusters that failed before it."""
    suffix = f"-r{attempt}" if attempt else ""
    plain = f"{build_base_name(experiment)}-{target}"
    namespace, name = experiment.key
    return shorten_name(plain, limit - len(suffix), salt=f"{namespace}/{name}/{target}") + suffix


def build_application_name(experiment: Experiment, target: str, part: str = "") -> str:
    """The name of an Application; `part` is a component or a layer."""
    plain = "-".join(filter(None, (build_base_name(experiment), target, part)))
    namespace, name = experiment.key
    return shorten_name(plain, MAX_LABEL, salt=f"{namespace}/{name}/{target}/{part}")


def build_workflow_name(experiment: Experiment, *, repeat: int = 0, attempt: int = 0) -> str:
    """The name of a Workflow; the first one of an experiment has no number."""
    number = f"-{repeat + 1}" if repeat else ""
    again = f"-r{attempt}" if attempt else ""
    plain = f"{build_base_name(experiment)}-validation{number}{again}"
    return shorten_name(plain, MAX_LABEL, salt="/".join(experiment.key))


def build_cluster_secret_name(cluster: str) -> str:
    """The name of Argo CD's Secret for a cluster."""
    return f"cluster-{cluster}"


def build_kubeconfig_secret_name(experiment: Experiment, target: str) -> str:
    """The name of a copy of a target's kubeconfig, next to the experiment."""
    return f"{experiment.metadata.name}-{target}-kubeconfig"


def build_job_name(experiment: Experiment) -> str:
    """The name of the Job after the run."""
    plain = f"{experiment.metadata.name}-post-run"
    return shorten_name(plain, MAX_LABEL, salt="/".join(experiment.key))


def build_datasource_uid(experiment: Experiment, tenant: str) -> str:
    """The uid of the Grafana datasource; at most 40 characters."""
    namespace, name = experiment.key
    return "exp-" + hashlib.sha256(f"{namespace}/{name}/{tenant}".encode()).hexdigest()[:16]


def build_labels(experiment: Experiment, *, target: str = "", layer: str = "") -> dict[str, str]:
    """The labels of every object that an experiment creates; watches map objects by them."""
    found = {
        MANAGED_BY: OPERATOR,
        LABEL_EXPERIMENT: experiment.metadata.name,
        LABEL_NAMESPACE: experiment.metadata.namespace,
        LABEL_UID: experiment.metadata.uid,
    }
    if target:
        found[LABEL_TARGET] = target
    if layer:
        found[LABEL_LAYER] = layer
    return found


def build_selector(experiment: Experiment) -> str:
    """The label selector of every object that an experiment, or one of its name, created."""
    labels = {
        MANAGED_BY: OPERATOR,
        LABEL_EXPERIMENT: experiment.metadata.name,
        LABEL_NAMESPACE: experiment.metadata.namespace,
    }
    return ",".join(f"{name}={value}" for name, value in labels.items())


def compute_gke_name_length(experiment_name: str, target: str) -> int:
    """The length of the GKE cluster's name that Crossplane derives from a claim."""
    claim = f"{experiment_name}-{target}"
    return len(GKE_PREFIX) + len(claim) + XR_SUFFIX
