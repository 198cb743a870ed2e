"""Address and credentials of an API server: kubeconfig files, a service account, or values.

Reading files is all the I/O here. Start at `cluster`, then `kubeconfig`.
"""
