"""What is recorded of the machine."""

import unittest

from peers.environment import amx


class AMX(unittest.TestCase):
    def test_the_products_of_tiles_are_named(self) -> None:
        for flags, want in (("avx2 avx512f", "none"), ("amx_int8 amx_bf16", "none"), ("amx_tile", "tiles without products"),
                            ("amx_tile amx_int8", "8-bit integers"), ("amx_bf16 amx_int8 amx_tile", "8-bit integers, bfloat16")):  # fmt: skip
            self.assertEqual(amx(flags.split()), want)
