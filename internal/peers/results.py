"""What was measured, kept in one JSON file that is replaced whole after every measurement."""

from __future__ import annotations

import json
import os
from collections.abc import Callable
from datetime import datetime, timezone
from math import isfinite
from pathlib import Path
from typing import Any

FORMAT = 1  # of the file; another one is not read
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
        self.current: dict = {}  # the part that is open
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
        """The open part's unit as it was measured before, where that is to be resumed, else what measure returns."""
        units = self.current["units"]
        if name not in units:
            units[name] = finite(measure())
            self._write()
        return units[name]

    def command(self, line: str) -> None:
        """Remember a command line that the open part ran."""
        self.current["commands"].append(line)

    def _write(self) -> None:
        self.path.parent.mkdir(parents=True, exist_ok=True)
        draft = self.path.with_suffix(".tmp")
        ordered = {part: self.parts[part] for part in PARTS if part in self.parts}
        draft.write_text(json.dumps({"format": FORMAT, "parts": ordered}, indent=1, allow_nan=False) + "\n")
        draft.replace(self.path)


def finite(value: Any) -> Any:
    """The value as JSON can hold it: numbers that are not finite become null, keys strings."""
    if isinstance(value, dict):
        return {str(k): finite(v) for k, v in value.items()}
    if isinstance(value, (list, tuple)):
        return [finite(v) for v in value]
    if isinstance(value, float) and not isfinite(value):
        return None
    return value
