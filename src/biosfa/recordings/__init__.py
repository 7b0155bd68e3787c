"""The work behind the commands for recordings.

``run`` fits a model with checkpoints, ``notes`` reports problems before and after a fit, ``features`` transforms,
``inspection`` describes a model file, ``picture`` draws, and ``live`` answers the lines of a stream.
"""
