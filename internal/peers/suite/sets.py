"""The set of the weights: a ball, a box, or the whole space."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

ON_SPHERE = 1e-9  # relative distance below which a point counts as on the sphere


def length(x: np.ndarray) -> float:
    """||x|| of a NumPy or PyTorch vector. The methods for the ball and the augmented Lagrangian's own solver accept both."""
    return math.sqrt(float(x @ x))


@dataclass(frozen=True)
class WeightSet:
    """The points x with ||x|| <= radius and lower <= x <= upper. None drops a bound.

    A problem has a ball or a box, not both at once.
    """

    radius: float | None = None
    lower: float | None = None
    upper: float | None = None

    def __post_init__(self) -> None:
        if self.radius is not None and (self.lower is not None or self.upper is not None):
            raise ValueError("sets: a problem with a ball and a box is not supported")

    def project(self, x: np.ndarray) -> np.ndarray:
        """The nearest point of the set: x itself if the set contains x."""
        if self.radius is not None and (norm := length(x)) > self.radius:
            return x * (self.radius / norm)
        if self.lower is not None or self.upper is not None:
            return np.clip(x, self.lower, self.upper)
        return x

    def outside(self, x: np.ndarray) -> float:
        """How far x is outside: ||x||/radius - 1, or the largest distance to a bound; at least 0."""
        if self.radius is not None:
            return max(0.0, length(x) / self.radius - 1.0)
        return float(np.max(np.abs(x - self.project(x)), initial=0.0))

    def face(self, x: np.ndarray, gradient: np.ndarray) -> Face:
        """The part of the boundary at x against which -gradient pushes."""
        if self.radius is not None:
            inner = float(gradient @ x)
            norm = length(x)
            if inner < 0 and norm >= self.radius * (1 - ON_SPHERE):
                return Face(normal=x / norm, curvature=-inner / self.radius**2)
        if self.lower is not None or self.upper is not None:
            held = np.zeros(len(x), bool)
            if self.lower is not None:
                held |= (x <= self.lower) & (gradient > 0)
            if self.upper is not None:
                held |= (x >= self.upper) & (gradient < 0)
            return Face(held=held)
        return Face()


@dataclass(frozen=True)
class Face:
    """A face of the set at a point.

    ``normal`` is the unit normal of the sphere, ``held`` marks the coordinates at a bound.
    ``curvature`` is the multiplier nu of ||x||^2/2 <= radius^2/2: the Lagrangian's Hessian gains nu I.
    """

    normal: np.ndarray | None = None
    held: np.ndarray | None = None
    curvature: float = 0.0

    def tangent(self, v: np.ndarray) -> np.ndarray:
        """The component of v along the face."""
        if self.normal is not None:
            return v - (v @ self.normal) * self.normal
        if self.held is not None:
            return np.where(self.held, 0.0, v)
        return v
