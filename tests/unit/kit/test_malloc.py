"""The allocator of the C library."""

import platform

from quarterdeck.kit.malloc import limit_arenas


def test_arenas_are_limited_where_the_library_can_do_that() -> None:
    assert limit_arenas(8) == (platform.libc_ver()[0] == "glibc")
