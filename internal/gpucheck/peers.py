"""PyTorch and JAX on the same GPU: iterations of the problems that ppal is timed on.

Reads a request as JSON from the standard input, {"seconds": S, "cases": [{"name", "kind", "rows", "features", "width", "classes",
"groups", "tf32", "filters", "pooled"}]}, and writes a line of JSON for each case: {"name", "torch", "milliseconds": {contender: median},
"failed": {contender: why}}. The contender "JAX, compiled" is JAX, all others are PyTorch. An iteration is forward, backward and a gradient step. Data are random, of the case's shape.

images: n rows of 8-bit pixels, a network of one sigmoid layer, C classes of equal size; the losses of the classes, their weighted sum.
pictures: n pictures of 3 x 32 x 32, convolutions of 3 x 3 with biases and rectified units, max-pooling after each pooled-th, a dense
layer; the mean square of distances from targets.
groups: n rows of a table, a network of one layer of rectified units, m overlapping groups; f and g_1 .. g_m go to the host, the
weights of the g come back, as in a method with dual variables on the host.
"""

from __future__ import annotations

import gc
import json
import statistics
import sys
import time
from collections.abc import Callable

import torch
from torch.nn import functional

STEP = 1e-3
WARM_UPS = 5
ROUNDS = 7
JAX = "JAX, compiled"


class Images:
    """The classes' losses of a network on pictures, and their sum: the multipliers are given."""

    def __init__(self, case: dict) -> None:
        n, d, units, classes = case["rows"], case["features"], case["width"], case["classes"]
        x = torch.randint(0, 256, (n, d), dtype=torch.uint8, device="cuda").to(torch.float32) / 255
        self.x = (x - x.mean(0)) / x.std()
        self.labels = torch.arange(n, device="cuda").mul(classes).div(n, rounding_mode="floor")[:, None]
        self.classes = classes
        self.weights = torch.ones(classes, device="cuda")
        self.parameters = [
            torch.randn(s, device="cuda").mul(0.05).requires_grad_() for s in ((units, d), (units,), (classes, units), (classes,))
        ]

    def value(self, hidden, bias, output, output_bias):
        units = torch.sigmoid(functional.linear(self.x, hidden, bias))
        scores = functional.linear(units, output, output_bias)
        losses = torch.sigmoid(scores - scores.gather(1, self.labels)).sum(1) - 0.5
        return losses.view(self.classes, -1).mean(1) @ self.weights


class Pictures:
    """The mean square of the distances of a convolutional network's outputs from targets."""

    def __init__(self, case: dict, layout: torch.memory_format = torch.contiguous_format) -> None:
        n, side, channels, self.pooled = case["rows"], 32, 3, case["pooled"]
        self.x = torch.randn(n, channels, side, side, device="cuda").contiguous(memory_format=layout)
        self.targets = torch.randn(n, case["classes"], device="cuda")
        self.parameters = []
        for k, filters in enumerate(case["filters"]):
            w = torch.randn(filters, channels, 3, 3, device="cuda").mul((2 / (9 * channels)) ** 0.5).contiguous(memory_format=layout)
            self.parameters += [w.requires_grad_(), torch.zeros(filters, device="cuda").requires_grad_()]
            channels, side = filters, side // 2 if (k + 1) % self.pooled == 0 else side
        self.parameters.append(torch.randn(channels * side * side, case["classes"], device="cuda").mul(0.01).requires_grad_())

    def value(self, *parameters):
        a = self.x
        for k in range(len(parameters) // 2):
            a = torch.relu(functional.conv2d(a, parameters[2 * k], parameters[2 * k + 1], padding=1))
            if (k + 1) % self.pooled == 0:
                a = functional.max_pool2d(a, 2)
        return (a.flatten(1) @ parameters[-1] - self.targets).square().mean()


class Groups:
    """f and g of a network on a table; M [m, n] has the groups' means as rows."""

    def __init__(self, case: dict) -> None:
        n, d, units, m = case["rows"], case["features"], case["width"], case["groups"]
        self.x = torch.randn(n, d, device="cuda")
        self.y = torch.where(torch.rand(n, 1, device="cuda") < 0.25, 1.0, -1.0)
        members = (torch.rand(m, n, device="cuda") < torch.empty(m, 1, device="cuda").uniform_(0.02, 0.5)).float()
        self.means = torch.cat([torch.full((1, n), 1 / n, device="cuda"), members / members.sum(1, keepdim=True).clamp(min=1)])
        self.weights = torch.full((m + 1,), 1 / m, device="cuda")
        self.values_on_host = torch.empty(m + 1).pin_memory()
        self.weights_on_host = torch.full((m + 1,), 1 / m).pin_memory()
        self.parameters = [torch.randn(s, device="cuda").mul(0.05).requires_grad_() for s in ((units, d), (units,), (1, units), (1,))]

    def values(self, hidden, bias, output, output_bias):
        scores = functional.linear(torch.relu(functional.linear(self.x, hidden, bias)), output, output_bias)
        means = self.means @ torch.relu(1 - self.y * scores)
        return torch.cat([means[:1], means[1:] - means[:1]]).squeeze(1)

    def exchange(self, values) -> None:
        """f and g to the host, the weights to the device."""
        self.values_on_host.copy_(values, non_blocking=True)
        torch.cuda.synchronize()
        self.weights_on_host[1:] = self.values_on_host[1:].clamp(min=0)
        self.weights.copy_(self.weights_on_host, non_blocking=True)


@torch.no_grad()
def descend(parameters: list, gradients: list) -> None:
    torch._foreach_add_(parameters, gradients, alpha=-STEP)


def eager(problem: Images | Pictures | Groups, values: Callable) -> Callable[[], None]:
    """An iteration of PyTorch as it is written."""

    def images() -> None:
        descend(problem.parameters, torch.autograd.grad(values(*problem.parameters), problem.parameters))

    def groups() -> None:
        out = values(*problem.parameters)
        problem.exchange(out.detach())
        descend(problem.parameters, torch.autograd.grad(out, problem.parameters, grad_outputs=problem.weights))

    return groups if isinstance(problem, Groups) else images


def on_side_stream(work: Callable[[], None]) -> None:
    """Warm up as captures ask for."""
    side = torch.cuda.Stream()
    side.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(side):
        for _ in range(WARM_UPS):
            work()
    torch.cuda.current_stream().wait_stream(side)


def captured(problem: Images | Pictures | Groups) -> Callable[[], None]:
    """An iteration as CUDA graphs: one, or one on either side of the exchange with the host."""
    gc.collect()  # a garbage collection during the capture may free device memory, and the capture then fails
    if not isinstance(problem, Groups):
        iteration = eager(problem, problem.value)
        on_side_stream(iteration)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph, capture_error_mode="relaxed"):
            iteration()
        return graph.replay
    on_side_stream(eager(problem, problem.values))
    forward, backward = torch.cuda.CUDAGraph(), torch.cuda.CUDAGraph()
    with torch.cuda.graph(forward, capture_error_mode="relaxed"):
        out = problem.values(*problem.parameters)
    with torch.cuda.graph(backward, pool=forward.pool(), capture_error_mode="relaxed"):
        descend(problem.parameters, torch.autograd.grad(out, problem.parameters, grad_outputs=problem.weights))
    values = out.detach()

    def iteration() -> None:
        forward.replay()
        problem.exchange(values)
        backward.replay()

    return iteration


def contenders(problem: Images | Pictures | Groups) -> dict[str, Callable[[], Callable[[], None]]]:
    """Functions that prepare an iteration of each contender.

    The capture precedes compiled code, because an error there makes a later capture fail.
    """
    values = problem.values if isinstance(problem, Groups) else problem.value
    return {
        "eager": lambda: eager(problem, values),
        "captured": lambda: captured(problem),
        "compiled": lambda: eager(problem, torch.compile(values, dynamic=False)),
        "compiled, CUDA graphs": lambda: eager(problem, torch.compile(values, dynamic=False, mode="reduce-overhead")),
    }


def jax_iteration(case: dict) -> tuple[Callable[[], None], Callable[[], None]]:
    """An iteration of JAX, compiled as one function (for groups: one on either side of the exchange), and the wait for its end."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    jax.config.update("jax_default_matmul_precision", "tensorfloat32" if case["tf32"] else "float32")
    n, d, units = case["rows"], case["features"], case["width"]
    images = case["kind"] == "images"
    outputs = case["classes"] if images else 1
    rng = np.random.default_rng(1)
    shapes = ((units, d), (units,), (outputs, units), (outputs,))
    state = {"x": [jnp.asarray(0.05 * rng.standard_normal(s), jnp.float32) for s in shapes]}

    def scores(x, rows, activation):
        return activation(rows @ x[0].T + x[1]) @ x[2].T + x[3]

    def descended(x, gradient):
        return [a - STEP * g for a, g in zip(x, gradient, strict=True)]

    if images:
        rows = rng.integers(0, 256, (n, d), np.uint8).astype(np.float32) / 255
        rows = jnp.asarray((rows - rows.mean(0)) / rows.std())
        own = jax.nn.one_hot(np.arange(n) * outputs // n, outputs)

        def value(x, rows, own):
            s = scores(x, rows, jax.nn.sigmoid)
            losses = jax.nn.sigmoid(s - jnp.sum(s * own, 1, keepdims=True)).sum(1) - 0.5
            return losses.reshape(outputs, -1).mean(1).sum()

        step = jax.jit(lambda x, rows, own: descended(x, jax.grad(value)(x, rows, own)), donate_argnums=0)

        def iteration() -> None:
            state["x"] = step(state["x"], rows, own)

    else:
        rows = jnp.asarray(rng.standard_normal((n, d)), jnp.float32)
        y = jnp.asarray(np.where(rng.random((n, 1)) < 0.25, 1.0, -1.0), jnp.float32)
        members = (rng.random((case["groups"], n)) < rng.uniform(0.02, 0.5, (case["groups"], 1))).astype(np.float32)
        means = np.concatenate([np.full((1, n), 1 / n, np.float32), members / members.sum(1, keepdims=True).clip(1)])
        means = jnp.asarray(means)

        def values(x, rows, y, means):
            m = (means @ jax.nn.relu(1 - y * scores(x, rows, jax.nn.relu)))[:, 0]
            return jnp.concatenate([m[:1], m[1:] - m[:1]])

        forward = jax.jit(values)
        weighted = jax.grad(lambda x, rows, y, means, w: values(x, rows, y, means) @ w)
        step = jax.jit(lambda x, rows, y, means, w: descended(x, weighted(x, rows, y, means, w)), donate_argnums=0)

        def iteration() -> None:
            w = np.asarray(forward(state["x"], rows, y, means)).clip(0)
            w[0] = 1
            state["x"] = step(state["x"], rows, y, means, w)

    def wait() -> None:
        jax.block_until_ready(state["x"])

    return iteration, wait


def clock(iteration: Callable[[], None], seconds: float, wait: Callable[[], None] = torch.cuda.synchronize) -> float:
    """Milliseconds of an iteration, over about so many seconds, without waiting between iterations."""
    wait()
    count, began = 0, time.perf_counter()
    while time.perf_counter() - began < seconds:
        for _ in range(10):
            iteration()
        wait()
        count += 10
    return 1e3 * (time.perf_counter() - began) / count


def measure(case: dict, seconds: float) -> dict:
    """The contenders take turns; the median of each one's turns counts."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = case["tf32"]
    torch.backends.cudnn.benchmark = True
    torch._dynamo.reset()
    problem = {"images": Images, "pictures": Pictures, "groups": Groups}[case["kind"]](case)
    rivals, ready, failed = contenders(problem), {}, {}
    if case["kind"] == "pictures":
        last = Pictures(case, torch.channels_last)
        rivals |= {f"{name}, channels last": prepare for name, prepare in contenders(last).items() if name in ("eager", "captured")}
    for name, prepare in rivals.items():
        try:
            iteration = prepare()
            for _ in range(WARM_UPS):
                iteration()
            torch.cuda.synchronize()
            ready[name] = iteration
        except Exception as error:  # one that does not run here does not take the others with it
            failed[name] = f"{type(error).__name__}: {error}".splitlines()[0]
    times = {name: [] for name in ready}
    for turn in range(ROUNDS):
        for name in list(ready) if turn % 2 == 0 else reversed(list(ready)):
            times[name].append(clock(ready[name], seconds / ROUNDS / max(len(ready), 1)))
    try:  # after PyTorch's turns, because JAX compiles and keeps memory
        if case["kind"] == "pictures":
            raise NotImplementedError("not written for pictures")
        iteration, wait = jax_iteration(case)
        for _ in range(WARM_UPS):
            iteration()
        times[JAX] = [clock(iteration, seconds / ROUNDS / (len(ready) + 1), wait) for _ in range(ROUNDS)]
    except Exception as error:
        failed[JAX] = f"{type(error).__name__}: {error}".splitlines()[0]
    return {
        "name": case["name"],
        "torch": torch.__version__,
        "milliseconds": {name: statistics.median(t) for name, t in times.items()},
        "failed": failed,
    }


def main() -> None:
    request = json.load(sys.stdin)
    if not torch.cuda.is_available():
        sys.exit("PyTorch finds no GPU")
    for case in request["cases"]:
        print(json.dumps(measure(case, request["seconds"])), flush=True)


if __name__ == "__main__":
    main()
