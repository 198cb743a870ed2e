"""An EncryptionConfiguration that cannot be used names its field."""

import base64
from pathlib import Path
from typing import Any

import pytest

from quarterdeck.app.encryption import ConfigurationError, parse_configuration, read_cipher
from quarterdeck.app.errors import StartError

_API_VERSION = "apiserver.config.k8s.io/v1"
_SECRET = base64.b64encode(b"x" * 32).decode()


def _document(*providers: Any, **more: Any) -> dict[str, Any]:
    return {
        "apiVersion": _API_VERSION,
        "kind": "EncryptionConfiguration",
        "resources": [{"resources": ["secrets"], "providers": list(providers)}],
        **more,
    }


def _keys(*keys: Any) -> dict[str, Any]:
    return {"aesgcm": {"keys": list(keys)}}


_KEY_FIELD = "resources[0].providers[0].aesgcm.keys"


@pytest.mark.parametrize(
    ("document", "message"),
    [
        pytest.param([], "expected an object of kind EncryptionConfiguration", id="a list"),
        pytest.param(
            _document(kind="Secret"),
            "expected an object of kind EncryptionConfiguration",
            id="another kind",
        ),
        pytest.param(
            _document(apiVersion="v1"), f"apiVersion must be {_API_VERSION}", id="another version"
        ),
        pytest.param(_document(resources=[]), "resources must have at least one entry", id="empty"),
        pytest.param(
            _document(), "resources[0].providers must have at least one provider", id="no provider"
        ),
        pytest.param(
            _document({"aescbc": {}}),
            "resources[0].providers[0]: expected aesgcm with keys, or identity",
            id="unknown provider",
        ),
        pytest.param(
            _document({"identity": {}}, resources=[{"providers": [{"identity": {}}]}]),
            "resources[0].resources must name resources",
            id="no resources",
        ),
        pytest.param(
            _document(_keys("key")),
            f"{_KEY_FIELD}: every key needs a name without a colon",
            id="text",
        ),
        pytest.param(
            _document(_keys({"name": "a:b", "secret": _SECRET})),
            f"{_KEY_FIELD}: every key needs a name without a colon",
            id="colon",
        ),
        pytest.param(
            _document(_keys({"name": "a", "secret": "!"})),
            f"{_KEY_FIELD}: the secret of 'a' is not base64",
            id="no base64",
        ),
        pytest.param(
            _document(_keys({"name": "a", "secret": "eHg="})),
            f"{_KEY_FIELD}: the secret of 'a' has 2 bytes; expected 16, 24 or 32",
            id="short",
        ),
    ],
)
def test_a_configuration_that_cannot_be_used_names_its_field(document: Any, message: str) -> None:
    with pytest.raises(ConfigurationError) as caught:
        parse_configuration(document)
    assert str(caught.value) == message


def test_a_file_that_is_missing_names_the_flag(tmp_path: Path) -> None:
    with pytest.raises(StartError) as caught:
        read_cipher(tmp_path / "none.yaml")
    assert str(caught.value) == (
        f"cannot use {tmp_path / 'none.yaml'} (--encryption-provider-config): "
        "No such file or directory"
    )
