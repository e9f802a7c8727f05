"""Runs of contenders in one process: ``python -m peers.suite.worker``.

Reads a line of JSON with the arguments of ``python -m peers.suite`` for each run, and answers with a line:

    ["--oracle", "...", "--contender", "cooper", ...]   ->   {}, {"missing": "package"} or {"error": "why"}

One process imports a library once for many runs. The oracle's trace has the numbers.
"""

from __future__ import annotations

import json
import sys
import traceback

from ..worker import own_stdout, summary
from .__main__ import parse, run


def answer(line: str) -> dict:
    """One run."""
    try:
        run(parse(json.loads(line)))
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except (Exception, SystemExit) as error:  # a failed run is a result too: the parent reports it
        traceback.print_exc()
        return {"error": summary(error)}
    return {}


def main() -> None:
    """Serve until stdin closes. Output of libraries goes to stderr."""
    replies = own_stdout()
    for line in sys.stdin:
        print(json.dumps(answer(line)), file=replies, flush=True)


if __name__ == "__main__":
    main()
