"""Schemas as straight Python source: what the closures of `fast`, `admit` and `duplicates` decide
about an ordinary object, without a call for each of its members.

Each function that is built here says yes or does not know. Yes is final; a value it does not know
goes through the closures, which decide everything. So none of them has to handle nulls, wrong types
or rare keywords. Building one takes about a millisecond, which pays for kinds with many writes:
`warming` builds them once a schema has been used a few times.

Start with `source` (the writer) and `acceptance`.
"""
