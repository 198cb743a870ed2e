"""The dashboard on the hub's port: files, sessions, and a proxy to the Kubernetes API.

The page never gets the permissions of this process. Each request to the Kubernetes API has the
viewer's own token, or impersonates the user that a trusted proxy or an issuer names; the API server
decides.

Start at `dashboard` (the handler), then `sessions`, `kube_proxy` and `watches`.
"""
