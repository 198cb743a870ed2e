"""The only code of the operator that talks to systems besides its own API server."""
