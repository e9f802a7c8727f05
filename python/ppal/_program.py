"""Starts the program `ppal` that the wheel carries."""

import json
import os
import signal
import subprocess
import sys
import sysconfig
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import files
from importlib.util import find_spec
from pathlib import Path
from typing import IO, Any, Callable

from ._data import Columns, store
from ._errors import InputError, MissingProgramError, ProgramError, TrainingError, in_python

VARIABLE = "PPAL_PROGRAM"
DONE, USAGE, UNMET, BUG, INTERRUPTED = 0, 2, 3, 70, 130
_STOP = getattr(signal, "CTRL_BREAK_EVENT", signal.SIGINT)  # the first is Windows's
Report = Callable[[dict[str, Any]], None]


def program() -> Path:
    """Return the path of the program: the value of the variable PPAL_PROGRAM, or the command that the wheel installed.

    Raises
    ------
    MissingProgramError
        If there is no such file.
    """
    name = "ppal" + (sysconfig.get_config_var("EXE") or "")
    listed = [Path(str(f.locate())) for f in files("ppal") or [] if f.name == name]
    installed = (p for p in [*listed, Path(__file__).parents[1] / "bin" / name] if p.is_file())  # the last is that of pip install --target
    path = Path(os.environ.get(VARIABLE) or next(installed, name))
    if not path.is_file():
        raise MissingProgramError(
            f"the program {path} does not exist: install a wheel of ppal for this platform, or build the program (make build) and set {VARIABLE} to its path"
        )
    return path


def start(command: str, data: Columns, settings: dict[str, Any], out: Path, *flags: str, report: Report | None = None) -> str:
    """Run ``ppal train`` or ``ppal sweep``, wait for its end, and leave the results in the directory `out`.

    The first Ctrl-C stops the training after its step, and the program writes its files. The second Ctrl-C kills the program.

    Parameters
    ----------
    command : {"train", "sweep"}
        The command of the program.
    data, settings : as in `store`
        The rows lie in a private folder until the program ends.
    out : Path
        The directory of the results, which the program makes.
    *flags : str
        Further flags.
    report : callable, optional
        Called on another thread with each line of the program's log, as a dict.

    Returns
    -------
    str
        The line about a constraint that is not met, in Python's words; "" if all are met.

    Raises
    ------
    InputError, TrainingError, ProgramError, MissingProgramError
        With the program's line.
    KeyboardInterrupt
        After Ctrl-C, when the program has written its files.
    """
    # The program has its own process group, so that it does not receive a Ctrl-C twice: from the terminal and from this function.
    group: dict[str, Any] = {"creationflags": 0x200} if sys.platform == "win32" else {"start_new_session": True}
    lines: list[str] = []
    path = program()
    with tempfile.TemporaryDirectory(prefix="ppal-data-") as folder:
        config, names = store(Path(folder), data, settings)
        arguments = [str(path), command, *config, "--out", str(out), *flags]
        try:
            process = subprocess.Popen(arguments, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, encoding="utf-8", **group)
        except OSError as e:
            raise MissingProgramError(f"{path} does not run: {e.strerror}: install the wheel of this platform") from e
        reader = threading.Thread(target=_read, args=(process.stderr, lines, report, names), daemon=True)
        reader.start()
        presses = 0
        try:
            while process.returncode is None:
                try:
                    process.wait()
                except KeyboardInterrupt:
                    presses += 1
                    process.send_signal(_STOP) if presses == 1 else process.kill()
        finally:
            if process.poll() is None:  # another exception, as of a signal handler of the caller
                process.kill()
        reader.join()
    status, first = process.returncode, next((i for i, line in enumerate(lines) if line.startswith("ppal: ")), None)
    text = in_python("\n".join(lines[first:] if first is not None else lines[-20:]), names)
    if presses or status == INTERRUPTED:
        raise KeyboardInterrupt(text.partition(";")[0])  # without the command that would continue
    if status in (DONE, UNMET):
        return text if status == UNMET else ""
    if status < 0 or status == BUG or first is None:
        raise ProgramError(text or f"the program ended with status {status}; a negative status is the signal that killed it")
    raise InputError(text) if status == USAGE else TrainingError(text)


def _read(stream: IO[str], lines: list[str], report: Report | None, names: dict[str, str]) -> None:
    with stream:
        for line in stream:
            if not line.startswith("{"):
                lines.append(line.rstrip("\n"))
            elif report:
                entry = json.loads(line)
                if r'"\uffff"' not in entry.get("msg", ""):  # NO_TEXT, which no user gave
                    report({**entry, "msg": in_python(entry.get("msg", ""), names)})


@contextmanager
def progress(shown: bool) -> Iterator[Report | None]:
    """Give a receiver of the program's log that shows it in a bar of tqdm, or in lines if tqdm is not installed; None unless `shown`."""
    measures = ("iteration", "objective", "max_violation", "epsilon")
    if not shown:
        yield None
    elif not find_spec("tqdm"):
        yield lambda line: print(line["msg"], *(f"{k} {line[k]}" for k in measures if k in line))
    else:
        from tqdm import tqdm

        with tqdm(unit="it", leave=False) as bar:

            def report(line: dict[str, Any]) -> None:
                bar.n, bar.total = line.get("iteration", bar.n), line.get("of", bar.total)
                bar.set_postfix({k: line[k] for k in measures[1:] if k in line})

            yield report
