"""One request to a resource: the call, content negotiation and decoding of the body."""
