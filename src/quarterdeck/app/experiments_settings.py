"""Settings of the experiments operator: the variables of the existing project, and ours."""

from typing import Annotated

import msgspec

from quarterdeck.app.settings import Option
from quarterdeck.kit.redaction import Secret


def _text(env: str, text: str, metavar: str = "TEXT", default_text: str = "") -> Option:
    return Option(help=text, env=(env,), metavar=metavar, default_text=default_text)


class Settings(msgspec.Struct, frozen=True, kw_only=True):
    """Where metrics come from and where results go."""

    results_url: Annotated[
        str,
        _text(
            "EXPERIMENTS_RESULTS_URL",
            "Where results of experiments are kept: configmap, file:///DIR, s3://, gs:// or az://.",
            "URL",
            "configmap, or the bucket of --s3-bucket",
        ),
    ] = ""
    s3_endpoint: Annotated[
        str,
        _text("S3_ENDPOINT", "Address of an S3 server that is not AWS.", "URL", "AWS"),
    ] = ""
    s3_bucket: Annotated[
        str,
        _text(
            "S3_BUCKET",
            "Bucket for results of experiments.",
            "NAME",
            "experiment-results if there is an --s3-endpoint",
        ),
    ] = ""
    metrics_url: Annotated[
        str,
        _text(
            "METRICS_URL",
            "Prometheus API with the metrics of experiments.",
            "URL",
            "VictoriaMetrics in the namespace observability; none in up",
        ),
    ] = ""
    analyzer_image: Annotated[
        str,
        _text("ANALYZER_IMAGE", "Image of the Job after experiments with publish.", "IMAGE"),
    ] = ""
    grafana_url: Annotated[
        str, _text("GRAFANA_URL", "Grafana that gets datasources of experiments.", "URL")
    ] = ""
    grafana_token: Annotated[
        Secret[str], _text("GRAFANA_TOKEN", "Token of a service account of Grafana.")
    ] = Secret("")
