"""Runs of contenders in one process: ``python -m peers.suite.worker``.

Reads a line of JSON with the arguments of ``python -m peers.suite`` for each run, and answers with a line:

    ["--oracle", "...", "--contender", "cooper", ...]   ->   {}, {"missing": "package"} or {"error": "why"}

One process imports a library once for many runs. The oracle's trace has the numbers.
"""

from __future__ import annotations

import json
import os
import sys
import traceback

from .__main__ import parse, run


def answer(line: str) -> dict:
    """One run."""
    try:
        run(parse(json.loads(line)))
    except ModuleNotFoundError as error:
        return {"missing": error.name}
    except (Exception, SystemExit) as error:  # a failed run is a result too: the parent reports it
        traceback.print_exc()
        return {"error": f"{type(error).__name__}: {str(error).splitlines()[0] if str(error) else 'no message'}"}
    return {}


def main() -> None:
    """Serve until stdin closes. Output of libraries goes to stderr."""
    replies = os.fdopen(os.dup(sys.stdout.fileno()), "w")
    os.dup2(sys.stderr.fileno(), sys.stdout.fileno())
    for line in sys.stdin:
        print(json.dumps(answer(line)), file=replies, flush=True)


if __name__ == "__main__":
    main()
