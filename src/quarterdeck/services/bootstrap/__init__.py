"""The bootstrap service: attests machines, and issues short-lived certificates to them.

It holds no credential of a hypervisor, and the operator that requests tokens cannot issue
certificates. Start at `service` (the endpoints), then `join_tokens` and `tpm` (the two proofs),
`issuer` and `authority` (certificates); `drivers` implements `ports` over the Kubernetes API.
"""
