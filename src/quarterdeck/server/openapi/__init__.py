"""OpenAPI of what is served: v3 by group version, v2 as one document.

kubectl cannot apply, create from files, edit or explain without v3. Documents have only what this
server serves, are built on first use, compressed once, and cached until their group version
changes. Start at `documents`.
"""
