"""What a program has loaded is set aside from garbage collection."""

import subprocess
import sys

import pytest

SCRIPT = """
import gc
{before}
kept = [[] for _ in range(10_000)]
from quarterdeck.kit.gc_tuning import tune_gc
tune_gc()
gc.enable()
assert gc.get_freeze_count() > 10_000, gc.get_freeze_count()
assert not any(each is kept for each in gc.get_objects())
loop = []
loop.append(loop)
del loop
assert gc.collect() == 1
"""


@pytest.mark.parametrize("before", ["gc.disable()", "gc.enable()"])
def test_what_is_loaded_is_set_aside_and_later_garbage_is_collected(before: str) -> None:
    script = SCRIPT.format(before=before)
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr


PAUSE = """
import gc
from quarterdeck.kit.gc_tuning import pause_gc, resume_gc
with pause_gc():
    assert not gc.isenabled()
    resume_gc()
    assert gc.isenabled()
assert gc.isenabled()
try:
    with pause_gc():
        raise ValueError
except ValueError:
    assert gc.isenabled()
gc.disable()
with pause_gc():
    pass
assert not gc.isenabled()
"""


def test_a_start_is_not_collected_and_its_end_or_failure_turns_the_collector_on() -> None:
    done = subprocess.run([sys.executable, "-c", PAUSE], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
