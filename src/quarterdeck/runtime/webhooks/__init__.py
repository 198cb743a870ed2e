"""Admission webhooks: an API server sends each write for review, typed handlers answer.

Start reading at `review` (what a handler receives), then `hooks` (from a request to a response) and
`service` (over HTTPS). Paths, answers and metrics are those of controller-runtime, for which
manifests and dashboards are written; only the errors of malformed requests are more exact.
`conversion` converts between the versions of a kind, and `registration` registers webhooks with an
API server.
"""

from quarterdeck.runtime.webhooks.conversion import ConversionError, Spoke
from quarterdeck.runtime.webhooks.hooks import Mutator, Validator
from quarterdeck.runtime.webhooks.registration import Registration, ServiceReference
from quarterdeck.runtime.webhooks.review import Denied, Operation, Review
from quarterdeck.runtime.webhooks.service import Webhooks

__all__ = [
    "ConversionError",
    "Denied",
    "Mutator",
    "Operation",
    "Registration",
    "Review",
    "ServiceReference",
    "Spoke",
    "Validator",
    "Webhooks",
]
