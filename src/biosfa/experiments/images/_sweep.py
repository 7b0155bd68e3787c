"""The paper's grid search over α, β and τ on natural images (appendix B.3), with fewer samples."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from biosfa import metrics
from biosfa.cluster import Cluster
from biosfa.estimators import BioSFA
from biosfa.exceptions import DivergenceError
from biosfa.experiments.engine import Grid, RunFolder, SweepText, digest, held, run_sweep
from biosfa.experiments.images._config import DEFAULT_SEED
from biosfa.experiments.images._patches import FRAMES, Patches, load_patches
from biosfa.kernels.exact import Moments
from biosfa.learning import Annealed
from biosfa.presentation.progress import Progress

GRID = Grid(
    ("alpha", "beta", "tau"),
    (
        (2.5e-6, 5e-6, 2.5e-5, 5e-5, 2.5e-4, 5e-4),
        (1e4, 1e6, 5e6, 1e7, 5e7, 1e8, 1e9, 1e10),
        (0.5, 1.0, 2.0, 4.0),
    ),
)
UNITS = 49


@dataclass(frozen=True)
class ImagesSweepConfig:
    """Settings of the grid search.

    Attributes
    ----------
    samples : int, default=50_000
        Number of samples per network.
    principal : int, default=64
        Number of principal components that the patches are reduced to.
    images : str, default="dead leaves"
        The images, as in :func:`biosfa.datasets.image_sequences`.
    seed : int, default=1
        Seed of all random numbers.

    Examples
    --------
    >>> from biosfa.experiments.images import ImagesSweepConfig
    >>> ImagesSweepConfig(images="noise")
    ImagesSweepConfig(samples=50000, principal=64, images='noise', seed=1)
    """

    samples: int = 50_000
    principal: int = 64
    images: str = "dead leaves"
    seed: int = DEFAULT_SEED


def sweep(
    config: ImagesSweepConfig,
    out: Path,
    *,
    jobs: int | None = None,
    resume: bool = False,
    cluster: Cluster | None = None,
) -> dict[str, Any]:
    """Run the grid search, write heat maps, numbers and a report to ``out``, and return the best setting.

    Parameters
    ----------
    config : ImagesSweepConfig
        The settings.
    out : Path
        The output folder.
    jobs : int, optional
        Number of networks that learn at the same time; by default one per core.
    resume : bool, default=False
        Whether to keep the results of a finished run in the folder. An unfinished run is always resumed.
    cluster : Cluster, optional
        Cluster whose workers run the tasks, from :func:`biosfa.cluster.connected`; by default threads of this process.

    Examples
    --------
    >>> from pathlib import Path
    >>> from biosfa.experiments import images
    >>> images.sweep(images.ImagesSweepConfig(), Path("results"))  # doctest: +SKIP
    """
    folder = RunFolder(out)
    with threadpool_limits(1):  # sums must not depend on the number of threads
        patches = load(config)
        text = SweepText(
            "Hyperparameters of natural images",
            f"The paper's grid: {len(GRID.settings())} settings of η = α/(1 + t/β) and τ, with {config.samples:,} "
            f"samples each, {config.principal} principal components, and the images “{config.images}”.",
            "In the paper, α = 5e-6, β = 5e6 and τ = 1 are best at full length. After few samples, larger rates are "
            "better, and values of β much larger than the number of samples cannot be distinguished.",
            f'biosfa sweep images --samples {config.samples} --images "{config.images}" --seed {config.seed}',
            error="relative error",
        )
        with folder.alone():
            folder.begin("sweep images", config, resume=resume, images_digest=digest(patches.sequences.images))
            return run_sweep(
                folder,
                GRID,
                find_error,
                config,
                text,
                steps=config.samples,
                jobs=jobs,
                shared=(yardstick(config),),
                cluster=cluster,
            )


@held(1)
def load(config: ImagesSweepConfig) -> Patches:
    """Make the patches that all networks learn from."""
    return load_patches(config.images, -(-config.samples // FRAMES), config.principal, config.seed)


def yardstick(config: ImagesSweepConfig) -> tuple[Moments, float]:
    """Return the moments of the patches, and the smallest possible slowness of the features."""
    patches = load(config)
    with Progress("exact SFA", total=len(patches.signal)) as progress:
        moments = patches.moments(progress.advance)
    return moments, float(metrics.slowest(moments, UNITS).sum())


def find_error(config: ImagesSweepConfig, setting: dict[str, float], compared_with: tuple[Moments, float]) -> float:
    """Return the relative error of one setting after one pass over the sequences; NaN if it diverges."""
    patches, (moments, least) = load(config), compared_with
    rate = Annealed(setting["alpha"], setting["beta"])
    net = BioSFA(
        UNITS,
        expansion="quadratic",
        learning_rate=rate,
        tau=setting["tau"],
        dtype=np.float32,
        random_state=config.seed,
    )
    try:
        for chunk in patches.chunks():
            rows = patches.rows(chunk)
            net.partial_fit(rows, lengths=patches.sequences.lengths(rows))
    except DivergenceError:
        return float("nan")
    return float(metrics.subspace_slowness(net.W_, moments)) / least - 1.0
