"""Quarterdeck: a fleet control plane in Python.

Start reading at `docs/explanation/architecture.md`; the packages below are its layers.
This package imports nothing, so that `quarterdeck.__version__` costs nothing.
"""

__version__ = "0.1.0"
