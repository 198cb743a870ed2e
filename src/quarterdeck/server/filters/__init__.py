"""Filters of requests before routing: browser protection and impersonation.

Audit and flow control belong here too.
"""
