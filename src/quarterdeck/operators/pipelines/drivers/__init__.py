"""The drivers of fleet servers: the Connect client, and the limiter of all its calls."""
