"""`clusterpulse.io`: clusters and registries to watch, metrics to compute, who may see them."""
