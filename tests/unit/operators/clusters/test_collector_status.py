"""What the status says of a collector, and how often it changes."""

from quarterdeck.apis.clusterpulse.cluster_connection import CollectorStatus
from quarterdeck.hubstate.push.leases import CollectorLease
from quarterdeck.operators.clusters.collector import describe


def make_lease(second: int, version: str = "1") -> CollectorLease:
    time = f"2026-01-01T00:{second // 60:02d}:{second % 60:02d}Z"
    return CollectorLease(session="s", version=version, connected_at=time, last_heartbeat=time)


def test_heartbeats_alone_change_the_status_once_a_minute() -> None:
    first = describe(make_lease(0), "image", None)
    assert describe(make_lease(30), "image", first) is first
    later = describe(make_lease(60), "image", first)
    assert later.last_heartbeat == "2026-01-01T00:01:00Z"
    set_back = describe(make_lease(0), "image", later)
    assert set_back.last_heartbeat == "2026-01-01T00:00:00Z"


def test_everything_else_changes_it_at_once() -> None:
    first = describe(make_lease(0), "image", None)
    assert describe(make_lease(30, version="2"), "image", first).version == "2"
    assert describe(make_lease(30), "other", first).image == "other"
    assert describe(None, "image", first) == CollectorStatus(connected=False, image="image")
    lost = describe(None, "image", first)
    assert describe(make_lease(30), "image", lost).connected
