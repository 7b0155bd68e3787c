"""A simulation of a rat that walks through a room, and of its view.

Room, camera and walk follow the description of RatLab (Schönfeld & Wiskott 2013, 2015). The code is new. Textures are
made from a seed, or come from a folder of the user.
"""

from biosfa.datasets.rat._camera import FIELD
from biosfa.datasets.rat._motion import Trajectory, Walk
from biosfa.datasets.rat._room import MARGIN, RatStream, Room, rat_stream

__all__ = ["FIELD", "MARGIN", "RatStream", "Room", "Trajectory", "Walk", "rat_stream"]
