"""Agents that run on machines and managed clusters and call the services, and a simulated one.

Imports lower layers only, never an operator or a service: an agent needs only a protocol and an
address.
"""
