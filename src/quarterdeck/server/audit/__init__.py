"""The audit log: records who did what, at the levels of a policy file.

`policy` reads Kubernetes' policy files and finds the level of a request, `event` builds what is
written, `redaction` leaves out secrets, `log` writes lines to a file and rotates it, `auditor`
does all of it for one server.
"""
