"""Reading a safetensors file: 8 bytes little-endian with the header's length, the header in JSON, the tensors' bytes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

DTYPES = {"F32": "<f4", "F64": "<f8"}


def read(path: Path) -> tuple[dict[str, np.ndarray], dict[str, str]]:
    """The tensors by name, in float64, and the metadata."""
    content = path.read_bytes()
    end = 8 + int.from_bytes(content[:8], "little")
    header = json.loads(content[8:end])
    metadata = header.pop("__metadata__", {})
    tensors = {}
    for name, entry in header.items():
        low, high = entry["data_offsets"]
        values = np.frombuffer(content[end + low : end + high], DTYPES[entry["dtype"]])
        tensors[name] = values.reshape(entry["shape"]).astype(np.float64)
    return tensors, metadata
