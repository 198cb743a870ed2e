"""The applications façade: the plain HTTP surface of the Application controller.

Plain HTTP for people with curl: the resource routes, a watch as Server-Sent Events, a history of
events, and everything else passed on to the Kubernetes API. Where that surface and Kubernetes
differ, this package bends, and nothing else does.

Imports `runtime`, `server` (its guard against web pages), `client`, `wire` and `kit`. Start at
`facade`, then `resources`, `ring` and `stream`.
"""

from quarterdeck.services.applications.facade import Facade

__all__ = ["Facade"]
