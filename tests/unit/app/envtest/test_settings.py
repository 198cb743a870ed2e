"""From the flags of kube-apiserver to the settings of our server."""

from pathlib import Path

import pytest

from quarterdeck.app.envtest.flags import parse_flags
from quarterdeck.app.envtest.settings import build_settings, find_unknown
from quarterdeck.app.errors import SettingError
from quarterdeck.server.options import ServerOptions, parse_feature_gates


def build_options(*arguments: str) -> ServerOptions:
    return build_settings(parse_flags(arguments), data_dir=None, pki=Path("pki")).options


def test_network_of_services_is_honored() -> None:
    assert build_options().service_cluster_ip_range == "10.0.0.0/24"
    given = build_options("--service-cluster-ip-range=10.1.0.0/16")
    assert given.service_cluster_ip_range == "10.1.0.0/16"


def test_feature_gates_are_honored() -> None:
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


@pytest.mark.parametrize("port", ["https", "-1", "65536"])
def test_a_port_that_is_none_is_refused(port: str) -> None:
    with pytest.raises(SettingError, match=f"invalid --secure-port '{port}'"):
        build_settings(parse_flags([f"--secure-port={port}"]), data_dir=None, pki=Path("pki"))


def test_certificates_are_named_or_found_in_their_folder(tmp_path: Path) -> None:
    def find(*arguments: str) -> object:
        return build_settings(parse_flags(arguments), data_dir=None, pki=tmp_path).serving_files

    named = find("--tls-cert-file", "a.crt", "--tls-private-key-file=a.key")
    assert named == (Path("a.crt"), Path("a.key"))
    assert find() is None
    assert find(f"--cert-dir={tmp_path}") is None
    for name in ("apiserver.crt", "apiserver.key"):
        (tmp_path / name).touch()
    assert find(f"--cert-dir={tmp_path}") == (
        tmp_path / "apiserver.crt",
        tmp_path / "apiserver.key",
    )


def test_words_that_are_no_flags_are_skipped() -> None:
    found = parse_flags(["kube-apiserver", "--a", "1", "extra", "-b", "--c=2", "--c=3"])
    assert found == {"a": ["1"], "b": ["true"], "c": ["2", "3"]}
