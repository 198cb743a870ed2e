"""Compiles schemas to Python source, which handles ordinary objects without a call per member.

It replaces the closures of `fast`, `admit` and `duplicates` for ordinary objects. Each function
that is built here returns True, which is final, or False if it cannot decide; then the closures
decide. So the functions need not handle nulls, wrong types or rare keywords. Building one takes
about a millisecond, which pays off for kinds with many writes: `warming` builds them once a schema
has been used a few times.

Start with `source` (the writer) and `acceptance`.
"""
