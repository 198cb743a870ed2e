"""Resource quotas: the usage of objects, and whether a quota has room for them.

`usage` measures objects, `scopes` selects the objects of a quota, `check` compares, `plugin` is the
admission plugin. The controller in `lifecycle.workloads` uses the same functions, so that the
admission plugin and the shown usage cannot differ.
"""
