"""Composes the collection and the storage of experiment results."""

import os
from collections.abc import Mapping

from quarterdeck.app.errors import SettingError
from quarterdeck.app.experiments_settings import Settings
from quarterdeck.app.host import Host
from quarterdeck.kit import http
from quarterdeck.operators.experiments.drivers.prometheus import Prometheus
from quarterdeck.operators.experiments.drivers.result_stores import UnknownStore, open_store
from quarterdeck.operators.experiments.drivers.service_metrics import (
    KubeletMetrics,
    ServiceMetrics,
)
from quarterdeck.operators.experiments.results import Collector

DEFAULT_BUCKET = "experiment-results"
DEFAULT_REGION = "us-east-1"


async def open_results(host: Host, *, metrics_url: str) -> Collector:
    """Build the collector of results; `metrics_url` is empty if the hub has no metrics store.

    Raises:
        SettingError: naming the setting and what it should be.
    """
    settings = host.get_settings(Settings)
    try:
        url = choose_results_url(settings)
        store = open_store(url, host.client, options=build_storage_options(settings, os.environ))
    except UnknownStore as error:
        raise SettingError(f"{error} (--results-url)") from error
    hub = None
    if metrics_url:
        hub = Prometheus(metrics_url, client=await host.stack.enter_async_context(http.Client()))
    return Collector(
        store,
        hub=hub,
        targets=ServiceMetrics(clock=host.clock),
        nodes=KubeletMetrics(clock=host.clock),
    )


def choose_results_url(settings: Settings) -> str:
    """The URL of the results store: `results_url`, else the S3 bucket of the settings."""
    if settings.results_url:
        return settings.results_url
    if settings.s3_endpoint or settings.s3_bucket:
        return f"s3://{settings.s3_bucket or DEFAULT_BUCKET}"
    return ""


def build_storage_options(settings: Settings, environment: Mapping[str, str]) -> dict[str, object]:
    """Options of the S3 server. Cloud providers read the rest from their own variables."""
    endpoint = settings.s3_endpoint
    if not endpoint:
        return {}
    if "://" not in endpoint:
        endpoint = f"http://{endpoint}"
    options: dict[str, object] = {
        "endpoint": endpoint,
        "region": environment.get("AWS_REGION", DEFAULT_REGION),
        "virtual_hosted_style_request": False,
    }
    if endpoint.startswith("http://"):
        options["client_options"] = {"allow_http": True}
    if "AWS_ACCESS_KEY_ID" not in environment:
        options["skip_signature"] = True
    return options
