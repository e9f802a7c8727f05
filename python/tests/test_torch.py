"""`ppal.torch`, where PyTorch is installed."""

from __future__ import annotations

import importlib.util
import re
import unittest
import warnings
from pathlib import Path

import numpy as np
from ppal import InputError, PpalClassifier
from sklearn.exceptions import ConvergenceWarning
from test_ppal import people

README = Path(__file__).parent.parent / "README.md"


@unittest.skipUnless(importlib.util.find_spec("torch"), "PyTorch is not installed")
class Torch(unittest.TestCase):
    def test_the_layers_score_as_the_estimator(self) -> None:
        import torch

        import ppal.torch

        rng = np.random.default_rng(0)
        x = rng.normal(2, 3, size=(300, 8))
        y = x[:, 0] + rng.normal(size=300) > 2
        settings = [{}, {"model": "mlp", "hidden_layer_sizes": (5,)}, {"model": "mlp", "hidden_layer_sizes": (5, 4), "activation": "tanh"}]
        for own in settings:
            with self.subTest(own), warnings.catch_warnings():
                warnings.simplefilter("ignore", ConvergenceWarning)
                model = PpalClassifier(max_iter=20, **own).fit(x, y)
                scores = ppal.torch.head(model)(torch.from_numpy(x))[:, 0].detach().numpy()
                np.testing.assert_allclose(scores, model.decision_function(x), atol=1e-12)
                prepared = torch.from_numpy(model.run_.model.features({f"X{i}": x[:, i] for i in range(8)}))
                np.testing.assert_allclose(ppal.torch.module(model)(prepared)[:, 0].detach().numpy(), scores, atol=1e-12)
        X, _, labels = people(60)
        with self.assertRaisesRegex(InputError, "column 'job' is a category"):
            ppal.torch.head(PpalClassifier(max_iter=1).fit(X, labels))

    def test_the_readme(self) -> None:
        import torch

        torch.manual_seed(0)
        images = torch.rand(300, 1, 8, 8)
        labels = np.where(images.mean((1, 2, 3)).numpy() > 0.5, "cat", "dog")
        names = {"torch": torch, "body": torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(64, 16), torch.nn.Tanh()), "pictures": images, "labels": labels}
        exec(re.findall(r"```python\n(.*?)```", README.read_text(), re.DOTALL)[1], names)
        scores = names["network"](images)[:, 0].detach().numpy()
        decisions = names["model"].classes_[(scores > 0).astype(int)]
        self.assertGreater((decisions == names["model"].predict(names["embeddings"])).mean(), 0.99)


if __name__ == "__main__":
    unittest.main()
