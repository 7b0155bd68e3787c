"""The numeric core: functions on arrays, without validation, compiled where that makes them faster.

``reference`` has the algorithms exactly as the paper writes them; the tests compare all other kernels with it.
``local`` has the paper's network, ``natural`` the natural gradient, ``exact`` the moments and the eigenproblem of exact
SFA.
"""
