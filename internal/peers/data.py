"""Pixels and labels of Fashion-MNIST and CIFAR-10 from their published file formats, or random pixels of the same shape."""

from __future__ import annotations

import gzip
import os
import platform
from collections.abc import Sequence
from pathlib import Path

import numpy as np

from .cases import CLASSES

FASHION_IMAGES = "fashion-mnist/{part}-images-idx3-ubyte"
FASHION_LABELS = "fashion-mnist/{part}-labels-idx1-ubyte"
CIFAR_TRAIN = [f"cifar-10-batches-bin/data_batch_{i}.bin" for i in range(1, 6)]
CIFAR_TEST = "cifar-10-batches-bin/test_batch.bin"
CIFAR_PIXELS = 3 * 32 * 32


class DataError(Exception):
    """A data set's files are absent or have the wrong format."""


def directory(explicit: str | None) -> Path:
    """The data directory as ppal finds it: the flag, $PPAL_DATA, or ppal in the user's cache directory."""
    if explicit:
        return Path(explicit)
    if os.environ.get("PPAL_DATA"):
        return Path(os.environ["PPAL_DATA"])
    if platform.system() == "Darwin":
        return Path.home() / "Library" / "Caches" / "ppal"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "ppal"


def read(dataset: str, folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """The training split: pixels [n, d] in 8 bits and labels [n]. Raise DataError if a file is absent or malformed."""
    return _read_fashion(folder) if dataset == "fashion-mnist" else _read_cifar(folder)


def select(pixels: np.ndarray, labels: np.ndarray, rows_per_class: int) -> tuple[np.ndarray, tuple[int, ...]]:
    """The first rows of each class (0: all), grouped by class in the order of CLASSES, and how many each has."""
    rows = [np.flatnonzero(labels == c)[: rows_per_class or None] for c in CLASSES]
    if not all(len(r) for r in rows):
        raise DataError(f"a class of {list(CLASSES)} has no rows")
    return pixels[np.concatenate(rows)], tuple(len(r) for r in rows)


def synthesise(dataset: str, folder: Path, seed: int) -> None:
    """Write random 8-bit images in the data set's own file format: as many rows and columns of the four classes."""
    rng = np.random.default_rng(seed)

    def draw(per_class: int, size: int) -> tuple[np.ndarray, np.ndarray]:
        labels = np.repeat(np.array(CLASSES, np.uint8), per_class)
        return rng.integers(0, 256, (len(labels), size), dtype=np.uint8), labels

    if dataset == "fashion-mnist":
        (folder / "fashion-mnist").mkdir(parents=True, exist_ok=True)
        for part, per_class in (("train", 6000), ("t10k", 10)):
            pixels, labels = draw(per_class, 784)
            _write_idx(folder / (FASHION_IMAGES.format(part=part) + ".gz"), (len(labels), 28, 28), pixels)
            _write_idx(folder / (FASHION_LABELS.format(part=part) + ".gz"), (len(labels),), labels)
        return
    (folder / "cifar-10-batches-bin").mkdir(parents=True, exist_ok=True)
    for name, per_class in [(n, 1000) for n in CIFAR_TRAIN] + [(CIFAR_TEST, 10)]:
        pixels, labels = draw(per_class, CIFAR_PIXELS)
        (folder / name).write_bytes(np.column_stack([labels, pixels]).tobytes())


def _read_fashion(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    pixels = _read_idx(folder / FASHION_IMAGES.format(part="train"))
    labels = _read_idx(folder / FASHION_LABELS.format(part="train"))
    if len(pixels) != len(labels):
        raise DataError(f"{folder / 'fashion-mnist'}: {len(pixels)} pictures but {len(labels)} labels")
    return pixels.reshape(len(pixels), -1), labels


def _read_idx(path: Path) -> np.ndarray:
    """An IDX file of unsigned bytes, gzip or not: 0, 0, 8, the number of dimensions, each as 4 bytes big-endian, data."""
    packed = path.with_name(path.name + ".gz")
    try:
        content = gzip.decompress(packed.read_bytes()) if packed.exists() else path.read_bytes()
    except OSError as error:
        raise DataError(f"{packed}: {error.strerror or error}") from error
    if len(content) < 4 or content[:3] != b"\0\0\x08":
        raise DataError(f"{path}: not an IDX file of unsigned bytes")
    start = 4 + 4 * content[3]
    shape = tuple(int(n) for n in np.frombuffer(content[4:start], ">u4"))
    values = np.frombuffer(content, np.uint8, offset=start)
    if len(values) != np.prod(shape):
        raise DataError(f"{path}: {len(values)} bytes of data, its header says {shape}")
    return values.reshape(shape)


def _write_idx(path: Path, shape: Sequence[int], values: np.ndarray) -> None:
    header = bytes([0, 0, 8, len(shape)]) + np.array(shape, ">u4").tobytes()
    path.write_bytes(gzip.compress(header + values.tobytes(), compresslevel=1))


def _read_cifar(folder: Path) -> tuple[np.ndarray, np.ndarray]:
    """Binary batches: a record is the label's byte and 3,072 pixels."""
    records = []
    for name in CIFAR_TRAIN:
        try:
            content = np.fromfile(folder / name, np.uint8)
        except OSError as error:
            raise DataError(f"{folder / name}: {error.strerror or error}") from error
        if len(content) == 0 or len(content) % (1 + CIFAR_PIXELS):
            raise DataError(f"{folder / name}: {len(content)} bytes is not a multiple of {1 + CIFAR_PIXELS}")
        records.append(content.reshape(-1, 1 + CIFAR_PIXELS))
    batch = np.concatenate(records)
    return batch[:, 1:], batch[:, 0]
