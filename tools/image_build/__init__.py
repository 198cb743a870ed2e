"""The container image without a container engine: Debian packages and our wheel as an OCI layout.

`python -m image_build` is what `make image` runs. `debian` and `wheels` fill the layers, `layout`
writes them, `sbom` lists what is in them.
"""
