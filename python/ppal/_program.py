"""Starts the program `ppal` that the wheel carries."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from pathlib import Path
from typing import IO, Any, Callable

from ._errors import InputError, MissingProgramError, ProgramError, TrainingError, in_python

VARIABLE = "PPAL_PROGRAM"
DONE, USAGE, UNMET, BUG, INTERRUPTED = 0, 2, 3, 70, 130
_STOP = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)  # the first is Windows's
Report = Callable[[dict[str, Any]], None]


def program() -> Path:
    """Return the path of the program: the value of the variable PPAL_PROGRAM, or the program in the wheel.

    Raises
    ------
    MissingProgramError
        If there is no such file.
    """
    own = Path(__file__).parent / "bin" / ("ppal.exe" if sys.platform == "win32" else "ppal")
    path = Path(os.environ.get(VARIABLE) or own)
    if not path.is_file():
        raise MissingProgramError(
            f"the program {path} does not exist: install a wheel of ppal for this platform, or build the program (make build) and set {VARIABLE} to its path"
        )
    return path


def main() -> int:
    """Run the program with the arguments of this process: the command `ppal` of the wheel."""
    arguments = [str(program()), *sys.argv[1:]]
    if sys.platform == "win32":
        return subprocess.call(arguments)
    os.execv(arguments[0], arguments)


def call(*arguments: str, names: dict[str, str] | None = None, report: Report | None = None) -> tuple[int, str]:
    """Run the program and wait for its end.

    The first Ctrl-C stops the training after its step, and the program writes its files. The second Ctrl-C kills the program.

    Parameters
    ----------
    *arguments : str
        The command and its flags.
    names : dict of str to str, optional
        The words that replace the paths of files: see `in_python`.
    report : callable, optional
        Called on another thread with each line of the program's log, as a dict.

    Returns
    -------
    status : int
        0, or 3 if a constraint is not met.
    text : str
        The line that the program printed about the constraint, in Python's words.

    Raises
    ------
    InputError, TrainingError, ProgramError, MissingProgramError
        With the program's line.
    KeyboardInterrupt
        After Ctrl-C, when the program has written its files.
    """
    # The program has its own process group, so that it does not receive a Ctrl-C twice: from the terminal and from this function.
    group: dict[str, Any] = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
    try:
        process = subprocess.Popen(
            [str(program()), *arguments], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True, encoding="utf-8", **group
        )
    except OSError as e:
        raise MissingProgramError(f"{program()} does not run: {e.strerror}: install the wheel of this platform") from e
    lines: list[str] = []
    assert process.stderr is not None
    reader = threading.Thread(target=_read, args=(process.stderr, lines, report), daemon=True)
    reader.start()
    presses = 0
    try:
        while True:
            try:
                status = process.wait()
                break
            except KeyboardInterrupt:
                presses += 1
                if presses > 1:
                    process.kill()
                else:
                    process.send_signal(_STOP)
    finally:
        if process.poll() is None:  # another exception, as of a signal handler of the caller
            process.kill()
    reader.join()
    first = next((i for i, line in enumerate(lines) if line.startswith("ppal: ")), None)
    text = in_python("\n".join(lines[first:] if first is not None else lines[-20:]), names)
    if presses or status == INTERRUPTED:
        raise KeyboardInterrupt(text)
    if status in (DONE, UNMET):
        return status, text
    if status < 0 or status == BUG or first is None:
        raise ProgramError(text or f"the program ended with status {status}; a negative status is the signal that killed it")
    raise InputError(text) if status == USAGE else TrainingError(text)


def _read(stream: IO[str], lines: list[str], report: Report | None) -> None:
    with stream:
        for line in stream:
            line = line.rstrip("\n")
            if not line.startswith("{"):
                lines.append(line)
            elif report:
                report(json.loads(line))


class Progress:
    """Shows the progress of a training: a bar of tqdm if tqdm is installed, else lines."""

    def __init__(self) -> None:
        try:
            from tqdm.auto import tqdm
        except ImportError:
            self._bar = None
        else:
            self._bar = tqdm(unit="it", leave=False)

    def __call__(self, line: dict[str, Any]) -> None:
        """Show a line of the program's log."""
        if "iteration" not in line:
            if self._bar is None:
                print(line.get("msg", ""))
            return
        values = {k: line[k] for k in ("objective", "max_violation", "epsilon")}
        if self._bar is None:
            print(f"iteration {line['iteration']} of {line['of']}: {values}")
            return
        self._bar.total, self._bar.n = line["of"], line["iteration"]
        self._bar.set_postfix(values)

    def close(self) -> None:
        """Remove the bar."""
        if self._bar is not None:
            self._bar.close()
