"""The rules of certificate signing requests."""
