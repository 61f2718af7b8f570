"""A few dozen random stacks, the same in minigraph and in the real tool (longer hunts: differential.py)."""

from __future__ import annotations

import os
import random
import unittest
from concurrent.futures import ProcessPoolExecutor
from typing import Any, Iterator, List, Tuple

import cases
import differential
import support

STACKS = int(os.environ.get("MINIGRAPH_STACKS", "24"))


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: Any) -> unittest.TestSuite:
    """Run beside the other files' specs."""
    return support.beside(tests)


def hunt(seed: int) -> Tuple[int, List[str], str]:
    """Return (seed, differences, where to look)."""
    return differential.hunt(seed, smaller=False, short=True)


class RandomStacks(unittest.TestCase):
    """Plans, step graphs, logs and states are the real tool's, and both can work on one state."""

    @unittest.skipIf(cases.real_tool() is None, "needs tofu or terraform on PATH to compare with")
    def test_both_tools_agree_on_random_stacks_and_edits(self) -> None:
        with ProcessPoolExecutor(2) as pool:
            hunts = list(pool.map(hunt, range(1, STACKS + 1)))
        for seed, found, place in hunts:
            with self.subTest(f"seed {seed}"):
                self.assertEqual(found, [], place)
        self.assertEqual(STACKS, len(hunts))


class TheGenerator(unittest.TestCase):
    """The stacks are the same every time, and a difference can be made small."""

    def test_a_seed_always_gives_the_same_moves(self) -> None:
        self.assertEqual(differential.moves(random.Random(7)), differential.moves(random.Random(7)))

    def test_nothing_is_triggered_by_what_a_destroy_may_have_taken_away(self) -> None:
        behind = [after for seed in range(400) for before, after in self.pairs(seed) if before.command == "destroy"]
        self.assertGreater(len(behind), 20)
        self.assertEqual([], [move for move in behind if "replace_triggered_by" in str(move.config)])

    @staticmethod
    def pairs(seed: int) -> Iterator[Tuple[differential.Move, differential.Move]]:
        """Yield each move of a stack with the one behind it."""
        moves = differential.moves(random.Random(seed))
        return zip(moves, moves[1:])

    def test_a_stack_shrinks_to_what_still_differs(self) -> None:
        scenario = differential.moves(random.Random(2))
        small = differential.shrink(
            scenario, lambda moves: any("create_before_destroy" in str(move) for move in moves)
        )
        resources = [differential.section(move.config, "resource") for move in small]
        self.assertEqual([len(found) for found in resources], [1])
        self.assertEqual([list(body) for body in resources[0].values()], [["lifecycle"]])

    def test_what_referred_to_a_dropped_resource_says_so(self) -> None:
        config = {
            "resource": {
                "terraform_data": {
                    "a": {},
                    "b": {"input": "x${terraform_data.a.id}", "depends_on": ["terraform_data.a"]},
                }
            }
        }
        self.assertEqual(
            differential.without(config, "resource", "a"),
            {"resource": {"terraform_data": {"b": {"input": "xgone", "depends_on": []}}}},
        )


if __name__ == "__main__":
    unittest.main()
