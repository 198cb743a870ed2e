"""Tokens of service accounts: issued on request, signed, and bound to an object.

`tokens` issues and authenticates tokens, `claims` is their content, `signing_key` signs and
verifies them. The verb that issues tokens is `server.handlers.token`.
"""
