"""JAX: the bare products, and whole iterations under jit."""

from __future__ import annotations

import importlib.metadata

import jax
import jax.numpy as jnp
import numpy as np

from .peer import STEP_SIZE, Peer, Step
from .problem import Problem, Weights

Arrays = list[jax.Array]


def class_losses(weights: Arrays, rows: jax.Array, own: jax.Array, counts: tuple[int, ...], separate: bool) -> jax.Array:
    """L [C]; own [n, C] is 1 at each row's class, which avoids a scatter."""
    hidden, bias, output, output_bias = weights
    if separate:
        output = jax.scipy.linalg.block_diag(*output)
    units = jax.nn.sigmoid(rows @ hidden.T + bias)
    scores = units @ output.T + output_bias
    margins = scores - jnp.sum(scores * own, axis=1, keepdims=True)
    losses = jnp.sum(jax.nn.sigmoid(margins), axis=1) - 0.5  # the own class's term is 1/2
    offsets = np.cumsum([0, *counts])
    return jnp.stack([jnp.mean(losses[low:high]) for low, high in zip(offsets[:-1], offsets[1:], strict=True)])


class JaxPeer(Peer):
    """Contenders: "products by feature", "products by unit", "jit"."""

    def describe(self) -> dict[str, str]:
        versions = {name: importlib.metadata.version(name) for name in ("jax", "jaxlib")}
        return {"JAX": f"{versions['jax']}, jaxlib {versions['jaxlib']}", "device of JAX": str(jax.devices()[0])}

    def _gradient(self, dtype: str, w: list[float]) -> tuple[list[float], Weights]:
        with jax.enable_x64(dtype == "float64"):
            rows, own, start = self._arrays(self.problem, dtype)
            multipliers = jnp.array([1.0, *w], dtype)

            def lagrangian(weights: Arrays) -> tuple[jax.Array, jax.Array]:
                losses = class_losses(weights, rows, own, self.problem.counts, self.problem.heads == "separate")
                return losses @ multipliers, losses

            (_, losses), gradient = jax.jit(jax.value_and_grad(lagrangian, has_aux=True))(start)
            return [float(v) for v in losses], Weights(*map(np.asarray, gradient))

    def _step(self, contender: str) -> Step:
        return self._iteration() if contender == "jit" else self._products(contender)

    def _products(self, contender: str) -> Step:
        x = jnp.asarray(self.problem.rows("float32"))
        units = self.problem.start.hidden.shape[0]
        keys = jax.random.split(jax.random.key(1))
        delta = jax.random.normal(keys[0], (x.shape[0], units))
        if contender == "products by feature":
            weights = jax.random.normal(keys[1], (x.shape[1], units))
            both = jax.jit(lambda x, w, d: (x @ w, x.T @ d))
        else:
            weights = jax.random.normal(keys[1], (units, x.shape[1]))
            both = jax.jit(lambda x, w, d: (x @ w.T, d.T @ x))
        return lambda: jax.block_until_ready(both(x, weights, delta)) and None

    def _iteration(self) -> Step:
        """Forward, backward and a step on f + sum_k g_k, with multipliers 1; the weights are donated."""
        rows, own, start = self._arrays(self.problem, "float32")
        counts, separate = self.problem.counts, self.problem.heads == "separate"

        def update(weights: Arrays, rows: jax.Array, own: jax.Array, multipliers: jax.Array) -> tuple[Arrays, jax.Array]:
            def lagrangian(at: Arrays) -> tuple[jax.Array, jax.Array]:
                losses = class_losses(at, rows, own, counts, separate)
                return losses @ multipliers, losses

            gradient, losses = jax.grad(lagrangian, has_aux=True)(weights)
            return [a - STEP_SIZE * d for a, d in zip(weights, gradient, strict=True)], losses

        compiled = jax.jit(update, donate_argnums=0)
        multipliers = jnp.ones(len(counts))
        state = {"weights": start}

        def step() -> None:
            state["weights"], losses = compiled(state["weights"], rows, own, multipliers)
            jax.block_until_ready((state["weights"], losses))

        return step

    @staticmethod
    def _arrays(problem: Problem, dtype: str) -> tuple[jax.Array, jax.Array, Arrays]:
        """Standardised rows [n, d], own classes [n, C] and the start, on the device."""
        own = np.eye(len(problem.counts), dtype=dtype)[problem.labels]
        return jnp.asarray(problem.rows(dtype)), jnp.asarray(own), [jnp.asarray(a.astype(dtype)) for a in problem.start.arrays()]
