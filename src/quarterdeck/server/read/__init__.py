"""Reading stored objects: selection, pages and resource versions.

Shared by the verbs list, watch and deletecollection.
"""
