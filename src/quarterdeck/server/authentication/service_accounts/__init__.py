"""Tokens of service accounts: issued on request, signed, bound to what they speak for.

`key` signs and verifies, `claims` knows what is written in a token, `accounts` decides whom a token
stands for now. Imports storage; the verb that issues tokens is `server.handlers.token`.
"""
