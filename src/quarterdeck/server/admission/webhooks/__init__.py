"""Admission webhooks: external services are called before a write happens.

Start at `dispatcher` (which webhooks are called, in which order, and what an answer does), then
`registration` (the contents of a configuration), `matching` (whether a webhook is about a write),
`review` (the AdmissionReview and its response) and `caller` (the request over the network).
"""
