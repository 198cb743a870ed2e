"""The HTTP protocol of Kubernetes as pure functions, shared by client and server.

Paths, queries, selectors, errors, watch frames, patches and server-side apply: dictionaries in,
dictionaries out, no I/O. Because both sides use the same code, a round trip
`parse(build(x)) == x` is a property test. Start at `path` and `status`.
"""
