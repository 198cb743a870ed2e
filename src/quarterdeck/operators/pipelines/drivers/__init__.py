"""What talks to a fleet server: the Connect client and the limiter all its calls go through."""
