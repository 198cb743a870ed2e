"""Benchmarks that can be trusted: we and our peers, interleaved, in one run.

`python -m bench [NAME…] [--quick | --full] [--profile]`. Start reading at `suite` (what a suite
is), then `harness` (how it is run); `README.md` says how to add one.
"""
