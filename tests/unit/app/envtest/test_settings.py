"""From the flags of kube-apiserver to the settings of our server."""

from pathlib import Path

import pytest

from quarterdeck.app.envtest.flags import parse_flags
from quarterdeck.app.envtest.settings import build_settings, find_unknown
from quarterdeck.app.errors import SettingError
from quarterdeck.server.options import ServerOptions, parse_feature_gates


def build_options(*arguments: str) -> ServerOptions:
    return build_settings(parse_flags(arguments), data_dir=None, pki=Path("pki")).options


def test_network_of_services_is_honoured() -> None:
    assert build_options().service_cluster_ip_range == "10.0.0.0/24"
    given = build_options("--service-cluster-ip-range=10.1.0.0/16")
    assert given.service_cluster_ip_range == "10.1.0.0/16"


def test_feature_gates_are_honoured() -> None:
    given = build_options("--feature-gates=A=true,B=false", "--feature-gates=C=true")
    assert given.feature_gates == frozenset({"A", "C"})


@pytest.mark.parametrize(
    "flag", ["--service-cluster-ip-range=here", "--feature-gates=A", "--feature-gates=A=perhaps"]
)
def test_wrong_value_is_refused_with_the_flag(flag: str) -> None:
    with pytest.raises(SettingError, match=flag.partition("=")[0]):
        build_options(flag)


def test_last_value_of_a_gate_counts() -> None:
    assert parse_feature_gates("A=true,A=false, B=True") == frozenset({"B"})


def test_flags_without_effect_are_named() -> None:
    flags = parse_flags(["--unheard-of=1", "--feature-gates=A=true", "--allow-privileged"])
    assert find_unknown(flags) == ["unheard-of"]
