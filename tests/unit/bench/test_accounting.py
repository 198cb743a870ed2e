"""What is read of processes from outside."""

import mmap
import os
import sys

import pytest
from bench import accounting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

_SIZE = 32 * 1024 * 1024


def test_memory_of_its_own_is_part_of_what_is_resident() -> None:
    before = accounting.private_bytes(os.getpid())
    # Mapped, since the allocator may give memory that this process has had before.
    with mmap.mmap(-1, _SIZE, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS) as held:
        held.write(os.urandom(1024) * (_SIZE // 1024))
        after = accounting.private_bytes(os.getpid())
        assert after - before > _SIZE // 2
        assert after <= accounting.memory_bytes(os.getpid())
