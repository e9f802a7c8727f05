"""The exceptions and warnings of this package, and the messages of the program and of scikit-learn in the words of its users."""

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from sklearn.exceptions import ConvergenceWarning


class PpalError(Exception):
    """Base of all exceptions of this package."""


class InputError(PpalError, ValueError):
    """The data, a constraint or a setting is wrong. The text says what, where and what to do."""


class RunError(PpalError, ValueError):
    """A directory is not a run that this version reads: it is damaged, another version wrote it, or the run has no table."""


class TrainingError(PpalError, RuntimeError):
    """The program stopped with an error: no memory, no space on the disk, a number that is not finite, or no such device."""


class ProgramError(PpalError, RuntimeError):
    """The program has a bug, or was killed."""


class MissingProgramError(PpalError, FileNotFoundError):
    """The program `ppal` does not exist, or does not run on this machine."""


class ViolationWarning(UserWarning):
    """The training finished, and a constraint is not met, cannot be judged, or is not promised."""


class NotConvergedWarning(ConvergenceWarning):  # type: ignore[misc]
    """The training ended before the residuals of the certificate were small enough: see *converged* in the glossary."""


@contextmanager
def checking(what: str = "", advice: Mapping[str, str] = {}) -> Iterator[None]:
    """Make an error of scikit-learn's checks, or of a conversion to numbers, an `InputError`.

    Parameters
    ----------
    what : str
        The beginning of the text, such as ``"sample_weight: "``.
    advice : dict of str to str
        What to do, by a part of scikit-learn's text, whose first line is enough then.
    """
    try:
        yield
    except PpalError:
        raise
    except ValueError as e:
        text = str(e)
        found = next((more for part, more in advice.items() if part in text), None)
        raise InputError(what + (f"{text.splitlines()[0].rstrip('.:')}: {found}" if found else text)) from e


# The settings that are keywords of PpalClassifier. The others are keys of its `settings`.
KEYWORDS = {
    "subject-to": "subject_to", "minimize": "minimize", "model": "model", "hidden": "hidden_layer_sizes", "activation": "activation",
    "confidence": "confidence", "missing": "missing", "unknown": "handle_unknown", "regularizer-weight": "alpha",
    "iterations": "max_iter", "seed": "random_state", "device": "device", "threads": "n_jobs", "thresholds": "thresholds",
    "split": "validation_fraction and test_fraction", "group": "sensitive_features", "weight": "sample_weight", "values": "values", "over": "over",
}  # fmt: skip
_VALUE = r'(?:[ =]("[^"]*"|\'[^\']*\'|[\d.]+\b|(?:impute|drop|flag|ignore|mlp|linear|cpu|cuda|loss|none)\b))?'


def in_python(text: str, files: Mapping[str, str] = {}) -> str:
    """Return a message of the program with keywords of `PpalClassifier` in place of flags and keys.

    Parameters
    ----------
    text : str
        The program's error, such as ``ppal: ... use --missing impute``.
    files : dict of str to str, optional
        The words that replace the paths of files, such as ``{"/tmp/x/data.npz": "the data"}``.
    """
    for path, words in files.items():
        text = text.replace(f"{path}:1: unknown", "unknown").replace(f"{path}:1: ", "--").replace(path, words)
    for prefix in ("ppal: ", "datasets: ", "constraints: "):
        text = text.removeprefix(prefix)
    text = text.replace("; --allow-violation makes the exit status 0", "")
    text = text.replace("builds bin/ppal-gpu, which has it", "builds bin/ppal-gpu, which has it: set PPAL_PROGRAM to its path")
    text = re.sub(r"(, or )?ignore the column \(--ignore [^)]*\)", r"\1drop the column", text)

    def keyword(found: re.Match[str]) -> str:
        flag, value = found[1], found[2]
        name = KEYWORDS.get(flag, f'settings["{flag}"]')
        if value is None:
            return name
        return f"{name}={value}" if value[0] in "\"'" or re.fullmatch(r"[\d.]+", value) else f'{name}="{value}"'

    return re.sub(r"--(?!help)([a-z][a-z-]*)" + _VALUE, keyword, text)
