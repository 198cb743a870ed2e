"""Responses: objects, lists and watch frames in the form that the client accepts."""
