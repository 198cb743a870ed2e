"""Converts settings of the experiments operator, for the operator and `experiments plan`."""

from collections.abc import Mapping
from pathlib import Path

from quarterdeck.app.errors import SettingError
from quarterdeck.app.experiments_settings import Settings as ExperimentsSettings
from quarterdeck.operators.experiments.cluster_types import (
    ClaimType,
    ClusterTypeConfig,
    ClusterTypesError,
    load_cluster_types,
)
from quarterdeck.operators.experiments.settings import GrafanaBackend, Settings

BACKENDS: Mapping[str, GrafanaBackend] = {
    "none": "none",
    "http": "http",
    "operator": "operator",
    "sidecar": "sidecar",
}


def build_operator_settings(given: ExperimentsSettings, *, is_embedded: bool) -> Settings:
    """Check and convert the settings.

    Raises:
        SettingError: naming the setting and what it should be.
    """
    if unknown := set(given.cluster_api) - {"talos", "vcluster"}:
        raise SettingError(
            f"invalid --cluster-api {', '.join(sorted(unknown))}: must be one of talos, vcluster"
        )
    return Settings(
        argocd_namespace=given.argocd_namespace,
        workflow_namespace=given.workflow_namespace,
        crossplane_namespace=given.crossplane_namespace,
        talos_mode="capi" if "talos" in given.cluster_api else "claim",
        vcluster_mode="capi" if "vcluster" in given.cluster_api else "claim",
        cluster_types=_load_cluster_types(given.cluster_types),
        metrics_url=given.metrics_url or Settings().metrics_url,
        analyzer_image=given.analyzer_image,
        grafana=_find_backend(given, is_embedded=is_embedded),
    )


def _find_backend(given: ExperimentsSettings, *, is_embedded: bool) -> GrafanaBackend:
    if given.grafana_backend in BACKENDS:
        return BACKENDS[given.grafana_backend]
    if given.grafana_backend:
        raise SettingError(
            f"invalid --grafana-backend {given.grafana_backend!r}: must be one of "
            f"{', '.join(BACKENDS)}"
        )
    if given.grafana_url:
        return "http"
    return "sidecar" if is_embedded else "none"


def _load_cluster_types(path: str) -> Mapping[ClaimType, ClusterTypeConfig]:
    if not path:
        return {}
    try:
        return load_cluster_types(Path(path).read_bytes())
    except OSError as error:
        raise SettingError(f"cannot read --cluster-types {path}: {error.strerror}") from error
    except ClusterTypesError as error:
        raise SettingError(f"--cluster-types {path}: {error}") from error
