"""The bootstrap service: a machine proves what it is, and gets a short-lived identity.

It holds no credential of a hypervisor, and the operator that asks it for tokens cannot mint
certificates. Start at `authority` (what it issues).
"""
