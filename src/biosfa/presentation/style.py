"""The style of this package's figures, and functions that draw and save them."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from biosfa.io.atomic import replace_file
from biosfa.typing import FloatArray, IntArray

COLORS = {
    "bio-sfa": "#1a8a3c",
    "reversible": "#2563ab",
    "offline": "#8a4fbf",
    "input-layer": "#6ec27f",
    "interneuron": "#2bb3d6",
    "nonnegative": "#7a6a00",
    "incremental": "#e0602a",
    "gev": "#7b52c7",
    "foldiak": "#8c8c8c",
    "auto": "#d98a1f",
    "online": "#c0267e",
    "local": "#e8a80c",
    "exact": "#222222",
    "force": "#d1342f",
    "series": "#111111",
    "input": "#2b5fd9",
    "feedforward": "#1a8a3c",
    "lateral": "#d1342f",
    "normal": "#1a8a3c",
    "moved": "#e8a80c",
    "abnormal": "#d1342f",
    "no data": "#b8b8b8",
}

RC: Any = {
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "legend.frameon": False,
    "legend.fontsize": 8,
    "svg.hashsalt": "biosfa",
    "svg.fonttype": "path",
}


@contextmanager
def figure(width: float, height: float) -> Iterator[Figure]:
    """Open a figure in the style of this package, of a size in inches. It is not shown on a screen.

    Examples
    --------
    >>> from biosfa.presentation.style import figure
    >>> with figure(4, 3) as drawn:
    ...     axes = drawn.subplots()
    """
    with mpl.rc_context(RC):
        yield Figure(figsize=(width, height), layout="constrained")


def save(drawn: Figure, folder: Path, name: str) -> None:
    """Write a figure to a folder as PNG and as SVG."""
    write_figure(drawn, folder / f"{name}.png", dpi=160)
    write_figure(drawn, folder / f"{name}.svg", metadata={"Date": None})


def write_figure(drawn: Figure, path: Path, **options: Any) -> None:
    """Write a figure atomically, in the format of the suffix of ``path``, or as PNG if there is no suffix."""
    content = BytesIO()  # some formats seek backwards, which pipes cannot do
    drawn.savefig(content, format=path.suffix.removeprefix(".").lower() or "png", **options)
    replace_file(path, lambda file: file.write(content.getbuffer()))


def band(axes: Axes, steps: IntArray, values: FloatArray, *, color: str, label: str) -> None:
    """Draw the mean over runs (rows) as a line, and their central 90% as a shade. Diverged runs (NaN) are left out."""
    values = values[~np.isnan(values).any(axis=1)]  # without diverged runs
    if not len(values):
        axes.plot([], [], color=color, label=f"{label}: diverged")
        return
    low, high = np.percentile(values, [5, 95], axis=0)
    axes.fill_between(steps, low, high, color=color, alpha=0.25, lw=0)
    axes.plot(steps, values.mean(axis=0), color=color, lw=1.6, label=label)


def span(axes: Axes, x: FloatArray, values: FloatArray, *, color: str, label: str) -> None:
    """Draw the median over runs (rows) as a line, and their range as a shade, with a gap where a run has NaN."""
    axes.fill_between(x, values.min(axis=0), values.max(axis=0), color=color, alpha=0.18, lw=0)
    axes.plot(x, np.median(values, axis=0), color=color, lw=1.6, label=label)


def mosaic(pictures: FloatArray, columns: int) -> FloatArray:
    """Return one image with all pictures in rows of so many columns, and a line of NaN between them.

    Examples
    --------
    >>> import numpy as np
    >>> from biosfa.presentation.style import mosaic
    >>> mosaic(np.ones((3, 4, 4)), columns=2).shape
    (9, 9)
    """
    height, width = pictures.shape[1] + 1, pictures.shape[2] + 1
    sheet = np.full((-(-len(pictures) // columns) * height - 1, columns * width - 1), np.nan)
    for i, picture in enumerate(pictures):
        top, left = i // columns * height, i % columns * width
        sheet[top : top + height - 1, left : left + width - 1] = picture
    return sheet


def bare(axes: Axes) -> None:
    """Remove the ticks and the frame."""
    axes.set(xticks=[], yticks=[])
    axes.spines[:].set_visible(False)
