"""Namespace, image and names of the operators in a cluster."""

from typing import NamedTuple

from quarterdeck.app.workload_manifests import Workload

NAMESPACE = "quarterdeck-system"
IMAGE = "quarterdeck:latest"
NAME = "quarterdeck-manager"
LABELS = {"app.kubernetes.io/name": "quarterdeck", "app.kubernetes.io/component": "manager"}


class Installation(NamedTuple):
    """Namespace, image and names of one process of operators."""

    namespace: str = NAMESPACE
    image: str = IMAGE
    name: str = NAME
    """Name of the Deployment, its account, its roles and its lease."""
    operators: tuple[str, ...] = ()
    """The operators of this process; all of them without a name."""

    @property
    def labels(self) -> dict[str, str]:
        """The labels that select the pods of this process."""
        return {**LABELS, "app.kubernetes.io/component": self.name.removeprefix("quarterdeck-")}

    @property
    def workload(self) -> Workload:
        """The Deployment of this process."""
        return Workload(self.name, self.namespace, self.labels)

    @property
    def prefix(self) -> str:
        """The beginning of names that must differ between processes of one namespace."""
        return "quarterdeck" if self.name == NAME else self.name


DEFAULT_INSTALLATION = Installation()
