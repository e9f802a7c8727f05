"""The process of one peer: reads calls as lines of JSON from stdin and answers each with a line.

    {"call": "time", "arguments": {...}}   ->   {"result": ...} or {"error": "why"}

One process for each library, so that no thread pool meets another one's and no library's settings another's.
"""

from __future__ import annotations

import importlib
import json
import os
import sys
import traceback
from typing import Any, TextIO

PEERS = {
    "numpy": ("numpy_peer", "NumpyPeer"),
    "onednn": ("onednn_peer", "OneDNNPeer"),
    "torch": ("torch_peer", "TorchPeer"),
    "jax": ("jax_peer", "JaxPeer"),
    "cooper": ("cooper_peer", "CooperPeer"),
    "augmented-lagrangian": ("solver_peer", "LagrangianPeer"),
    "ipopt": ("solver_peer", "IpoptPeer"),
    "fairlearn": ("decisions.fairness", "FairlearnPeer"),
    "trees": ("decisions.trees", "TreesPeer"),
    "thresholds": ("decisions.thresholds", "ThresholdsPeer"),
    "proxy-lagrangian": ("decisions.games", "ProxyLagrangianPeer"),
    "cooper-proxy": ("decisions.proxies", "CooperProxyPeer"),
}


def answer(peer: Any, line: str) -> dict:
    """Carry out one call of a public method."""
    request = json.loads(line)
    try:
        return {"result": getattr(peer, request["call"])(**request["arguments"])}
    except Exception as error:  # a failed call is a result too: the parent reports it
        traceback.print_exc()
        return {"error": summary(error)}


def summary(error: BaseException) -> str:
    """The error in one line."""
    return f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"


def own_stdout() -> TextIO:
    """Return stdout for the replies alone: what libraries print goes to stderr from now on."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    return replies


def main(name: str, threads: int, *options: str) -> None:
    """Serve until stdin closes. Output of libraries goes to stderr."""
    replies = own_stdout()
    module, kind = PEERS[name]
    try:
        peer = getattr(importlib.import_module(f".{module}", __package__), kind)(threads, *options)
        reply = {"result": peer.describe()}
    except Exception as error:
        traceback.print_exc()
        reply = {"error": summary(error)}
        peer = None
    print(json.dumps(reply), file=replies, flush=True)
    for line in sys.stdin if peer else ():
        print(json.dumps(answer(peer, line)), file=replies, flush=True)


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), *sys.argv[3:])
