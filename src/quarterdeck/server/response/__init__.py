"""Responses: objects, lists and watch frames in the form the client asked for."""
