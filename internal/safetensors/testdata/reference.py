"""Writes reference.safetensors with the reference implementation.

    pip install numpy safetensors
    python reference.py

The values are exact in both types; safetensors_test.go states them again.
"""

import numpy as np
from safetensors.numpy import save_file

save_file(
    {
        "weight": np.array([[1.5, -2.0, 0.25], [0.0, 3.0, -0.125]], np.float32),
        "bias": np.array([0.1, -0.2], np.float64),
        "scalar": np.array(7.0, np.float32),
        "empty": np.zeros((0, 3), np.float64),
        'né "quoted" <&>': np.array([1.0], np.float32),
    },
    "reference.safetensors",
    metadata={"format": "np <&> é"},
)
