import base64
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.client.config import kubeconfig
from quarterdeck.client.config.locate import load_config, load_in_cluster
from quarterdeck.client.errors import ConfigError
from quarterdeck.kit import yaml


def write(path: Path, **members: Any) -> Path:
    path.write_text(yaml.dump({"apiVersion": "v1", "kind": "Config", **members}))
    return path


def entry(what: str, name: str, **members: Any) -> dict[str, Any]:
    return {"name": name, what: members}


@pytest.fixture
def simple(tmp_path: Path) -> Path:
    return write(
        tmp_path / "config",
        **{"current-context": "here"},
        clusters=[entry("cluster", "c", server="https://127.0.0.1:6443/base/")],
        users=[entry("user", "u", token="t0ps3cret")],
        contexts=[entry("context", "here", cluster="c", user="u", namespace="shop")],
    )


JSON = (
    '{"current-context":"x","contexts":[{"name":"x","context":{"cluster":"c"}}],'
    '"clusters":[{"name":"c","cluster":{"server":"https://127.0.0.1:6443"}}]}'
)


def test_a_kubeconfig_in_json_loads_no_yaml_library(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(JSON)
    script = (
        "import sys, pathlib\n"
        "from quarterdeck.client.config.locate import load_config\n"
        f"print(load_config(pathlib.Path({str(file)!r})).server, 'yaml' in sys.modules)\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.stdout.split() == ["https://127.0.0.1:6443", "False"], done.stderr


def test_a_kubeconfig_in_flow_style_is_read_as_yaml(tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(JSON.replace('"', "'").replace(":[", ": [").replace(":{", ": {") + " # YAML")
    assert load_config(file).server == "https://127.0.0.1:6443"


def test_the_current_context_is_resolved(simple: Path) -> None:
    config = load_config(simple)
    assert config.server == "https://127.0.0.1:6443/base"
    assert config.namespace == "shop"
    assert config.token is not None
    assert config.token.reveal() == "t0ps3cret"


def test_secrets_do_not_show_in_a_printed_configuration(simple: Path) -> None:
    assert "t0ps3cret" not in repr(load_config(simple))


def test_the_first_file_that_says_something_wins(simple: Path, tmp_path: Path) -> None:
    second = write(
        tmp_path / "second",
        **{"current-context": "there"},
        clusters=[
            entry("cluster", "c", server="https://other:1"),
            entry("cluster", "d", server="https://d:1"),
        ],
        users=[entry("user", "v", username="a", password="b")],
        contexts=[entry("context", "there", cluster="d", user="v")],
    )
    merged = kubeconfig.read([tmp_path / "missing", simple, second])
    assert merged.current_context == "here"
    assert kubeconfig.resolve(merged).server == "https://127.0.0.1:6443/base"
    assert kubeconfig.resolve(merged, "there").server == "https://d:1"


def test_relative_paths_are_relative_to_their_file(tmp_path: Path) -> None:
    (tmp_path / "pki").mkdir()
    (tmp_path / "pki" / "ca.crt").write_text("pem")
    path = write(
        tmp_path / "config",
        **{"current-context": "x"},
        clusters=[
            entry("cluster", "c", server="https://h", **{"certificate-authority": "pki/ca.crt"})
        ],
        users=[entry("user", "u", tokenFile="tok", exec={"command": "./bin/login"})],
        contexts=[entry("context", "x", cluster="c", user="u")],
    )
    config = load_config(path)
    assert config.certificate_authority.read() == b"pem"
    assert config.token_file == str(tmp_path / "tok")
    assert config.exec is not None
    assert config.exec.command == str(tmp_path / "bin" / "login")


def test_links_are_followed_at_every_read(tmp_path: Path) -> None:
    for version in ("one", "two"):
        (tmp_path / version).mkdir()
        (tmp_path / version / "ca.crt").write_text(version)
    (tmp_path / "data").symlink_to("one")
    (tmp_path / "ca.crt").symlink_to("data/ca.crt")
    (tmp_path / "login").symlink_to("multicall")
    path = write(
        tmp_path / "config",
        **{"current-context": "x"},
        clusters=[
            entry(
                "cluster",
                "c",
                server="https://h",
                **{"certificate-authority": str(tmp_path / "ca.crt")},
            )
        ],
        users=[entry("user", "u", tokenFile="data/token", exec={"command": "./login"})],
        contexts=[entry("context", "x", cluster="c", user="u")],
    )
    config = load_config(path)
    assert config.certificate_authority.read() == b"one"
    assert config.token_file == str(tmp_path / "data" / "token")
    assert config.exec is not None
    assert config.exec.command == str(tmp_path / "login")

    (tmp_path / "data").unlink()
    (tmp_path / "data").symlink_to("two")  # what a kubelet does with a mounted Secret
    assert config.certificate_authority.read() == b"two"


def test_embedded_data_wins_over_a_file(tmp_path: Path) -> None:
    data = base64.b64encode(b"inline").decode()
    path = write(
        tmp_path / "config",
        **{"current-context": "x"},
        clusters=[
            entry(
                "cluster",
                "c",
                server="https://h",
                **{"certificate-authority": "none", "certificate-authority-data": data},
            )
        ],
        contexts=[entry("context", "x", cluster="c")],
    )
    assert load_config(path).certificate_authority.read() == b"inline"


@pytest.mark.parametrize(
    ("members", "message"),
    [
        pytest.param({}, "no current-context", id="no current context"),
        pytest.param({"current-context": "x"}, "no context 'x'; contexts: none", id="missing"),
        pytest.param(
            {"current-context": "x", "contexts": [entry("context", "x", cluster="c")]},
            "names the cluster 'c', which the kubeconfig does not define",
            id="missing cluster",
        ),
        pytest.param(
            {
                "current-context": "x",
                "clusters": [entry("cluster", "c", server="ftp://h")],
                "contexts": [entry("context", "x", cluster="c")],
            },
            "server 'ftp://h' is not an http",
            id="wrong scheme",
        ),
        pytest.param({"clusters": [{"cluster": {}}]}, r"no name at clusters\[0\]", id="no name"),
        pytest.param(
            {
                "current-context": "x",
                "clusters": [entry("cluster", "c", server="https://h")],
                "users": [entry("user", "u", **{"client-key-data": "!!"})],
                "contexts": [entry("context", "x", cluster="c", user="u")],
            },
            "client-key-data is not base64",
            id="not base64",
        ),
    ],
)
def test_what_is_wrong_is_named(tmp_path: Path, members: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        load_config(write(tmp_path / "config", **members))


@pytest.mark.parametrize(
    ("cluster", "user", "message"),
    [
        pytest.param({}, {"exec": "aws"}, "exec must be a mapping", id="exec"),
        pytest.param({}, {"exec": {"command": 5}}, "has no command", id="command"),
        pytest.param(
            {}, {"exec": {"command": "a", "args": "b"}}, "args must be a list", id="arguments"
        ),
        pytest.param(
            {}, {"exec": {"command": "a", "env": {"A": "b"}}}, "env must be a list", id="variables"
        ),
        pytest.param(
            {}, {"exec": {"command": "a", "env": [{"value": "b"}]}}, "no name", id="variable"
        ),
        pytest.param(
            {},
            {"exec": {"command": "a", "interactiveMode": "never"}},
            "one of Never, IfAvailable, Always, got 'never'",
            id="interactive mode",
        ),
        pytest.param({}, {"as-groups": "admins"}, "as-groups must be a list", id="groups"),
        pytest.param({}, {"as-user-extra": ["a"]}, "must be a mapping", id="extra"),
        pytest.param({}, {"as-user-extra": {"a": "b"}}, "a must be a list", id="value of extra"),
        pytest.param({}, {"token": "a\nb"}, "token contains a space", id="token of two lines"),
        pytest.param({}, {"token": "é"}, "what no header can have", id="token beyond ASCII"),
        pytest.param({}, {"client-key-data": "é"}, "is not base64", id="base64 beyond ASCII"),
        pytest.param(
            {"insecure-skip-tls-verify": "false"}, {}, "true or false, without quotes", id="flag"
        ),
        pytest.param({"server": "https://h:x"}, {}, "URL of the server", id="port"),
        pytest.param({"server": "https://h:99999"}, {}, "URL of the server", id="large port"),
        pytest.param({"server": "https://"}, {}, "URL of the server", id="no host"),
        pytest.param({"server": "https://[::1"}, {}, "URL of the server", id="half an address"),
        pytest.param({"server": "https://u:p@h"}, {}, "must not contain cred", id="password"),
        pytest.param({"server": "https://h/?a=b"}, {}, "must not have a query", id="query"),
    ],
)
def test_members_of_the_wrong_type_are_named(
    tmp_path: Path, cluster: dict[str, Any], user: dict[str, Any], message: str
) -> None:
    path = write(
        tmp_path / "config",
        **{"current-context": "x"},
        clusters=[entry("cluster", "c", **{"server": "https://h", **cluster})],
        users=[entry("user", "u", **user)],
        contexts=[entry("context", "x", cluster="c", user="u")],
    )
    with pytest.raises(ConfigError, match=message):
        load_config(path, environment={"HTTPS_PROXY": "http://proxy"})


@pytest.mark.parametrize("clusters", [5, "c", {"name": "c"}, ["c"]])
def test_entries_that_are_no_list_are_named(clusters: object) -> None:
    text = yaml.dump({"clusters": clusters}).encode()
    with pytest.raises(ConfigError, match="the Secret: clusters must be a list"):
        kubeconfig.parse_inline(text, origin="the Secret")


def test_base64_may_be_wrapped(tmp_path: Path) -> None:
    cluster = {"server": "https://h", "certificate-authority-data": "aW5s\naW5l\n"}
    path = write(
        tmp_path / "config",
        **{"current-context": "x"},
        clusters=[entry("cluster", "c", **cluster)],
        contexts=[entry("context", "x", cluster="c")],
    )
    assert load_config(path).certificate_authority.read() == b"inline"


@pytest.mark.parametrize("text", ["", "\n", "# nothing yet\n", "---\n"])
def test_an_empty_file_adds_nothing(simple: Path, tmp_path: Path, text: str) -> None:
    empty = tmp_path / "empty"
    empty.write_text(text)
    environment = {"KUBECONFIG": f"{empty}:{simple}"}
    assert load_config(environment=environment).namespace == "shop"
    with pytest.raises(ConfigError, match="no current-context; contexts: none"):
        load_config(empty)


def test_broken_yaml_names_file_and_place(tmp_path: Path) -> None:
    (tmp_path / "config").write_text("a: [")
    with pytest.raises(ConfigError, match=r"config is not YAML: line 2"):
        load_config(tmp_path / "config")


def test_without_any_file_the_error_says_what_to_set(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="set KUBECONFIG or pass --kubeconfig"):
        load_config(environment={"HOME": str(tmp_path)}, service_account=tmp_path)


def test_a_pod_uses_its_service_account(tmp_path: Path) -> None:
    (tmp_path / "token").write_text("tok\n")
    (tmp_path / "namespace").write_text("ops")
    environment = {"KUBERNETES_SERVICE_HOST": "fd00::1", "KUBERNETES_SERVICE_PORT": "6443"}
    config = load_config(environment=environment, service_account=tmp_path)
    assert config.server == "https://[fd00::1]:6443"
    assert config.namespace == "ops"
    assert config.token_file == str(tmp_path / "token")
    environment["HOME"] = str(tmp_path)
    with pytest.raises(ConfigError, match=r"no kubeconfig at .*\.kube/config"):
        load_config(context="prod", environment=environment, service_account=tmp_path)
    with pytest.raises(ConfigError, match="not running in a pod"):
        load_in_cluster({}, tmp_path)
