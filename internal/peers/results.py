"""The results in one JSON file, which is replaced atomically after every measurement."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from typing import Any

FORMAT = 2  # version of the file; other versions are not read
PARTS = ("check", "speed", "convergence", "headline")


class Results:
    """The file: for each part its environment, its settings, and its units by name.

    A part that is measured anew replaces the old one. With resume, units that were measured in the same environment with the same
    settings are kept, so that an interrupted run goes on where it stopped.
    """

    def __init__(self, path: Path, resume: bool = False) -> None:
        self.path = path
        self.resume = resume
        self.parts: dict[str, dict] = {}
        self.current: dict = {}  # the open part
        if path.exists() and (stored := json.loads(path.read_text())).get("format") == FORMAT:
            self.parts = stored["parts"]

    def begin(self, part: str, environment: dict, settings: dict) -> None:
        """Open a part."""
        old = self.parts.get(part)
        if self.resume and old and old["environment"] == environment and old["settings"] == settings:
            self.current = old
            return
        self.current = self.parts[part] = {
            "started": datetime.now(timezone.utc).isoformat(timespec="seconds"),
            "load_average": round(os.getloadavg()[0], 2),
            "environment": environment, "settings": settings, "units": {}, "commands": [],
        }  # fmt: skip

    def unit(self, name: str, measure: Callable[[], dict]) -> dict:
        """Return the open part's earlier result of this unit when resuming, else the result of measure."""
        units = self.current["units"]
        if name not in units:
            units[name] = finite(measure())
            self._write()
        return units[name]

    def command(self, line: str) -> None:
        """Record a command line of the open part."""
        self.current["commands"].append(line)

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".tmp")
        ordered = {part: self.parts[part] for part in PARTS if part in self.parts}
        draft.write_text(json.dumps({"format": FORMAT, "parts": ordered}, indent=1, allow_nan=False) + "\n")
        draft.replace(self.path)


def finite(value: Any) -> Any:
    """Convert a value for JSON: numbers that are not finite become null, and keys become strings."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
