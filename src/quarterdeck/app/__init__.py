"""Composition: settings become objects, objects become a running process.

The only layer that imports all the others. `cluster` is the embedded API server for tests and third
parties, `api_server` the process of `quarterdeck server`. Nothing here decides anything.
"""
