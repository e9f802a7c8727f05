"""The command line and a worker's protocol."""

import contextlib
import io
import json
import unittest

from peers.__main__ import parse
from peers.worker import answer


class Commands(unittest.TestCase):
    def refused(self, *arguments: str) -> str:
        errors = io.StringIO()
        with contextlib.redirect_stderr(errors), self.assertRaises(SystemExit) as stop:
            parse(list(arguments))
        self.assertEqual(stop.exception.code, 2)
        return errors.getvalue()

    def test_bad_usage_is_said_by_name(self) -> None:
        self.assertIn("no part 'sped'", self.refused("--parts", "check,sped"))
        self.assertIn("-1 is negative", self.refused("--threads", "-1"))
        self.assertIn("not allowed with", self.refused("--quick", "--full"))

    def test_a_gpu_has_the_headline_only(self) -> None:
        self.assertIn("the part speed runs on the CPU only", self.refused("--device", "cuda", "--parts", "headline,speed"))
        options = parse(["--device", "cuda"])
        self.assertEqual((options.parts, str(options.json), str(options.markdown), options.matmul),
                         (["headline"], "build/peers-cuda.json", "build/peers-cuda.md", "high"))  # fmt: skip

    def test_matmul_is_for_the_headline(self) -> None:
        self.assertIn("only the part headline uses it", self.refused("--matmul", "medium", "--parts", "speed"))
        self.assertEqual(parse(["--matmul", "medium"]).matmul, "medium")

    def test_defaults(self) -> None:
        options = parse([])
        self.assertEqual((options.parts, options.seed, options.threads), (["check", "speed", "convergence", "headline"], 1, 0))
        self.assertEqual((str(options.json), str(options.markdown), options.matmul), ("build/peers.json", "build/peers.md", "highest"))
        self.assertEqual(str(parse(["--json", "a/b.json"]).markdown), "a/b.md")


class Worker(unittest.TestCase):
    class Peer:
        def double(self, x: int) -> int:
            return 2 * x

        def fail(self) -> None:
            raise ValueError("one line\nand another")

    def ask(self, call: str, **arguments: int) -> dict:
        with contextlib.redirect_stderr(io.StringIO()):
            return answer(self.Peer(), json.dumps({"call": call, "arguments": arguments}))

    def test_answers(self) -> None:
        self.assertEqual(self.ask("double", x=21), {"result": 42})
        self.assertEqual(self.ask("fail"), {"error": "ValueError: one line"})


if __name__ == "__main__":
    unittest.main()
