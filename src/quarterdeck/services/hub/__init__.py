"""The hub API: the state of clusters, filtered for each viewer by the policies.

    GET /api/v1/clusters -> service (authentication) -> router (endpoint and parameters)
                         -> endpoints/clusters -> reading (the store) -> views (what may be seen)

Reads the hub's store and history only; the operator and the ingester write them. Start at
`service`, then `routes` (every endpoint in one table) and `endpoints/`. `identity` authenticates
viewers, `policies` decides what they may see, `openapi` describes the endpoints.
"""
