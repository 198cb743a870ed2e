"""Reading stored objects: selection, pages and resource versions; shared by list, watch and
deletecollection.
"""
