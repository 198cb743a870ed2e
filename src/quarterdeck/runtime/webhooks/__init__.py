"""Admission webhooks: an API server sends each write for review, typed handlers answer.

Start reading at `review` (what a handler sees), then `hooks` (from a question to an answer) and
`service` (over HTTPS). Paths, answers and metrics are those of controller-runtime, since manifests
and dashboards were made for them; only malformed questions are told more exactly what they lack.
What registers webhooks with an API server is not here.
"""

from quarterdeck.runtime.webhooks.hooks import Mutator, Validator
from quarterdeck.runtime.webhooks.review import Denied, Operation, Review
from quarterdeck.runtime.webhooks.service import Webhooks

__all__ = ["Denied", "Mutator", "Operation", "Review", "Validator", "Webhooks"]
