"""The event recorder: writes Kubernetes events with client-go's correlation."""
