"""Settings of the experiments operator: the variables of the existing project, and ours."""

from typing import Annotated

import msgspec

from quarterdeck.app.option import text_option
from quarterdeck.kit.redaction import Secret


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where metrics come from and where results go."""

    results_url: Annotated[
        str,
        text_option(
            "EXPERIMENTS_RESULTS_URL",
            "Where results of experiments are kept: configmap, file:///DIR, s3://, gs:// or az://.",
            metavar="URL",
            default_text="configmap, or the bucket of --s3-bucket",
        ),
    ] = ""
    s3_endpoint: Annotated[
        str,
        text_option(
            "S3_ENDPOINT",
            "Address of an S3 server that is not AWS.",
            metavar="URL",
            default_text="AWS",
        ),
    ] = ""
    s3_bucket: Annotated[
        str,
        text_option(
            "S3_BUCKET",
            "Bucket for results of experiments.",
            metavar="NAME",
            default_text="experiment-results if there is an --s3-endpoint",
        ),
    ] = ""
    metrics_url: Annotated[
        str,
        text_option(
            "METRICS_URL",
            "Prometheus API with the metrics of experiments.",
            metavar="URL",
            default_text="VictoriaMetrics in the namespace observability; none in up",
        ),
    ] = ""
    analyzer_image: Annotated[
        str,
        text_option(
            "ANALYZER_IMAGE", "Image of the Job after experiments with publish.", metavar="IMAGE"
        ),
    ] = ""
    grafana_url: Annotated[
        str,
        text_option("GRAFANA_URL", "Grafana that gets datasources of experiments.", metavar="URL"),
    ] = ""
    grafana_token: Annotated[
        Secret[str], text_option("GRAFANA_TOKEN", "Token of a service account of Grafana.")
    ] = Secret("")
    argocd_namespace: Annotated[
        str, text_option("ARGOCD_NAMESPACE", "Namespace of Argo CD.", metavar="NAME")
    ] = "argocd"
    workflow_namespace: Annotated[
        str,
        text_option(
            "WORKFLOW_NAMESPACE", "Namespace of Argo Workflows and its templates.", metavar="NAME"
        ),
    ] = "argo-workflows"
    crossplane_namespace: Annotated[
        str,
        text_option(
            "CROSSPLANE_NAMESPACE", "Namespace of Crossplane's connection Secrets.", metavar="NAME"
        ),
    ] = "crossplane-system"
    cluster_api: Annotated[
        tuple[str, ...],
        text_option(
            "EXPERIMENTS_CLUSTER_API",
            "Cluster types to request from Cluster API instead of Crossplane: talos, vcluster.",
            metavar="A,B",
            default_text="none",
        ),
    ] = ()
    cluster_types: Annotated[
        str,
        text_option(
            "EXPERIMENTS_CLUSTER_TYPES",
            "File with the kinds that request clusters, where they are not the usual ones.",
            metavar="FILE",
            default_text="none",
        ),
    ] = ""
    grafana_backend: Annotated[
        str,
        text_option(
            "GRAFANA_BACKEND",
            "How Grafana gets datasources of experiments: none, http, operator or sidecar.",
            metavar="NAME",
            default_text="http with --grafana-url, sidecar in up, else none",
        ),
    ] = ""
