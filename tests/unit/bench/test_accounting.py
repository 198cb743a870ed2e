"""What is read of processes from outside."""

import os
import sys

import pytest
from bench import accounting

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="reads /proc")

_SIZE = 32 * 1024 * 1024


def test_memory_of_its_own_is_part_of_what_is_resident() -> None:
    before = accounting.private_bytes(os.getpid())
    held = bytearray(os.urandom(1024)) * (_SIZE // 1024)
    after = accounting.private_bytes(os.getpid())
    assert after - before > len(held) // 2
    assert after <= accounting.memory_bytes(os.getpid())
