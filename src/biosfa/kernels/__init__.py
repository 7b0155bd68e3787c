"""The numeric core: functions on arrays, compiled where that pays, without validation.

``reference`` is the paper literally, the oracle of the tests. ``local`` has the paper's network, ``natural`` the
natural gradient, ``exact`` the moments and the eigenproblem of exact SFA.
"""
