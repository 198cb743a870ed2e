"""Logs, metrics, traces and the event-loop watchdog: what an operator tells about itself.

Imports only `client`, `wire` and `kit`; every other package of the runtime may use it.
"""
