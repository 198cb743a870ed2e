"""When the next request may be sent, after failures and expired watches."""

import random

import msgspec

from quarterdeck.runtime.informer.failure import Failure
from quarterdeck.runtime.informer.retry_schedule import RetrySchedule
from quarterdeck.runtime.informer.watch_settings import WatchSettings

BROKEN = Failure(500, "InternalError", "broken")
SETTINGS = WatchSettings(backoff_initial_s=1.0, backoff_cap_s=8.0, backoff_reset_s=100.0)


def build_schedule() -> RetrySchedule:
    return RetrySchedule(SETTINGS, random.Random(1))


def test_nothing_waits_before_the_first_failure() -> None:
    assert build_schedule().get_wait_s(0.0) <= 0


def test_delays_grow_to_their_cap_and_start_anew_after_a_quiet_time() -> None:
    schedule = build_schedule()
    delays = []
    for _ in range(8):
        schedule.delay(BROKEN, 0.0)
        delays.append(schedule.get_wait_s(0.0))
    assert 1.0 <= delays[0] < 2.0 and 8.0 <= delays[-1] <= 16.0
    schedule.delay(BROKEN, 101.0)
    assert 1.0 <= schedule.get_wait_s(101.0) < 2.0


def test_what_the_server_asks_for_is_the_least_and_a_cap_the_most() -> None:
    schedule = build_schedule()
    schedule.delay(msgspec.structs.replace(BROKEN, retry_after_s=60.0), 0.0)
    assert schedule.get_wait_s(0.0) == 60.0
    schedule.delay(BROKEN, 0.0, cap_s=0.5)
    assert schedule.get_wait_s(0.0) == 0.5


def test_one_request_in_an_interval_goes_without_a_delay() -> None:
    schedule = build_schedule()
    assert schedule.may_retry_now(0.0)
    schedule.retry_now(0.0)
    assert 0 <= schedule.get_wait_s(0.0) <= SETTINGS.relist_jitter_s
    assert not schedule.may_retry_now(0.9)
    assert schedule.may_retry_now(1.0)


def test_a_failure_is_transient_if_the_server_answered_since_the_last_one() -> None:
    schedule = build_schedule()
    assert schedule.is_transient(BROKEN, 10.0, last_heard_at=9.0)
    schedule.retry_now_after_failure(10.0)
    assert not schedule.is_transient(BROKEN, 10.5, last_heard_at=10.2), "within the interval"
    assert not schedule.is_transient(BROKEN, 20.0, last_heard_at=9.0), "no answer in between"
    assert schedule.is_transient(BROKEN, 20.0, last_heard_at=15.0)
    assert not schedule.is_transient(
        msgspec.structs.replace(BROKEN, code=429), 20.0, last_heard_at=15.0
    )
    assert not schedule.is_transient(
        msgspec.structs.replace(BROKEN, retry_after_s=5.0), 20.0, last_heard_at=15.0
    )
