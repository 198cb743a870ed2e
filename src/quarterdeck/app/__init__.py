"""Composition: settings become objects, objects become a running process.

The only layer that knows all the others. `cluster` is the embedded API server for tests and third
parties, `serve` the process behind `quarterdeck server`. Nothing here decides anything.
"""
