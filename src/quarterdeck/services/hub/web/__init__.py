"""The dashboard's side of the hub's port: files, sessions, and the Kubernetes API for its page.

The page never gets rights of this process. Each request to the Kubernetes API carries the viewer's
own token, or impersonates the user that a trusted proxy names; the API server decides.

Start at `dashboard` (the handler), then `sessions`, `kube_proxy` and `watches`.
"""
