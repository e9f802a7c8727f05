"""The machine and its software, as recorded with every result."""

from __future__ import annotations

import hashlib
import os
import platform
import shutil
import subprocess
from collections.abc import Collection
from pathlib import Path

FEATURES = ("avx2", "fma", "avx512f", "avx512_vnni", "avx512_bf16", "avx_vnni", "amx_tile", "amx_int8", "amx_bf16")


def describe(threads: int, ppal_version: str, binary: Path, device: str = "cpu") -> dict[str, str]:
    """CPU, GPU if it is used, threads, operating system, Python, compiler and the ppal binary."""
    compiler = next((c for c in ("c++", "g++", "clang++") if shutil.which(c)), None)
    return {
        "CPU": _cpu(),
        "AMX": amx(_flags()),
        **({} if device == "cpu" else {"GPU": _gpu()}),
        "threads": f"{threads} of {os.cpu_count()} cores",
        "system": f"{platform.system()} {platform.release()} {platform.machine()}",
        "Python": platform.python_version(),
        "C++ compiler": compiler or "none",
        "ppal": f"{ppal_version}, sha256 {hashlib.sha256(binary.read_bytes()).hexdigest()[:12]}",
    }


def restrict(threads: int) -> int:
    """Bind this process and its children to the given number of cores (0: all). Return the number of cores.

    Elsewhere than on Linux processes cannot be bound: only the libraries' own settings apply.
    """
    if not hasattr(os, "sched_setaffinity"):
        return threads or os.cpu_count() or 1
    cores = sorted(os.sched_getaffinity(0))
    if 0 < threads < len(cores):
        cores = cores[:threads]
        os.sched_setaffinity(0, cores)
    return len(cores)


def amx(flags: Collection[str]) -> str:
    """Which products of tiles the CPU and the operating system announce. A process may still be refused them."""
    if "amx_tile" not in flags:
        return "none"
    kinds = {"amx_int8": "8-bit integers", "amx_bf16": "bfloat16"}
    return ", ".join(kind for flag, kind in kinds.items() if flag in flags) or "tiles without products"


def _gpu() -> str:
    """The names of the GPUs and the driver's version."""
    try:
        query = ["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"]
        return "; ".join(subprocess.run(query, capture_output=True, text=True, check=True).stdout.splitlines())
    except (OSError, subprocess.CalledProcessError):
        return "unknown (nvidia-smi failed)"


def _fields() -> dict[str, str]:
    """The properties of the last core in /proc/cpuinfo; none elsewhere than on Linux."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return {}
    return {key.strip(): value.strip() for key, _, value in (line.partition(":") for line in lines)}


def _flags() -> list[str]:
    """The CPU's features."""
    return _fields().get("flags", "").split()


def _cpu() -> str:
    """The CPU's name and the features by which libraries choose their kernels."""
    fields, flags = _fields(), _flags()
    if not fields:
        return platform.processor() or platform.machine()
    ids = ", ".join(f"{k} {fields[k]}" for k in ("cpu family", "model") if k in fields)
    return f"{fields.get('model name', platform.machine())} ({ids}; {' '.join(f for f in FEATURES if f in flags)})"
