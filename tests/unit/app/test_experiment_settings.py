"""Settings of the experiments operator: where results go, and how Grafana is reached."""

from pathlib import Path

import pytest

from quarterdeck.app.errors import SettingError
from quarterdeck.app.experiment_comparison import MAX_VALUES, compare_summaries
from quarterdeck.app.experiment_results import build_storage_options, choose_results_url
from quarterdeck.app.experiments_options import build_operator_settings
from quarterdeck.app.experiments_settings import Settings
from quarterdeck.services.hub.web.comparisons import Incomparable


@pytest.mark.parametrize(
    ("settings", "url"),
    [
        (Settings(), ""),
        (Settings(s3_endpoint="minio:9000"), "s3://experiment-results"),
        (Settings(s3_bucket="lab"), "s3://lab"),
        (Settings(s3_bucket="lab", results_url="file:///srv/results"), "file:///srv/results"),
    ],
)
def test_results_go_where_they_are_sent(settings: Settings, url: str) -> None:
    assert choose_results_url(settings) == url


def test_server_without_a_scheme_is_reached_by_plain_http_and_without_a_signature() -> None:
    assert build_storage_options(Settings(), {}) == {}
    assert build_storage_options(Settings(s3_endpoint="minio:9000"), {}) == {
        "endpoint": "http://minio:9000",
        "region": "us-east-1",
        "virtual_hosted_style_request": False,
        "client_options": {"allow_http": True},
        "skip_signature": True,
    }
    environment = {"AWS_ACCESS_KEY_ID": "id", "AWS_REGION": "eu-west-1"}
    assert build_storage_options(Settings(s3_endpoint="https://s3.example.org"), environment) == {
        "endpoint": "https://s3.example.org",
        "region": "eu-west-1",
        "virtual_hosted_style_request": False,
    }


@pytest.mark.parametrize(
    ("settings", "is_embedded", "backend"),
    [
        (Settings(), False, "none"),
        (Settings(), True, "sidecar"),
        (Settings(grafana_url="http://grafana"), True, "http"),
        (Settings(grafana_url="http://grafana", grafana_backend="operator"), True, "operator"),
    ],
)
def test_grafana_is_reached_as_set(settings: Settings, backend: str, *, is_embedded: bool) -> None:
    assert build_operator_settings(settings, is_embedded=is_embedded).grafana == backend


def test_settings_that_name_nothing_are_refused(tmp_path: Path) -> None:
    file = tmp_path / "types.yaml"
    file.write_text("[")
    for settings, words in (
        (
            Settings(grafana_backend="cloud"),
            "invalid --grafana-backend 'cloud': must be one of none, http",
        ),
        (
            Settings(cluster_api=("kind",)),
            "invalid --cluster-api kind: must be one of talos, vcluster",
        ),
        (Settings(cluster_types=str(tmp_path / "absent")), "cannot read --cluster-types"),
        (Settings(cluster_types=str(file)), r"--cluster-types .*types\.yaml: "),
    ):
        with pytest.raises(SettingError, match=words):
            build_operator_settings(settings, is_embedded=False)


def test_summaries_that_cannot_be_compared_say_why() -> None:
    with pytest.raises(Incomparable, match="cannot read the stored results"):
        compare_summaries(b"{}", b"no")
    values = ",".join(["1.5"] * (MAX_VALUES // 2 + 1))
    many = b'{"name":"a","samples":{"latency":[%b]}}' % values.encode()
    with pytest.raises(Incomparable, match="the dashboard compares at most 10,000"):
        compare_summaries(many, many)
