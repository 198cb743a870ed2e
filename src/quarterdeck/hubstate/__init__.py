"""State and history of watched clusters: two ports, their drivers, and the collection.

Start at `ports`: a `StateStore` keeps the current state, in Redis' own data model and under the
keys of the original ClusterPulse, so that its existing readers find their data; a `History` keeps
samples over time. Pure modules decide the keys of a cluster, a registry or a MetricSource; drivers
only apply the writes.
"""
