"""Operators under measurement; each a process of its own that works on the cluster of a kubeconfig.

All of them do the same: `status.seen = spec.size`, once for each object. They print `ready` when
everything is imported, wait for a line, run, and end with their input. None imports what only
another one needs: start-up and memory are figures.
"""
