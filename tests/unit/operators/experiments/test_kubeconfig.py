"""From kubeconfigs to connections."""

import base64

import pytest

from quarterdeck.kit import yaml
from quarterdeck.operators.experiments import kubeconfig
from quarterdeck.operators.experiments.kubeconfig import Connection, KubeconfigError


def document(cluster: dict[str, object], user: dict[str, object], **top: object) -> bytes:
    body = {
        "current-context": "c",
        "contexts": [{"name": "c", "context": {"cluster": "k", "user": "u"}}],
        "clusters": [{"name": "k", "cluster": {"server": "https://1.2.3.4:6443/", **cluster}}],
        "users": [{"name": "u", "user": user}],
        **top,
    }
    return yaml.dump(body).encode()


def test_certificates_are_taken_as_they_are() -> None:
    text = document(
        {"certificate-authority-data": "QQ=="},
        {"client-certificate-data": "Qg==", "client-key-data": "Qw=="},
    )
    assert kubeconfig.parse(text) == Connection(
        "https://1.2.3.4:6443", ca_data="QQ==", cert_data="Qg==", key_data="Qw=="
    )


def test_an_insecure_cluster_has_no_authority() -> None:
    text = document(
        {"insecure-skip-tls-verify": True, "certificate-authority-data": "QQ=="}, {"token": "t"}
    )
    assert kubeconfig.parse(text) == Connection("https://1.2.3.4:6443", token="t", insecure=True)


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param(b"{", "not YAML", id="malformed"),
        pytest.param(b"[]", "not a mapping", id="list"),
        pytest.param(document({}, {}, **{"current-context": ""}), "current-context", id="none"),
        pytest.param(document({}, {}, **{"current-context": "x"}), "no entry 'x'", id="unknown"),
        pytest.param(document({}, {}, users=[]), "no entry 'u' in users", id="user missing"),
        pytest.param(document({"server": ""}, {}), "no server", id="server missing"),
        pytest.param(document({}, {"exec": {"command": "x"}}), "exec", id="exec"),
        pytest.param(document({}, {"auth-provider": {"name": "gcp"}}), "auth-provider", id="old"),
        pytest.param(document({}, {"client-key": "/k"}), "refers to a file", id="file"),
        pytest.param(document({}, {"client-key-data": "%"}), "not base64", id="not base64"),
    ],
)
def test_what_cannot_be_used_says_why(text: bytes, words: str) -> None:
    with pytest.raises(KubeconfigError, match=words):
        kubeconfig.parse(text)


def test_errors_and_reprs_never_show_a_secret() -> None:
    text = document({"server": ""}, {"token": "top-secret"})
    with pytest.raises(KubeconfigError) as caught:
        kubeconfig.parse(text)
    assert "top-secret" not in str(caught.value)
    assert "top-secret" not in repr(Connection("https://x", token="top-secret"))


def test_the_key_of_a_secret_is_found_by_convention() -> None:
    def data(**values: str) -> dict[str, str]:
        return {name: base64.b64encode(value.encode()).decode() for name, value in values.items()}

    assert kubeconfig.read_secret(data(config="c", value="v")) == b"v"
    assert kubeconfig.read_secret(data(kubeconfig="k", value="v")) == b"k"
    assert kubeconfig.read_secret(data(mine="m", value="v"), key="mine") == b"m"
    with pytest.raises(KubeconfigError, match="none of the keys"):
        kubeconfig.read_secret({})
    with pytest.raises(KubeconfigError, match="not base64"):
        kubeconfig.read_secret({"value": "%"})
