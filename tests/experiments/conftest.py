"""What tests of experiments share."""

import pytest
from matplotlib.figure import Figure


@pytest.fixture
def unpainted(monkeypatch):
    """Figures are drawn but not painted, and their files are empty, for runs that repeat what was painted before.

    Most of the time of a small experiment goes into paint.
    """
    monkeypatch.setattr(Figure, "savefig", lambda self, file, **options: None)
