"""Takes the CPU time of convolutional networks in PyTorch and in ppal on one thread, in turns.

Run it in the root of the repository: PYTHONPATH=internal python -m peers.convolutions [ROUNDS]
"""

import re
import subprocess
import sys
import time

import torch

PICTURES = 128
NETWORKS = {"16-32": (1, 28), "32-64-128": (3, 32)}


def pytorch(name):
    """Returns the milliseconds of a forward and a backward pass for each picture."""
    channels, side = NETWORKS[name]
    layers, inputs = [], channels
    for filters in map(int, name.split("-")):
        layers += [torch.nn.Conv2d(inputs, filters, 3, padding=1), torch.nn.ReLU(), torch.nn.MaxPool2d(2)]
        inputs = filters
    features = inputs * (side // 2 ** name.count("-") // 2) ** 2
    network = torch.nn.Sequential(*layers, torch.nn.Flatten(), torch.nn.Linear(features, 4))
    pictures, times = torch.rand(PICTURES, channels, side, side), []
    for _ in range(12):
        began = time.process_time()
        network.zero_grad()
        network(pictures).sigmoid().mean().backward()
        times.append(time.process_time() - began)
    return 1e3 * sum(times[2:]) / len(times[2:]) / PICTURES


def ppal(name):
    command = ["go", "test", "./internal/cpu", "-run", "XXX", "-bench", f"Convolution/{name}$", "-benchtime", "10x"]
    return float(re.search(r"([\d.]+) cpu-ms/picture", subprocess.check_output(command, text=True)).group(1))


def main():
    torch.set_num_threads(1)
    for name in NETWORKS:
        for _ in range(int(sys.argv[1]) if len(sys.argv) > 1 else 5):
            ours, theirs = ppal(name), pytorch(name)
            print(f"{name}: ppal {ours:.3f} ms a picture, PyTorch {theirs:.3f}, ratio {ours / theirs:.2f}", flush=True)


if __name__ == "__main__":
    main()
