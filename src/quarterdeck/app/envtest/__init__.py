"""The drop-in for envtest: an API server and its storage behind the names envtest starts.

`flags` reads the flags of the real programs, `settings` makes ours of them, `storage` stands in for
etcd, `folder` writes the programs into a folder. The programs are in `cli/shims`.
"""
