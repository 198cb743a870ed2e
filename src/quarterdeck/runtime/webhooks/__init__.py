"""Admission webhooks: an API server sends each write for review, typed handlers answer.

Start reading at `review` (what a handler sees), then `hooks` (from a question to an answer) and
`service` (over HTTPS). Paths, answers and metrics are those of controller-runtime, since manifests
and dashboards were made for them; only malformed questions are told more exactly what they lack.
`conversion` converts between the versions of a kind, and `registration` makes webhooks known to an
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
