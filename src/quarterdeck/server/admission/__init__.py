"""Admission: plugins that change or refuse a write between decoding and storing.

`chain` has the ports and runs the plugins in order, `plugins` are the defaults of Kubernetes,
`quota` the one for ResourceQuotas. Webhooks and admission policies belong here too.
"""
