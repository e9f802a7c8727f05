"""The compared problems."""

from __future__ import annotations

from dataclasses import dataclass, replace

CLASSES = (0, 1, 2, 3)  # the objective is the loss of the first class
FEASIBLE = 1e-3  # a bound counts as met up to this violation, as in ppal
TARGET = 0.0125  # the headline's objective


@dataclass(frozen=True)
class Case:
    """A multi-class Neyman-Pearson problem on images with a network of one sigmoid layer.

    Minimise the first class's loss subject to each other class's loss being at most kappa, weights in a ball.
    """

    name: str
    dataset: str  # fashion-mnist or cifar10
    hidden: int  # units of each head
    heads: str = "shared"  # or separate: a network for each class
    rows_per_class: int = 0  # the first rows of each class; 0 is all
    kappa: float = 0.2
    theta: float | None = 40.0  # radius of the ball ||x|| <= theta over all weights; None means no ball

    @property
    def width(self) -> int:
        """The number of hidden units of all heads."""
        return self.hidden * (len(CLASSES) if self.heads == "separate" else 1)

    def flags(self) -> list[str]:
        """The case as flags of ``ppal train``."""
        ball = ["none"] if self.theta is None else ["ball", "--theta", f"{self.theta:g}"]
        return [
            "--problem", "mnpc", "--dataset", self.dataset, "--classes", ",".join(map(str, CLASSES)),
            "--rows-per-class", str(self.rows_per_class), "--normalize", "standardize",
            "--model", "mlp", "--hidden", str(self.hidden), "--heads", self.heads, "--activation", "sigmoid",
            "--kappa", f"{self.kappa:g}", "--phi", "sigmoid", "--regularizer", *ball,
        ]  # fmt: skip


FASHION = Case("mnpc-fashion-mnist", "fashion-mnist", hidden=256)
FASHION_SEPARATE = replace(FASHION, name="mnpc-fashion-mnist-separate", hidden=64, heads="separate")
CIFAR = Case("mnpc-cifar10", "cifar10", hidden=256, kappa=0.6)
CIFAR_SEPARATE = replace(CIFAR, name="mnpc-cifar10-separate", hidden=64, heads="separate")
FASHION_1000 = replace(FASHION, name="fashion-mnist-1000", hidden=64, rows_per_class=1000)
FASHION_1000_SEPARATE = replace(FASHION_SEPARATE, name="fashion-mnist-1000-separate", rows_per_class=1000)
CIFAR_1000 = replace(CIFAR, name="cifar10-1000", hidden=64, rows_per_class=1000)

TITLES = {
    FASHION.name: "Fashion-MNIST, 4 classes, all rows, width 256",
    FASHION_SEPARATE.name: "Fashion-MNIST, 4 classes, all rows, separate heads 4 x 64",
    CIFAR.name: "CIFAR-10, 4 classes, all rows, width 256",
    CIFAR_SEPARATE.name: "CIFAR-10, 4 classes, all rows, separate heads 4 x 64",
    FASHION_1000.name: "Fashion-MNIST, 4 classes, 1,000 rows of each, width 64",
    FASHION_1000_SEPARATE.name: "Fashion-MNIST, 4 classes, 1,000 rows of each, separate heads 4 x 64",
    CIFAR_1000.name: "CIFAR-10, 4 classes, 1,000 rows of each, width 64",
}
