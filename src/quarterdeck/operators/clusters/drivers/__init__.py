"""The code that talks to outside systems: image registries over HTTP."""
