"""What the command does with people's own recordings.

``run`` fits with checkpoints, ``notes`` says what matters before and after it, ``features`` transforms, ``inspection``
describes a model, ``picture`` draws, and ``live`` answers lines as they come.
"""
