"""Slow feature analysis that learns online: exact SFA, OnlineSFA, Bio-SFA (Lipshutz et al., NeurIPS 2020), and more.

``__init__.pyi`` lists every public name. Names are loaded when they are first used, so that the import is fast.
"""

import lazy_loader

__version__ = "0.2.0"

__getattr__, __dir__, __all__ = lazy_loader.attach_stub(__name__, __file__)
__all__ += ["__version__"]
