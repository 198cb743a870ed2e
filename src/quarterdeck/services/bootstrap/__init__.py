"""The bootstrap service: a machine proves what it is, and gets a short-lived identity.

It holds no credential of a hypervisor, and the operator that asks it for tokens cannot mint
certificates. Start at `service` (the endpoints), then `join_tokens` and `tpm` (the two proofs),
`issuer` and `authority` (what machines get); `ports` is what the service needs, `drivers` has it
over the Kubernetes API.
"""
