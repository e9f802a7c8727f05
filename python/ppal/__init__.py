"""Models whose decisions meet bounds, for scikit-learn: see `PpalClassifier`."""

from importlib.metadata import version as _version

from ._classifier import PpalClassifier as PpalClassifier
from ._errors import InputError as InputError, MissingProgramError as MissingProgramError, NotConvergedWarning as NotConvergedWarning
from ._errors import PpalError as PpalError, ProgramError as ProgramError, RunError as RunError, TrainingError as TrainingError
from ._errors import ViolationWarning as ViolationWarning
from ._metrics import Rates as Rates, evaluate as evaluate
from ._sweep import Sweep as Sweep, sweep as sweep
from ._thresholds import ThresholdClassifier as ThresholdClassifier
from ._verify import Verification as Verification, verify as verify

__version__ = _version("ppal")
