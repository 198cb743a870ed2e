"""The variables of a collector."""

import pytest

from quarterdeck.agents.collector.settings import InvalidSetting, read_settings


def test_defaults_are_safe() -> None:
    found = read_settings({"CLUSTER_NAME": "east"})
    assert (found.interval_s, found.buffer_cycles, found.scan_interval_s) == (30, 10, 300)
    assert found.tls
    assert found.ingester_address == "ingester:9443"


@pytest.mark.parametrize(("text", "seconds"), [("45", 45), ("30s", 30), ("2m", 120), ("1m30s", 90)])
def test_intervals_are_seconds_or_durations(text: str, seconds: float) -> None:
    assert read_settings({"CLUSTER_NAME": "e", "COLLECT_INTERVAL": text}).interval_s == seconds


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("COLLECT_INTERVAL", "soon"),
        ("COLLECT_INTERVAL", "0"),
        ("COLLECT_INTERVAL", "²"),
        ("BUFFER_SIZE", "many"),
        ("INGESTER_ADDRESS", "https://hub.example.com:9443"),
        ("INGESTER_TLS_ENABLED", "maybe"),
        ("CLUSTER_NAME", ""),
        ("COLLECTOR_TOKEN", "two words"),
        ("COLLECTOR_TOKEN", "two\nlines"),
        ("COLLECTOR_TOKEN", "törichte"),
    ],
)
def test_values_that_cannot_be_used_name_their_variable(name: str, text: str) -> None:
    with pytest.raises(InvalidSetting, match=name):
        read_settings({"CLUSTER_NAME": "east", name: text})


def test_spaces_around_a_token_do_not_matter() -> None:
    found = read_settings({"CLUSTER_NAME": "e", "COLLECTOR_TOKEN": " qdc_secret\n"})
    assert found.token.reveal() == "qdc_secret"


def test_the_token_is_not_shown() -> None:
    found = read_settings({"CLUSTER_NAME": "e", "COLLECTOR_TOKEN": "qdc_secret"})
    assert "qdc_secret" not in repr(found)
    assert found.token.reveal() == "qdc_secret"


def test_a_buffer_of_no_cycles_means_the_default() -> None:
    assert read_settings({"CLUSTER_NAME": "e", "BUFFER_SIZE": "0"}).buffer_cycles == 10
