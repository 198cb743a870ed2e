"""Libraries that could each be published alone: none depends on Kubernetes.

A third-party library is imported by one module here, or by one package. Start at `clock`.
"""
