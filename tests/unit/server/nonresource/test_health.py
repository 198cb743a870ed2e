"""Health checks, one by one and as a whole."""

from quarterdeck.server.nonresource.health import Health


def test_health_tells_which_check_failed() -> None:
    health = Health({"ping": lambda: None, "disk": lambda: "full"}, only_ready=frozenset({"disk"}))
    live = health.answer("/livez", "")
    assert live is not None and (live.status, live.body) == (200, b"ok")
    ready = health.answer("/readyz", "")
    assert ready is not None and ready.status == 500
    assert b"[-]disk failed: full" in ready.body
    without = health.answer("/readyz", "exclude=disk&verbose")
    assert without is not None and without.body == b"[+]ping ok\nreadyz check passed\n"
    one = health.answer("/readyz/ping", "")
    assert one is not None and one.status == 200
    assert health.answer("/readyz/nope", "") is None
