"""The endpoints of the hub API, one module per topic."""
