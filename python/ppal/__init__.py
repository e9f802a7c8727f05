"""Models whose decisions meet bounds, for scikit-learn: see `PpalClassifier`."""

from importlib.metadata import version as _version

from ._classifier import PpalClassifier
from ._errors import InputError, MissingProgramError, NotConvergedWarning, PpalError, ProgramError, RunError, TrainingError, ViolationWarning
from ._metrics import Rates, evaluate
from ._sweep import Sweep, sweep
from ._thresholds import ThresholdClassifier
from ._verify import Verification, verify

__version__ = _version("ppal")
__all__ = [
    "InputError",
    "MissingProgramError",
    "NotConvergedWarning",
    "PpalClassifier",
    "PpalError",
    "ProgramError",
    "Rates",
    "RunError",
    "Sweep",
    "ThresholdClassifier",
    "TrainingError",
    "Verification",
    "ViolationWarning",
    "evaluate",
    "sweep",
    "verify",
]
