"""The HTTP endpoints of an operator: health, metrics, their certificate and authorization."""
