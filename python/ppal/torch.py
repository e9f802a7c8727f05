"""The weights of runs as modules of PyTorch."""

from pathlib import Path

import numpy as np
import torch
from sklearn.utils.validation import check_is_fitted

from ._classifier import PpalClassifier
from ._errors import InputError
from ._run import Model

_ACTIVATIONS = {
    "relu": torch.nn.ReLU,
    "tanh": torch.nn.Tanh,
    "sigmoid": torch.nn.Sigmoid,
    "leaky-relu": torch.nn.LeakyReLU,
    "softplus": torch.nn.Softplus,
}


def module(model: PpalClassifier | str | Path) -> torch.nn.Sequential:
    """Return the layers of a model. The input of the first layer is the features, as the encodings of the columns make them.

    Parameters
    ----------
    model : PpalClassifier, str or Path
        A fitted estimator, or the directory of a run on a table.

    Returns
    -------
    torch.nn.Sequential
        The layers in float64, with the names of model.safetensors, a dot replaced by ``_``. The output has the shape (rows, 1), where a
        score above 0 is a positive decision, or (rows, classes).
    """
    own = _model(model)
    layers = torch.nn.Sequential()
    for name, (weight, bias) in zip(own.layers, own.network.layers):
        layer = torch.nn.Linear(weight.shape[1], weight.shape[0], dtype=torch.float64)
        layer.load_state_dict({"weight": torch.tensor(weight), "bias": torch.tensor(bias)})
        layers.add_module(name.replace(".", "_"), layer)
        if name.startswith("hidden"):
            layers.add_module("after_" + name.replace(".", "_"), _ACTIVATIONS[own.network.activation]())
    return layers


def head(model: PpalClassifier | str | Path) -> torch.nn.Sequential:
    """Return the layers of a model of embeddings, for the end of the network that computes the embeddings.

    The first layer contains the centres and scales of the features, so the input is an array as `PpalClassifier.fit` takes it.

    Parameters
    ----------
    model : PpalClassifier, str or Path
        As in `module`. All columns must be numbers without missing values.

    Returns
    -------
    torch.nn.Sequential
        The layers in float64. Call `.float()` for a network in float32.

    Raises
    ------
    InputError
        If a column is a category or has missing values.
    """
    own = _model(model)
    other = next((e["column"] for e in own.encodings if "categories" in e or "missing" in e), None)
    if other is not None:
        raise InputError(f"column {other!r} is a category or has missing values, so there is no layer for raw rows: use module and prepare the rows")
    layers = module(model)
    first = layers[0]
    assert isinstance(first, torch.nn.Linear)
    scale = torch.from_numpy(np.array([float(e["scale"]) for e in own.encodings]))
    center = torch.from_numpy(np.array([float(e.get("center", 0)) for e in own.encodings]))
    with torch.no_grad():
        first.weight.div_(scale)
        first.bias.sub_(first.weight @ center)
    return layers


def _model(model: PpalClassifier | str | Path) -> Model:
    if not isinstance(model, PpalClassifier):
        return Model(Path(model))
    check_is_fitted(model, "run_")
    return model.run_.model
