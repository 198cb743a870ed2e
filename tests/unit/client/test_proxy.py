"""Which proxy the environment asks for, by the rules of Go programs."""

import pytest

from quarterdeck.client import ConfigError
from quarterdeck.client.config.cluster import Impersonation
from quarterdeck.client.config.proxy import find_proxy

PROXY = "http://proxy.example:3128"


@pytest.mark.parametrize(
    ("server", "excluded", "expected"),
    [
        pytest.param("https://k8s.example", "", PROXY, id="everybody"),
        pytest.param("https://k8s.example", "*", "", id="nobody"),
        pytest.param("https://k8s.example", "k8s.example", "", id="by name"),
        pytest.param("https://k8s.example", "other,example", "", id="below a domain"),
        pytest.param("https://k8s.example", ".example", "", id="only below"),
        pytest.param("https://example", ".example", PROXY, id="not the domain itself"),
        pytest.param("https://notexample", "example", PROXY, id="not a mere suffix"),
        pytest.param("https://k8s.example:6443", "k8s.example:6443", "", id="with its port"),
        pytest.param("https://k8s.example:6443", "k8s.example:443", PROXY, id="another port"),
        pytest.param("https://k8s.example", "k8s.example:²,k8s.example", "", id="no port"),
        pytest.param("https://10.0.0.1", "10.0.0.0/8", "", id="network"),
        pytest.param("https://10.0.0.1", "10.0.0.1", "", id="address"),
        pytest.param("https://[fd00::1]", "fd00::/8", "", id="network of IPv6"),
        pytest.param("https://11.0.0.1", "10.0.0.0/8", PROXY, id="another network"),
        pytest.param("https://127.0.0.1:6443", "", "", id="loopback"),
        pytest.param("https://localhost:6443", "", "", id="localhost"),
        pytest.param("http://k8s.example", "", "", id="plain servers have another"),
    ],
)
def test_the_environment_names_the_proxy(server: str, excluded: str, expected: str) -> None:
    environment = {"HTTPS_PROXY": PROXY, "NO_PROXY": excluded}
    assert find_proxy(server, environment) == expected
    small = {name.lower(): value for name, value in environment.items()}
    assert find_proxy(server, small) == expected


def test_a_proxy_without_a_scheme_is_an_http_one() -> None:
    assert find_proxy("https://k8s.example", {"HTTPS_PROXY": "p:80"}) == "http://p:80"


@pytest.mark.parametrize("proxy", ["socks5://me:hunter2@p:1", "https://p", "http://:0"])
def test_what_we_cannot_use_is_refused_by_name_without_its_password(proxy: str) -> None:
    with pytest.raises(ConfigError, match="HTTPS_PROXY") as caught:
        find_proxy("https://k8s.example", {"HTTPS_PROXY": proxy})
    assert "hunter2" not in str(caught.value)


def test_names_of_impersonated_extras_fit_into_headers() -> None:
    who = Impersonation(user="jane", extra={"example.com/team": ("a", "b")})
    assert who.build_headers() == [
        ("Impersonate-User", "jane"),
        ("Impersonate-Extra-example.com%2Fteam", "a"),
        ("Impersonate-Extra-example.com%2Fteam", "b"),
    ]
