"""The work of ``biosfa choose``: one page about how many features, which lag and which expansion to use."""
