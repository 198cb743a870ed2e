"""Admission webhooks: external services are called before a write happens.

Start at `dispatcher` (whom to ask, in which order, and what an answer does), then `registration`
(what a configuration says), `matching` (whether a webhook is about a write), `review` (question
and answer) and `caller` (the request over the network).
"""
