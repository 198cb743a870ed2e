"""The generators behind `make update` and `make verify`.

What can be derived from the types is derived: CRD manifests, builders, reference pages. Each
generator is one function in one module that returns files; `registry` lists them, `verify` compares
them with what is there.
"""
