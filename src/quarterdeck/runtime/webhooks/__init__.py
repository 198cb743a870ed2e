"""Admission webhooks: an API server asks before it writes, typed handlers answer.

Start reading at `review` (what a handler sees), then `hooks` (from a question to an answer) and
`service` (over HTTPS). Answers are those of controller-runtime, word for word, since API servers
and dashboards were made for them. What registers webhooks with an API server is not here.
"""

from quarterdeck.runtime.webhooks.hooks import Change, Check
from quarterdeck.runtime.webhooks.review import Denied, Operation, Review
from quarterdeck.runtime.webhooks.service import Webhooks

__all__ = ["Change", "Check", "Denied", "Operation", "Review", "Webhooks"]
