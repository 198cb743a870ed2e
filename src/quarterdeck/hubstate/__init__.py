"""State and history of watched clusters: two ports, their drivers, and what is collected.

Start at `ports`: a `StateStore` keeps what is known now, in Redis' own data model and under fixed
keys, so that every reader of the original finds its data; a `History` keeps samples over time.
Which keys a cluster, a registry or a metric source has is decided in pure modules; drivers only
carry out writes.
"""
