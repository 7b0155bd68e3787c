"""Adapters to other libraries: one module per host, which needs the extra of the same name.

No other room imports this one, and ``import biosfa`` imports none of the hosts.
"""
