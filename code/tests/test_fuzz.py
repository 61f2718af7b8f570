"""Damaged files: a clear error or a correct result, no traceback, and nothing changed where the input is refused."""
from __future__ import annotations

import random
import sys
import unittest
from pathlib import Path
from typing import Dict

sys.path.insert(0, str(Path(__file__).resolve().parent))
import fuzz


class DamagedFiles(unittest.TestCase):
    """The quick form of ``fuzz.py --count 20000``: the inputs are the same ones in every run."""

    sound: Dict[str, fuzz.Files]

    @classmethod
    def setUpClass(cls) -> None:
        cls.sound = fuzz.samples()

    def test_three_hundred_inputs(self) -> None:
        """Configuration, state, journal and plan file, about 75 of each."""
        self.assertEqual([], fuzz.check_range(self.sound, 1, range(300)))

    def test_the_sound_files_are_accepted(self) -> None:
        """Every command works on the undamaged directories, so a refusal is due to the damage."""
        import main
        for kind, commands in fuzz.COMMANDS.items():
            for command in commands:
                given = fuzz.Input("sound", kind, "none", command, self.sound[kind])
                got = fuzz.answer(main, given)
                self.assertEqual((0, "", []), (got.status, got.crash, fuzz.faults(given, got)),
                                 (kind, command, got.stdout, got.stderr))

    def test_an_input_is_always_the_same(self) -> None:
        """A name stands for one input, in every process."""
        for number in range(50):
            self.assertEqual(fuzz.make_input(self.sound, f"1/{number}"), fuzz.make_input(self.sound, f"1/{number}"))

    def test_every_kind_of_damage_is_drawn(self) -> None:
        """The harness itself: no form of damage is dead."""
        drawn = {fuzz.damage(random.Random(n), self.sound["state"][fuzz.STATE])[0] for n in range(600)}
        self.assertLessEqual(set(fuzz.BYTE_DAMAGE), drawn)


if __name__ == "__main__":
    unittest.main()
