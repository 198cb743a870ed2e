"""The Redis and Valkey driver of the state store; needs the extra `quarterdeck[redis]`."""
