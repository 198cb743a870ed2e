"""The ports over the Kubernetes API: the only code of the service that talks to it."""
