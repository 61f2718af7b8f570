"""Transitive reduction, and the graph as DOT."""
from __future__ import annotations

import random
import shutil
import subprocess
import unittest
from typing import Dict, Set

from support import FIXTURES, deps, drawn
from test_order import random_graphs

import main


def reduced(text: str) -> str:
    """Return the drawing of the reduced graph."""
    return drawn(main.transitive_reduction(deps(text)))


class Reduction(unittest.TestCase):

    def test_an_edge_that_a_path_implies_goes(self) -> None:
        self.assertEqual("a>b, b>c", reduced("a>b c, b>c"))

    def test_a_diamond_keeps_its_four_edges(self) -> None:
        self.assertEqual("a>b c, b>d, c>d", reduced("a>b c d, b>d, c>d"))

    def test_a_path_of_any_length_implies(self) -> None:
        self.assertEqual("a>b, b>c, c>d, d>e", reduced("a>b c d e, b>c e, c>d e, d>e"))

    def test_names_without_edges_stay(self) -> None:
        self.assertEqual({"a": set(), "b": set()}, main.transitive_reduction(deps("a, b")))

    def test_a_graph_with_a_loop_is_returned_as_it_is(self) -> None:
        self.assertEqual("a>b c, b>c, c>a", reduced("a>b c, b>c, c>a"))

    def test_the_graph_that_is_given_stays_as_it_is(self) -> None:
        graph = deps("a>b c, b>c")
        main.transitive_reduction(graph)["a"].add("z")
        self.assertEqual(deps("a>b c, b>c"), graph)

    def check(self, graph: Dict[str, Set[str]]) -> None:
        """Compare with the definition: an edge stays exactly if no other direct need reaches its target."""
        expected = {node: {dep for dep in found if not any(dep in main.reachable(graph, other) for other in found)}
                    for node, found in graph.items()}
        self.assertEqual(expected, main.transitive_reduction(graph))

    def test_it_keeps_reachability_and_has_no_edge_to_spare(self) -> None:
        for graph in random_graphs(300, 21, acyclic=True):
            found = main.transitive_reduction(graph)
            for node in graph:
                self.assertEqual(main.reachable(graph, node), main.reachable(found, node))
            for node, needs in found.items():
                for dep in needs:
                    self.assertNotIn(dep, main.reachable({**found, node: needs - {dep}}, node))

    def test_it_is_the_definition_on_random_graphs(self) -> None:
        for graph in random_graphs(300, 22, acyclic=True):
            self.check(graph)

    def test_edges_that_span_several_blocks_of_targets_are_found(self) -> None:
        block, main.BLOCK = main.BLOCK, 8
        try:
            source = random.Random(23)
            for _ in range(30):
                self.check({f"n{n}": {f"n{source.randrange(n)}" for _ in range(source.randrange(4))} if n else set()
                            for n in range(60)})
        finally:
            main.BLOCK = block

    def test_a_hub_that_a_chain_needs_keeps_one_edge(self) -> None:
        graph = {f"n{n}": {f"n{n - 1}", "hub"} if n else {"hub"} for n in range(20_000)}
        self.assertEqual(20_000, sum(map(len, main.transitive_reduction(graph).values())))


class Dot(unittest.TestCase):

    def test_the_layout_is_that_of_the_real_tool(self) -> None:
        self.assertEqual('''\
digraph G {
  rankdir = "RL";
  node [shape = rect, fontname = "sans-serif"];
  "t.a" [label="t.a"];
  "t.b" [label="t.b"];
  "t.b" -> "t.a";
}
''', main.render_dot({"t.b": {"t.a"}, "t.a": set()}))

    def test_without_resources_a_comment_says_so(self) -> None:
        self.assertEqual('''\
digraph G {
  rankdir = "RL";
  node [shape = rect, fontname = "sans-serif"];
  /* This configuration does not contain any resources.         */
  /* For a more detailed graph, try: minigraph graph -type=plan */
}
''', main.render_dot({}))

    def test_an_explicit_edge_is_dashed(self) -> None:
        self.assertIn('  "a" -> "b" [style = "dashed"];\n', main.render_dot(deps("a>b c"), [("a", "b")]))

    def test_a_loop_edge_is_red(self) -> None:
        picture = main.render_dot(deps("a>b, b>a, c>a"), red=main.loop_edges(deps("a>b, b>a, c>a")))
        self.assertIn('  "a" -> "b" [color = "red", penwidth = "2.0"];\n', picture)
        self.assertIn('  "b" -> "a" [color = "red", penwidth = "2.0"];\n', picture)
        self.assertIn('  "c" -> "a";\n', picture)

    def test_an_edge_can_be_both(self) -> None:
        self.assertIn('"a" -> "b" [style = "dashed", color = "red", penwidth = "2.0"];',
                      main.render_dot(deps("a>b, b>a"), [("a", "b")], [("a", "b")]))

    def test_a_dashed_edge_that_was_reduced_away_does_not_come_back(self) -> None:
        self.assertNotIn('"a" -> "c"', main.render_dot(main.transitive_reduction(deps("a>b c, b>c")), [("a", "c")]))

    def test_nodes_are_sorted_by_type_and_then_by_name(self) -> None:
        picture = main.render_dot({"b.a": set(), "a_b.x": set(), "a.z": {"b.a", "a_b.x"}})
        self.assertEqual(['"a.z" [', '"a_b.x" [', '"b.a" [', '"a.z" -> "a_b.x"', '"a.z" -> "b.a"'],
                         [line.strip().split("label")[0].rstrip(";") for line in picture.splitlines()[3:-1]])

    def test_the_steps_of_an_apply_can_be_drawn(self) -> None:
        self.assertIn('  "local_file.v (destroy)" -> "local_file.p";\n',
                      main.render_dot({"local_file.v (destroy)": {"local_file.p"}}))

    def test_quotes_are_written_as_go_writes_them(self) -> None:
        self.assertEqual(r'"a.b[\"k\\\n\"]"', main.go_quoted('a.b["k\\\n"]'))
        self.assertEqual(r'"größe\u0001"', main.go_quoted("größe\x01", "\\u%04x"))

    @unittest.skipUnless(shutil.which("dot"), "graphviz is not on PATH")
    def test_graphviz_reads_it(self) -> None:
        graph = {'a.b["k\\"]': {"a.größe (destroy)", "a.-x"}, "a.-x": {"local.node"}}
        edge = ("a.-x", "local.node")
        for picture in (main.render_dot(graph, [edge], [edge]), main.render_dot({})):
            subprocess.run(["dot", "-Tsvg"], input=picture.encode(), check=True, capture_output=True)


class TheDemo(unittest.TestCase):

    def test_its_picture_is_reduced_and_dashed_where_depends_on_asks(self) -> None:
        config = main.load_config(str(FIXTURES / "demo"))
        graph, causes = main.config_graph(config)
        resources = main.resource_graph(config, graph)
        picture = main.render_dot(main.transitive_reduction(resources), main.explicit_edges(graph, causes, resources))
        self.assertEqual('''\
  "local_file.config" -> "terraform_data.release";
  "local_file.index" -> "local_file.config";
  "local_file.index" -> "time_sleep.warm_a" [style = "dashed"];
  "local_file.index" -> "time_sleep.warm_b" [style = "dashed"];
  "local_file.pointer" -> "local_file.versioned";
  "terraform_data.release" -> "random_pet.name";''', "\n".join(line for line in picture.splitlines() if "->" in line))

    def test_its_waves_and_critical_path_are_the_lesson_s(self) -> None:
        graph = main.resource_graph(main.load_config(str(FIXTURES / "demo")))
        self.assertEqual([
            ["local_file.versioned", "random_pet.name", "time_sleep.warm_a", "time_sleep.warm_b", "time_sleep.warm_c",
             "time_sleep.warm_d"],
            ["local_file.pointer", "terraform_data.release"], ["local_file.config"], ["local_file.index"],
        ], main.waves(graph))
        self.assertEqual(["random_pet.name", "terraform_data.release", "local_file.config", "local_file.index"],
                         main.critical_path(graph))


if __name__ == "__main__":
    unittest.main()
