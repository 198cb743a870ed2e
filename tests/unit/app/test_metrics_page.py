"""How metrics are protected follows from three settings and the address."""

import ssl
from pathlib import Path

import pytest

from quarterdeck.app.bind_address import build_metrics_page
from quarterdeck.app.errors import SettingError
from quarterdeck.app.settings import Settings
from quarterdeck.runtime.endpoints.server import BindAddress

HERE, EVERYWHERE = BindAddress("127.0.0.1", 8080), BindAddress("0.0.0.0", 8080)


def test_metrics_that_are_off_have_no_page() -> None:
    assert build_metrics_page(None, Settings()) is None


@pytest.mark.parametrize("bind", [HERE, EVERYWHERE], ids=["loopback", "everywhere"])
def test_metrics_are_guarded_unless_asked_otherwise(bind: BindAddress) -> None:
    page = build_metrics_page(bind, Settings())
    assert page is not None
    assert not page.is_insecure
    assert (page.bind, page.certificate) == (bind, None)


def test_a_certificate_that_is_named_wins_over_our_own(tmp_path: Path) -> None:
    own = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    page = build_metrics_page(HERE, Settings(), own=own)
    assert page is not None
    assert page.bind.tls is own
    page = build_metrics_page(HERE, Settings(metrics_cert_path=tmp_path), own=own)
    assert page is not None
    assert page.bind.tls is None
    assert page.certificate == (tmp_path / "tls.crt", tmp_path / "tls.key")


def test_metrics_for_everybody_stay_on_loopback() -> None:
    page = build_metrics_page(HERE, Settings(metrics_insecure=True))
    assert page is not None
    assert page.is_insecure
    with pytest.raises(SettingError, match=r"--metrics-insecure is not allowed on .*loopback"):
        build_metrics_page(EVERYWHERE, Settings(metrics_insecure=True))
