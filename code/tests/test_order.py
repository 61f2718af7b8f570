"""Cycles, waves and paths of plain graphs; graphlib of the standard library is the judge on random ones."""
from __future__ import annotations

import graphlib
import os
import random
import subprocess
import sys
import unittest
from typing import Dict, Iterator, List, Set

import cases
from support import CODE, FIXTURES, deps, drawn

import main

Graph = Dict[str, Set[str]]


def random_graphs(count: int, seed: int, acyclic: bool = False) -> Iterator[Graph]:
    """Yield small seeded graphs of all densities."""
    source = random.Random(seed)
    for _ in range(count):
        names = [f"n{number}" for number in range(source.randrange(1, 16))]
        source.shuffle(names)
        share = source.random() ** 2
        yield {name: {other for place, other in enumerate(names)
                      if source.random() < share and (place < position if acyclic else other != name)}
               for position, name in enumerate(names)}


def graphlib_waves(graph: Graph) -> List[List[str]]:
    """Return the groups that graphlib releases together."""
    sorter = graphlib.TopologicalSorter(graph)
    sorter.prepare()
    found = []
    while sorter.is_active():
        found.append(sorted(sorter.get_ready()))
        sorter.done(*found[-1])
    return found


def has_loop(graph: Graph) -> bool:
    """Return whether graphlib refuses the graph."""
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError:
        return True
    return False


def chain(count: int) -> Graph:
    """Return n0 <- n1 <- n2 ..."""
    return {f"n{number}": {f"n{number - 1}"} if number else set() for number in range(count)}


class Waves(unittest.TestCase):

    def test_a_wave_needs_only_earlier_waves(self) -> None:
        self.assertEqual([["d", "e"], ["b", "c"], ["a"]], main.waves(deps("a>b c, b>d, c>d e")))

    def test_inside_a_wave_names_are_sorted(self) -> None:
        self.assertEqual([["a", "b", "c", "d"]], main.waves(deps("d, b, c, a")))

    def test_a_name_that_is_only_needed_is_a_node(self) -> None:
        self.assertEqual([["b"], ["a"]], main.waves({"a": {"b"}}))

    def test_nothing_has_no_waves(self) -> None:
        self.assertEqual([], main.waves({}))

    def test_a_loop_has_none_and_is_named(self) -> None:
        with self.assertRaises(main.CycleError) as caught:
            main.waves(deps("a>b, b>c, c>a, d>a"))
        self.assertEqual(["a", "b", "c", "a"], caught.exception.path)
        self.assertEqual("Cycle: a -> b -> c -> a", str(caught.exception))

    def test_they_are_the_groups_of_graphlib(self) -> None:
        for graph in random_graphs(300, 1, acyclic=True):
            self.assertEqual(graphlib_waves(graph), main.waves(graph))

    def test_the_graph_that_is_given_stays_as_it_is(self) -> None:
        graph = deps("a>b, b>c")
        main.waves(graph)
        self.assertEqual(deps("a>b, b>c"), graph)


class TopologicalOrder(unittest.TestCase):

    def test_everything_comes_after_what_it_needs(self) -> None:
        for graph in random_graphs(300, 2, acyclic=True):
            place = {node: number for number, node in enumerate(main.topological_order(graph))}
            self.assertEqual(set(graph), set(place))
            self.assertTrue(all(place[dep] < place[node] for node, found in graph.items() for dep in found))

    def test_it_does_not_depend_on_the_order_of_the_graph(self) -> None:
        self.assertEqual(main.topological_order(deps("a>b c, d>c")), main.topological_order(deps("d>c, a>c b")))


class CriticalPath(unittest.TestCase):

    def test_it_is_a_longest_chain_first_step_first(self) -> None:
        self.assertEqual(["d", "c", "b", "a"], main.critical_path(deps("a>b e, b>c, c>d, e>d")))

    def test_of_equal_steps_the_smallest_name_is_taken(self) -> None:
        self.assertEqual(["p", "x", "b"], main.critical_path(deps("c>y, b>y x, x>q p, y>p")))

    def test_a_step_back_goes_to_the_wave_before(self) -> None:
        self.assertEqual(["z", "y", "x"], main.critical_path(deps("x>a y, y>z")))

    def test_nothing_has_no_path(self) -> None:
        self.assertEqual([], main.critical_path({}))

    def test_it_has_one_step_a_wave_and_each_needs_the_one_before(self) -> None:
        for graph in random_graphs(200, 3, acyclic=True):
            path = main.critical_path(graph)
            self.assertEqual(len(main.waves(graph)), len(path))
            self.assertTrue(all(before in graph[after] for before, after in zip(path, path[1:])))


class FindCycle(unittest.TestCase):

    def test_the_lesson_s_loop(self) -> None:
        self.assertEqual(list("acba"), main.find_cycle(deps("a>c, b>a, c>b, d>a")))

    def test_no_loop_is_none(self) -> None:
        self.assertIsNone(main.find_cycle(deps("a>b c, b>c")))

    def test_a_name_that_needs_itself_is_a_loop(self) -> None:
        self.assertEqual(["a", "a"], main.find_cycle({"a": {"a"}}))

    def test_it_finds_one_exactly_when_graphlib_does(self) -> None:
        for graph in random_graphs(300, 4):
            path = main.find_cycle(graph)
            self.assertEqual(has_loop(graph), path is not None, graph)
            if path:
                self.assertEqual(path[0], path[-1])
                self.assertTrue(all(dep in graph[node] for node, dep in zip(path, path[1:])))


class FindCycles(unittest.TestCase):

    def loops(self, text: str) -> List[str]:
        return ["".join(path) for path in main.find_cycles(deps(text))]

    def test_each_starts_at_its_smallest_name(self) -> None:
        self.assertEqual(["acba"], self.loops("c>b, b>a, a>c, d>a"))

    def test_loops_apart_are_all_found(self) -> None:
        self.assertEqual(["aba", "cdc"], self.loops("d>c, c>d, b>a, a>b, e>a d"))

    def test_a_figure_of_eight_is_two(self) -> None:
        self.assertEqual(["aba", "aca"], self.loops("a>b c, b>a, c>a"))

    def test_two_that_share_an_edge_are_two(self) -> None:
        self.assertEqual(["aba", "abca"], self.loops("a>b, b>a c, c>a"))

    def test_a_short_one_comes_before_the_long_one_around_it(self) -> None:
        graph = {f"n{number:02}": {f"n{(number + 1) % 40:02}"} for number in range(40)}
        graph["n07"].add("n05")
        found = main.find_cycles(graph)
        self.assertEqual(["n05", "n06", "n07", "n05"], found[0])
        self.assertEqual([4, 41], [len(path) for path in found])

    def test_a_name_that_needs_itself_is_one(self) -> None:
        self.assertEqual(["aa"], self.loops("a>a b"))

    def test_none_without_a_loop(self) -> None:
        self.assertEqual([], self.loops("a>b c, b>c"))

    def test_each_is_a_shortest_through_one_of_its_edges(self) -> None:
        for graph in random_graphs(200, 5):
            for path in main.find_cycles(graph):
                steps = list(zip(path, path[1:]))
                self.assertTrue(all(dep in graph[node] for node, dep in steps))
                self.assertEqual(len(set(path)), len(steps))
                self.assertIn(len(steps), [len(main.shortest_path(graph, dep, node, 99)[0]) for node, dep in steps])

    def test_every_edge_on_a_loop_is_on_one_that_is_found(self) -> None:
        for graph in random_graphs(200, 6):
            if sum(map(len, graph.values())) < 20:
                found = {step for path in main.find_cycles(graph) for step in zip(path, path[1:])}
                self.assertEqual(main.loop_edges(graph), found)

    def test_the_edges_on_loops_are_those_that_can_come_back(self) -> None:
        for graph in random_graphs(200, 7):
            self.assertEqual({(node, dep) for node, found in graph.items() for dep in found
                              if node in main.reachable(graph, dep) | {dep}}, main.loop_edges(graph))

    def test_a_tangle_without_end_is_cut_short(self) -> None:
        names = [f"n{number}" for number in range(60)]
        self.assertEqual(20, len(main.find_cycles({name: set(names) - {name} for name in names})))


class Reachable(unittest.TestCase):

    def test_it_is_what_a_name_needs_directly_or_not(self) -> None:
        self.assertEqual(set("bcd"), main.reachable(deps("a>b, b>c d, e>a"), "a"))

    def test_a_name_reaches_itself_only_on_a_loop(self) -> None:
        self.assertEqual([set("ab"), set("ab")], [main.reachable(deps("a>b, b>a, c>a"), name) for name in "ac"])

    def test_an_unknown_name_reaches_nothing(self) -> None:
        self.assertEqual(set(), main.reachable({}, "a"))


class Closure(unittest.TestCase):

    def test_it_is_sorted_and_whole(self) -> None:
        self.assertEqual({"a": ("b", "c"), "b": ("c",), "c": ()}, main.closure(deps("a>b, b>c"), 3))

    def test_it_is_none_above_the_limit(self) -> None:
        self.assertIsNone(main.closure(deps("a>b, b>c"), 2))

    def test_it_agrees_with_reachable(self) -> None:
        for graph in random_graphs(200, 8, acyclic=True):
            self.assertEqual({node: tuple(sorted(main.reachable(graph, node))) for node in graph},
                             main.closure(graph, 10_000))


class Inversion(unittest.TestCase):

    def test_needs_become_needed_by(self) -> None:
        self.assertEqual("b>a, c>a b", drawn(main.invert(deps("a>b c, b>c"))))

    def test_twice_is_the_same_graph(self) -> None:
        for graph in random_graphs(100, 9):
            self.assertEqual(graph, main.invert(main.invert(graph)))


class Depth(unittest.TestCase):
    """Ten thousand names in a row: no algorithm may recurse, or look at all names for each."""

    def test_an_order(self) -> None:
        names = [f"n{number}" for number in range(10_000)]
        self.assertEqual(names, main.topological_order(chain(10_000)))
        self.assertEqual(names, main.critical_path(chain(10_000)))

    def test_no_loop(self) -> None:
        self.assertIsNone(main.find_cycle(chain(10_000)))
        self.assertEqual([], main.find_cycles(chain(10_000)))

    def test_one_loop(self) -> None:
        graph = chain(10_000)
        graph["n0"] = {"n9999"}
        self.assertEqual([10_001], [len(path) for path in main.find_cycles(graph)])
        self.assertEqual(10_001, len(main.find_cycle(graph) or ()))

    def test_what_a_name_needs(self) -> None:
        self.assertEqual(9_999, len(main.reachable(chain(10_000), "n9999")))
        self.assertIsNone(main.closure(chain(10_000), 1_000_000))

    def test_reduction_and_contraction(self) -> None:
        graph = chain(10_000)
        for number in range(2, 10_000):
            graph[f"n{number}"].add(f"n{number // 2 - 1}")
        self.assertEqual(chain(10_000), main.transitive_reduction(graph))
        self.assertEqual({"n0": set(), "n9999": {"n0"}}, main.contract(graph, ["n0", "n9999"]))


class SameBytesEveryRun(unittest.TestCase):

    PROGRAM = """
import random, main
source = random.Random(5)
names = [f"n{number}" for number in range(60)]
tangled = {name: set(source.sample(names, source.randrange(4))) for name in names}
ordered = {name: set(source.sample(names[:place], min(place, source.randrange(4)))) for place, name in enumerate(names)}
print(main.find_cycle(tangled), main.find_cycles(tangled))
print(main.waves(ordered), main.critical_path(ordered), main.topological_order(ordered))
print(main.render_dot(main.transitive_reduction(ordered)), main.render_dot(tangled, red=main.loop_edges(tangled)))
print(main.closure(ordered, 10000), main.render_dot(main.contract(ordered, names[::2])))
for name in ("cycle", "cycle-eight", "cycle-locals"):
    config = main.load_config(f"tests/fixtures/{name}")
    print(main.cycle_error(config, *main.config_graph(config)))
"""

    def test_whatever_the_hash_seed(self) -> None:
        self.assertTrue(FIXTURES.is_dir())
        code = os.path.dirname(cases.compiled(CODE / "main.py"))
        program = f"import sys; sys.path.insert(0, {code!r})\n{self.PROGRAM}"
        outputs = {subprocess.run([sys.executable, "-S", "-c", program], cwd=CODE, check=True, capture_output=True,
                                  env={**os.environ, "PYTHONHASHSEED": seed}).stdout
                   for seed in ("1", "2", "77")}
        self.assertEqual(1, len(outputs))


if __name__ == "__main__":
    unittest.main()
