"""The applications façade: the plain HTTP surface of the Application controller.

Plain HTTP for users of curl: the resource routes, a watch as Server-Sent Events, a history of
events; everything else is forwarded to the Kubernetes API. Where that HTTP API and Kubernetes
differ, only this package handles the difference.

Imports `runtime`, `server` (its guard against web pages), `client`, `wire` and `kit`. Start at
`facade`, then `resources`, `ring` and `stream`.
"""

from quarterdeck.services.applications.facade import Facade

__all__ = ["Facade"]
