"""The default admission plugins of Kubernetes, one concern a module."""
