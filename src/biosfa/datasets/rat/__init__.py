"""A rat that walks through a room, and what it sees: RatLab's world, written anew.

The world, the camera and the walk are those that RatLab (Schönfeld & Wiskott 2013, 2015) is described by; textures are
made from a seed, or the user's.
"""

from biosfa.datasets.rat._camera import FIELD
from biosfa.datasets.rat._motion import Trajectory, Walk
from biosfa.datasets.rat._room import MARGIN, RatStream, Room, rat_stream

__all__ = ["FIELD", "MARGIN", "RatStream", "Room", "Trajectory", "Walk", "rat_stream"]
