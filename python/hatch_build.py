"""Puts the program into the wheel, and its Go sources into the sdist."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path
from typing import Any

from hatchling.builders.hooks.plugin.interface import BuildHookInterface

# Tags by GOOS/GOARCH. The program is linked statically, so it runs with any libc.
TAGS = {
    "linux/amd64": "manylinux_2_17_x86_64.manylinux2014_x86_64.musllinux_1_1_x86_64",
    "linux/arm64": "manylinux_2_17_aarch64.manylinux2014_aarch64.musllinux_1_1_aarch64",
    "darwin/amd64": "macosx_12_0_x86_64",
    "darwin/arm64": "macosx_12_0_arm64",
    "windows/amd64": "win_amd64",
    "windows/arm64": "win_arm64",
}
SOURCES = ["cmd", "constraints", "cuda", "datasets", "internal", "models", "trainer", "go.mod", "go.sum", "LICENSE", "NOTICE"]


class Program(BuildHookInterface[Any]):
    """Builds the program for GOOS and GOARCH of the environment, or for this machine."""

    def initialize(self, version: str, build_data: dict[str, Any]) -> None:
        here = Path(self.root)
        go = here / "go" if (here / "go").is_dir() else here.parent  # in an sdist; in the repository
        include: dict[str, str] = build_data["force_include"]
        if self.target_name == "sdist":
            for name in SOURCES:
                for file in sorted((go / name).rglob("*")) if (go / name).is_dir() else [go / name]:
                    if file.is_file() and not file.name.endswith("_test.go") and "testdata" not in file.parts:
                        include[str(file)] = str(Path("go") / file.relative_to(go))
            return
        if version == "editable":
            return
        target = "/".join(_output(go, "go", "env", "GOOS", "GOARCH").split())
        program = here.parent / "build" / "wheel" / target / ("ppal.exe" if target.startswith("windows") else "ppal")
        flags = f"-s -w -funcalign=8 -X {_output(go, 'go', 'list', '-m').strip()}/cmd.release={self.metadata.version}"
        subprocess.run(["go", "build", "-trimpath", "-ldflags", flags, "-o", program, "./cmd/ppal"], cwd=go, env={**os.environ, "CGO_ENABLED": "0"}, check=True)
        build_data["pure_python"], build_data["tag"] = False, f"py3-none-{TAGS[target]}"
        build_data["shared_scripts"][str(program)] = program.name
        for name in ("LICENSE", "NOTICE"):
            include[str(go / name)] = f"ppal/{name}"


def _output(folder: Path, *command: str) -> str:
    return subprocess.run(command, cwd=folder, check=True, capture_output=True, text=True).stdout
