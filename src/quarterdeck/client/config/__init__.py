"""Where an API server is and who we are: kubeconfig files, a pod's service account, or values.

Reading files is all the I/O here. Start at `cluster`, then `kubeconfig`.
"""
