"""Check that PyTorch and package models read each other's model files.

    pip install torch numpy safetensors      (any recent version, no GPU)
    python pytorch.py make     write pytorch_*.safetensors and pytorch.json, which the Go tests read
    python pytorch.py check    load the files that the Go tests wrote (go test ./models -run Golden -update),
                               ppal_*.safetensors and ppal.json, and compare the scores

The JSON files hold, for each model, its description, some rows and their scores.
"""

import json
import math
import sys

import torch
from safetensors.torch import load_file, save_file
from torch import nn

ACTIVATIONS = {
    "sigmoid": torch.sigmoid,
    "relu": torch.relu,
    "tanh": torch.tanh,
    "leaky-relu": nn.functional.leaky_relu,
    "softplus": nn.functional.softplus,
}


class Net(nn.Module):
    """One network; its layers are named as Spec.Parameters says."""

    def __init__(self, inputs, hidden, outputs, activation):
        super().__init__()
        self.activation = ACTIVATIONS[activation]
        widths = [inputs, *hidden]
        layers = [nn.Linear(a, b) for a, b in zip(widths, hidden)]
        if not hidden:
            self.linear = nn.Linear(inputs, outputs)
            return
        self.hidden = layers[0] if len(hidden) == 1 else nn.ModuleList(layers)
        self.output = nn.Linear(widths[-1], outputs)

    def forward(self, x):
        if hasattr(self, "linear"):
            return self.linear(x)
        for layer in self.hidden if isinstance(self.hidden, nn.ModuleList) else [self.hidden]:
            x = self.activation(layer(x))
        return self.output(x)


class Separate(nn.Module):
    """One network per class."""

    def __init__(self, inputs, hidden, outputs, activation):
        super().__init__()
        self.head = nn.ModuleList(Net(inputs, hidden, 1, activation) for _ in range(outputs))

    def forward(self, x):
        return torch.cat([net(x) for net in self.head], dim=1)


def norm(channels):
    return nn.GroupNorm(math.gcd(channels, 8), channels)


class Pictures(nn.Module):
    """A network for pictures: its features, then the layers of a network."""

    def __init__(self, picture, activation):
        super().__init__()
        self.picture, self.activation = picture, ACTIVATIONS[activation]

    def end(self, hidden, outputs, activation):
        x = torch.zeros(1, math.prod(self.picture.values()))
        net = Net(self.features(self.shaped(x)).numel(), hidden or [], outputs, activation)
        if hidden:
            self.hidden, self.output = net.hidden, net.output
        else:
            self.output = net.linear
        self.dense = [net]  # not registered: the layers have their names above

    def shaped(self, x):
        return x.reshape(-1, *(self.picture[k] for k in ("channels", "height", "width")))

    def forward(self, x):
        return self.dense[0](self.features(self.shaped(x)).flatten(1))


class Conv(Pictures):
    """Blocks of convolution and pooling, named as Conv.Parameters says."""

    def __init__(self, picture, channels, pool, hidden, outputs, activation, stride=0, norm="none"):
        super().__init__(picture, activation)
        self.pool = {"max": nn.MaxPool2d(2), "average": nn.AvgPool2d(2), "none": nn.Identity()}[pool]
        widths, stride = [picture["channels"], *channels], stride or (2 if pool == "none" else 1)
        self.conv = nn.ModuleList(nn.Conv2d(a, b, 3, stride, padding=1, bias=norm == "none") for a, b in zip(widths, channels))
        self.norm = nn.ModuleList(globals()["norm"](n) for n in channels if norm == "group")
        self.end(hidden, outputs, activation)

    def features(self, x):
        for k, conv in enumerate(self.conv):
            x = conv(x)
            if self.norm:
                x = self.norm[k](x)
            x = self.pool(self.activation(x))
        return x


class Block(nn.Module):
    """torchvision's BasicBlock with another activation."""

    def __init__(self, inputs, channels, stride, activation):
        super().__init__()
        self.activation = activation
        self.conv1, self.bn1 = nn.Conv2d(inputs, channels, 3, stride, padding=1, bias=False), norm(channels)
        self.conv2, self.bn2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False), norm(channels)
        self.downsample = nn.Identity()
        if stride > 1 or inputs != channels:
            self.downsample = nn.Sequential(nn.Conv2d(inputs, channels, 1, stride, bias=False), norm(channels))

    def forward(self, x):
        y = self.bn2(self.conv2(self.activation(self.bn1(self.conv1(x)))))
        return self.activation(y + self.downsample(x))


class ResNet(Pictures):
    """A residual network, named as ResNet.Parameters says."""

    def __init__(self, picture, channels, hidden, outputs, activation, blocks=1):
        super().__init__(picture, activation)
        self.conv1, self.bn1 = nn.Conv2d(picture["channels"], channels[0], 3, padding=1, bias=False), norm(channels[0])
        self.stages, inputs = len(channels), channels[0]
        for i, n in enumerate(channels):
            stage = [Block(inputs if k == 0 else n, n, 2 if i > 0 and k == 0 else 1, self.activation) for k in range(blocks)]
            setattr(self, f"layer{i + 1}", nn.Sequential(*stage))
            inputs = n
        self.end(hidden, outputs, activation)

    def features(self, x):
        x = self.activation(self.bn1(self.conv1(x)))
        for i in range(self.stages):
            x = getattr(self, f"layer{i + 1}")(x)
        return x.mean((2, 3))


def module(model):
    if "picture" in model:
        return (ResNet if "blocks" in model else Conv)(**model)
    kind = Separate if model["heads"] == "separate" else Net
    return kind(model["inputs"], model["hidden"] or [], model["outputs"], model["activation"])


MODELS = {
    "linear": dict(inputs=5, hidden=[], outputs=3, activation="sigmoid", heads="shared"),
    "two_layer": dict(inputs=6, hidden=[8], outputs=4, activation="sigmoid", heads="shared"),
    "deep": dict(inputs=4, hidden=[5, 3], outputs=2, activation="relu", heads="shared"),
    "separate": dict(inputs=4, hidden=[3], outputs=3, activation="tanh", heads="separate"),
    "conv": dict(picture=dict(channels=2, height=7, width=5), channels=[3, 4], pool="max", hidden=[6], outputs=3, activation="tanh"),
    "conv_average": dict(picture=dict(channels=1, height=5, width=4), channels=[2], pool="average", hidden=[], outputs=2, activation="relu"),
    "conv_norm": dict(
        picture=dict(channels=2, height=7, width=5), channels=[4, 12], pool="none", stride=2, norm="group", hidden=[3], outputs=2, activation="leaky-relu"
    ),
    "resnet": dict(picture=dict(channels=2, height=7, width=5), channels=[4, 6], blocks=2, hidden=[], outputs=3, activation="softplus"),
}


@torch.no_grad()
def make():
    torch.manual_seed(1)
    cases = {}
    for name, model in MODELS.items():
        net = module(model)
        if name != "two_layer":  # PyTorch's default is float32; the others are float64
            net = net.double()
        save_file(net.state_dict(), f"pytorch_{name}.safetensors")
        rows = torch.randn(4, model.get("inputs") or math.prod(model["picture"].values()), dtype=torch.float64)
        cases[name] = dict(model=model, rows=rows.tolist(), scores=net.double()(rows).tolist())
    with open("pytorch.json", "w") as f:
        json.dump(cases, f, indent=1)
        f.write("\n")


@torch.no_grad()
def check():
    with open("ppal.json") as f:
        cases = json.load(f)
    for name, case in cases.items():
        weights = load_file(f"ppal_{name}.safetensors")
        dtype = next(iter(weights.values())).dtype
        net = module(case["model"]).to(dtype)
        net.load_state_dict(weights, strict=True)
        scores = net.double()(torch.tensor(case["rows"], dtype=torch.float64))
        error = (scores - torch.tensor(case["scores"], dtype=torch.float64)).abs().max().item()
        print(f"{name}: {dtype}, {len(weights)} tensors, largest difference {error:.1e}")
        if not error < 1e-14:
            sys.exit(f"{name}: scores differ")


if __name__ == "__main__":
    {"make": make, "check": check}[sys.argv[1]]()
