"""Draw from a distribution whose density is known up to a constant.

Points are drawn in rounds, each from a distribution like the weighted points before it.
A point's weight is its density, divided by that of all rounds' distributions together.

Source: J.-M. Cornuet et al., "Adaptive multiple importance sampling" (2012).
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from math import exp, inf, log, log1p, sqrt
from operator import mul
from random import Random
from typing import Final

_ROUNDS: Final = (100, 60, 60, 60)  # points
_LEAST: Final = 15  # effective number of points that a round's distribution is made of
_FREEDOM: Final = 4
_LEAST_VARIANCE: Final = 1e-4
_WIDER: Final = 1.5
_TINY: Final = 1e-300


def sample(
    log_density: Callable[[Sequence[float]], float],
    middle: Sequence[float],
    widths: Sequence[float],
    n_draws: int,
    seed: str,
) -> list[Sequence[float]]:
    """Return draws from a distribution.

    Args:
        log_density: logarithm of its density at a point.
        middle: where to begin.
        widths: how far to look around, in each dimension.
        n_draws: number of draws.
        seed: the same one gives the same draws.
    """
    dice = Random(seed)
    size = range(len(middle))
    root = [[widths[i] if i == j else 0.0 for j in size] for i in size]
    cloud = StudentCloud(middle, root)
    clouds: list[StudentCloud] = []
    points: list[Sequence[float]] = []
    values: list[float] = []
    drawn: list[float] = []  # density of all rounds together, at each point
    for n_points in _ROUNDS:
        if points:
            cloud = StudentCloud.around(points, _tempered(_weights(values, drawn)))
        drawn = [
            x + n_points * cloud.density(point)
            for x, point in zip(drawn, points, strict=True)
        ]
        clouds.append(cloud)
        new = [cloud.draw(dice) for _ in range(n_points)]
        points += new
        values += map(log_density, new)
        for point in new:
            terms = zip(_ROUNDS, clouds, strict=False)
            drawn.append(sum(n * x.density(point) for n, x in terms))
    found = [points[n] for n in _resampled(_weights(values, drawn), n_draws)]
    dice.shuffle(found)
    return found


def _weights(values: Sequence[float], drawn: Sequence[float]) -> list[float]:
    """Return the weights of points: how much rarer they were drawn than they are."""
    logs = [x - log(y + _TINY) for x, y in zip(values, drawn, strict=True)]
    most = max(logs)
    if most == -inf:  # the density is 0 at all of them
        return [1.0] * len(logs)
    return [exp(each - most) for each in logs]


def _tempered(weights: Sequence[float]) -> list[float]:
    """Return flatter weights, if few points have nearly all of the weight."""
    found, power = list(weights), 1.0
    while sum(found) ** 2 < _LEAST * sum(x * x for x in found):
        power /= 1.5
        found = [max(x, _TINY) ** power for x in weights]  # 0 has no greater power
    return found


def _resampled(weights: Sequence[float], n_draws: int) -> Iterator[int]:
    """Yield numbers of points, each as often as its weight says."""
    step = sum(weights) / n_draws
    place, reached = 0, weights[0]
    for number in range(n_draws):
        while reached < (number + 0.5) * step and place + 1 < len(weights):
            place += 1
            reached += weights[place]
        yield place


class StudentCloud:
    """A multivariate t distribution with four degrees of freedom.

    Args:
        middle: its mean.
        root: lower triangular root of its scale matrix.
    """

    def __init__(
        self, middle: Sequence[float], root: Sequence[Sequence[float]]
    ) -> None:
        self._middle, self._root = middle, root
        self._constant = -sum(log(row[n]) for n, row in enumerate(root))

    @classmethod
    def around(
        cls, points: Sequence[Sequence[float]], weights: Sequence[float]
    ) -> StudentCloud:
        """Return the distribution with the mean and covariance of weighted points."""
        total, size = sum(weights), range(len(points[0]))
        middle = [
            sum(w * x[i] for w, x in zip(weights, points, strict=True)) / total
            for i in size
        ]
        root = [[0.0] * len(middle) for _ in size]
        for i in size:
            for j in range(i + 1):
                value = sum(
                    w * (x[i] - middle[i]) * (x[j] - middle[j])
                    for w, x in zip(weights, points, strict=True)
                )
                value = _WIDER * value / total
                value -= sum(root[i][k] * root[j][k] for k in range(j))
                root[i][j] = (
                    sqrt(max(value, _LEAST_VARIANCE)) if i == j else value / root[j][j]
                )
        return cls(middle, root)

    def draw(self, dice: Random) -> list[float]:
        """Return a random point."""
        scale = sqrt(_FREEDOM / (2 * dice.gammavariate(_FREEDOM / 2, 1)))
        normal = [dice.gauss(0, 1) for _ in self._middle]
        return [
            middle + scale * sum(map(mul, row, normal))
            for middle, row in zip(self._middle, self._root, strict=True)
        ]

    def density(self, point: Sequence[float]) -> float:
        """Return the density, up to a factor that all such have."""
        solved: list[float] = []
        for n, row in enumerate(self._root):
            rest = point[n] - self._middle[n] - sum(map(mul, row, solved))
            solved.append(rest / row[n])
        distance = sum(x * x for x in solved)
        half = (_FREEDOM + len(point)) / 2
        return exp(self._constant - half * log1p(distance / _FREEDOM))
