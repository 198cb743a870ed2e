"""Libraries each publishable alone: nothing here knows of Kubernetes.

A third-party library is imported by one module here, or by one package. Start at `clock`.
"""
