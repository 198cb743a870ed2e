"""The applications operator: an Application becomes a Deployment or a Job, and stays one.

Imports `runtime`, `apis`, `meta`, `kit`. Start at `application` (the steps), then `plan` (what
should exist), `observed` and `conditions` (what is true).
"""

from quarterdeck.operators.applications.application import build_controller, register

__all__ = ["build_controller", "register"]
