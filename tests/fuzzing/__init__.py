"""Damaged and made-up files by the thousand: whatever is in them, they are read or refused in one line.

And the same rows by every road, from the array in memory to files, collections of Dask, ONNX and river.

``python -m tests.fuzzing`` runs cases. The number of a case is its seed, which decides everything about it: which kind
of case, what is odd about it, and how it is read. Every case runs in a child of a process that has imported and
compiled everything, with limits on memory, time and the size of files.

``sandbox`` runs a case and says what came of it, ``damage`` has ways to damage bytes and JSON, ``models``,
``checkpoints``, ``results`` and ``tables`` say which files there are and how they are read. ``roads`` chooses what
learns by every road. ``roads_of_exact``, ``roads_of_online`` and ``roads_of_monitors`` have the roads, and
``agreement`` compares what they give. ``cases`` chooses among all these, and ``campaign`` runs many cases and keeps
those that found something.
"""
