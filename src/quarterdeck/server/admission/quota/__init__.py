"""Resource quotas: what objects use, and whether a namespace has room for them.

Pure: `usage` measures, `scopes` says which pods a quota is about, `check` compares. Admission and
the life cycle ask here, so that what is refused and what is shown as used cannot differ.
"""
