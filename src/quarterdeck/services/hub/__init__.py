"""The hub API: what is known of clusters, each viewer sees what the policies allow.

    GET /api/v1/clusters -> service (who asks) -> router (which endpoint, which parameters)
                         -> endpoints/clusters -> reading (the store) -> views (what may be seen)

Reads the hub's store and history only; the operator and the ingester write them. Start at
`service`, then `routes` (every endpoint in one table) and `endpoints/`. `identity` finds out who
asks, `policies` keeps what they may see, `openapi` describes the table.
"""
