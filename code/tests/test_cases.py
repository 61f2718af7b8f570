"""The recorded cases of the real engine, each as one sub-test (see cases.py for the rules of comparison)."""

from __future__ import annotations

import unittest
from concurrent.futures import ProcessPoolExecutor
from typing import Any, List

import cases
import support


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: Any) -> unittest.TestSuite:
    """Run beside the other files' specs."""
    return support.beside(tests, lanes=2)


def check_scenario(case: cases.Case) -> List[str]:
    """Return where minigraph disagrees in one scenario."""
    return cases.check("bugs", case, cases.Minigraph())


class RecordedCases(unittest.TestCase):
    """What the real engine did on the same input is what minigraph does."""

    def agree(self, kind: str) -> None:
        """Check every case of a kind in this process."""
        tool = cases.Minigraph()
        for case in cases.load(kind):
            with self.subTest(f"{kind}/{case['name']}"):
                self.assertEqual(cases.check(kind, case, tool), [])

    def test_json_configurations_are_read_refused_and_placed_alike(self) -> None:
        self.agree("json")

    def test_plans_steps_logs_and_states_are_alike(self) -> None:
        self.agree("graph")

    def test_scenarios_from_public_reports_have_the_right_answer(self) -> None:
        """Some of them wait for a lock or a sleep, so several go at once."""
        cases.program()  # compiled once, for all of them
        scenarios = list(cases.load("bugs"))
        with ProcessPoolExecutor(4) as pool:
            for case, found in zip(scenarios, pool.map(check_scenario, scenarios)):
                with self.subTest(f"bugs/{case['name']}"):
                    self.assertEqual(found, [])


class TheComparisonItself(unittest.TestCase):
    """The runner sees a difference where there is one."""

    def test_drawings_of_every_kind_give_the_same_graph(self) -> None:
        short = 'digraph G {\n  "a.x" [label="a.x"];\n  "a.y" -> "a.x";\n}\n'
        long = (
            'digraph {\n\tsubgraph "root" {\n\t\t"[root] a.x (expand)" [label = "a.x", shape = "box"]\n'
            '\t\t"[root] a.y (expand)" -> "[root] local.l (expand)"\n'
            '\t\t"[root] local.l (expand)" -> "[root] a.x (expand)"\n'
            '\t\t"[root] root" -> "[root] a.y (expand)"\n\t}\n}\n'
        )
        self.assertEqual(cases.resource_graph(short), {"a.x": set(), "a.y": {"a.x"}})
        self.assertEqual(cases.resource_graph(long), {"a.x": set(), "a.y": {"a.x"}})

    def test_an_edge_that_a_path_implies_is_dropped(self) -> None:
        graph = cases.edges_to_graph("abc", [("b", "a"), ("c", "b"), ("c", "a")])
        self.assertEqual(cases.reduced(graph), {("b", "a"), ("c", "b")})

    def test_a_start_before_the_end_of_what_it_waits_for_is_told(self) -> None:
        log = "a.x: Creating...\na.y: Creating...\na.x: Creation complete after 0s [id=1]\n"
        events = cases.read_events(log, {})
        self.assertEqual(
            cases.broken_orders(events, {"a.y": {"a.x"}, "a.x": set()}), ["a.y started before a.x was done"]
        )
        self.assertEqual(cases.broken_orders(events, {"a.y": set(), "a.x": set()}), [])

    def test_the_deposed_half_of_a_replacement_is_no_left_over(self) -> None:
        log = "a.x (deposed object 0a): Destroying... [id=1]\na.x (deposed object 0b): Destroying... [id=2]\n"
        self.assertEqual(
            cases.read_events(log, {"a.x": {"0b"}}),
            [("a.x (destroy)", "start"), ("a.x (destroy deposed)", "start")],
        )

    def test_hard_edges_follow_configuration_state_and_the_order_of_replacement(self) -> None:
        actions = {"a.x": "create_before_destroy replace", "a.y": "replace", "a.z": "delete"}
        stored = {"a.y": {"dependencies": ["a.x"]}, "a.z": {"dependencies": ["a.y"]}}
        self.assertEqual(
            cases.hard_edges(actions, {"a.y": {"a.x"}, "a.x": set()}, stored),
            {
                "a.x": set(),
                "a.y": {"a.x", "a.y (destroy)"},
                "a.x (destroy)": {"a.x", "a.y (destroy)"},
                "a.y (destroy)": {"a.z (destroy)"},
                "a.z (destroy)": set(),
            },
        )

    def test_numbers_are_compared_by_value_and_not_with_strings(self) -> None:
        values: List[object] = [cases.plain(cases.read_json(text)) for text in ("1", "1.0", "1e0", '"1"')]
        self.assertEqual([value == values[0] for value in values], [True, True, True, False])


if __name__ == "__main__":
    unittest.main()
