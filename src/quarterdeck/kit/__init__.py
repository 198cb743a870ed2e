"""Libraries we wish existed, each publishable alone: nothing here knows of Kubernetes.

Imports only the standard library and, one module each, a third-party library. Start at `clock`.
"""
