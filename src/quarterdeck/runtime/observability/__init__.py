"""Logs, metrics, traces and the event-loop watchdog of an operator.

Imports only `client`, `wire` and `kit`; every other package of the runtime may use it.
"""
