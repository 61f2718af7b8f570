"""Which edges a configuration makes, why, and what is left when locals are looked through."""
from __future__ import annotations

import json
import random
import unittest
from typing import Any, Dict, List

from support import FIXTURES, config, deps, drawn

import main


def data(**resources: Dict[str, Any]) -> Dict[str, Any]:
    """Return a configuration of terraform_data resources alone."""
    return {"resource": {"terraform_data": resources}}


def short(text: str) -> str:
    """Return a drawing without the one type that is used here."""
    return text.replace("terraform_data.", "")


def edges(document: Dict[str, Any]) -> str:
    """Return the drawing of a configuration's whole graph."""
    return short(drawn(main.config_graph(config(document))[0]))


def resources(document: Dict[str, Any]) -> str:
    """Return the drawing of a configuration's resources alone."""
    return short(drawn(main.resource_graph(config(document))))


def cause(document: Dict[str, Any], node: str, dep: str) -> main.Cause:
    """Return why an edge exists."""
    return main.config_graph(config(document))[1][node, dep]


A, B = "${terraform_data.a.id}", "${terraform_data.b.id}"


class ReferencesMakeEdges(unittest.TestCase):

    def test_a_reference_counts_at_any_depth(self) -> None:
        self.assertEqual("c>a b", edges(data(a={}, b={}, c={"input": [1, {"k": ["x", {"y": A + B}]}]})))

    def test_the_keys_of_an_object_count(self) -> None:
        self.assertEqual("b>a", edges(data(a={}, b={"input": {A: "x"}})))

    def test_a_whole_resource_can_be_meant(self) -> None:
        self.assertEqual("b>a", edges(data(a={}, b={"input": "${terraform_data.a}"})))

    def test_what_follows_the_address_changes_nothing(self) -> None:
        self.assertEqual("b>a", edges(data(a={}, b={"input": '${ terraform_data.a.output.x[0]["k.k"] }'})))

    def test_an_escaped_dollar_makes_none(self) -> None:
        self.assertEqual("", edges(data(a={}, b={"input": "$" + A})))

    def test_what_is_known_before_anything_runs_makes_none(self) -> None:
        self.assertEqual("", edges(data(a={"input": "${path.module} ${path.cwd} ${terraform.workspace}"})))

    def test_a_comment_property_makes_none(self) -> None:
        self.assertEqual("", edges(data(a={}, b={"//": A})))

    def test_a_name_does_not_need_itself(self) -> None:
        self.assertEqual("", edges(data(a={"input": A, "depends_on": ["terraform_data.a"]})))

    def test_what_is_not_declared_makes_none(self) -> None:
        self.assertEqual("", edges(data(a={"input": "${terraform_data.zzz.id} ${local.zzz}"})))

    def test_replace_triggered_by_makes_one(self) -> None:
        lifecycle = {"replace_triggered_by": ["terraform_data.a.output"]}
        self.assertEqual("b>a", edges(data(a={}, b={"lifecycle": lifecycle})))

    def test_nothing_can_need_an_output(self) -> None:
        document = data(a={"input": "${output.o}"})
        document["output"] = {"o": {"value": "x"}}
        self.assertEqual("", edges(document))

    def test_an_output_needs_its_value_and_its_depends_on(self) -> None:
        document = data(a={}, b={})
        document["output"] = {"o": {"value": A, "depends_on": ["terraform_data.b"]}}
        self.assertEqual("output.o>a b", edges(document))

    def test_an_override_file_replaces_an_argument_and_its_edge(self) -> None:
        loaded = config(data(a={}, b={}, c={"input": A}), override_tf_json=data(c={"input": B}))
        self.assertEqual("c>b", short(drawn(main.resource_graph(loaded))))

    def test_the_order_of_files_and_blocks_is_irrelevant(self) -> None:
        one = main.config_graph(config(data(c={"input": B}, a={}, b={"input": A})))[0]
        two = main.config_graph(config(data(b={"input": A}), other_tf_json=data(a={}, c={"input": B})))[0]
        self.assertEqual(one, two)


class LocalsAreLookedThrough(unittest.TestCase):

    def test_a_chain_of_locals_ends_at_the_resources(self) -> None:
        self.assertEqual("b>a", resources({**data(a={}, b={"input": "${local.x}"}),
                                           "locals": {"x": "${local.y}", "y": ["${local.z}"], "z": A}}))

    def test_naming_a_local_takes_all_of_it(self) -> None:
        self.assertEqual("b>a", resources({**data(a={}, b={"input": "${local.m.literal}"}),
                                           "locals": {"m": {"literal": "x", "other": A}}}))

    def test_an_unused_local_orders_nothing(self) -> None:
        self.assertEqual("", resources({**data(a={}, b={}), "locals": {"x": A}}))

    def test_depends_on_may_name_a_local(self) -> None:
        self.assertEqual("b>a", resources({**data(a={}, b={"depends_on": ["local.x"]}), "locals": {"x": A}}))


class Contraction(unittest.TestCase):

    def contracted(self, text: str, keep: str) -> str:
        return drawn(main.contract(deps(text), keep.split()))

    def test_a_path_through_others_is_one_edge(self) -> None:
        self.assertEqual("a>c d", self.contracted("a>x c, x>y d, y>c", "a c d"))

    def test_a_node_without_edges_stays(self) -> None:
        self.assertEqual({"a": set()}, main.contract(deps("a>x"), ["a"]))

    def test_the_graph_that_is_given_stays_as_it_is(self) -> None:
        graph = deps("a>x, b>x y, x>y, y>c d")
        main.contract(graph, "abcd")
        self.assertEqual(deps("a>x, b>x y, x>y, y>c d"), graph)

    def test_a_loop_among_the_others_is_looked_through_too(self) -> None:
        self.assertEqual("a>c d, b>c d", self.contracted("a>x, b>y, x>y c, y>z, z>x d", "a b c d"))

    def test_a_loop_through_others_stays_a_loop(self) -> None:
        self.assertEqual("a>a", self.contracted("a>x, x>a", "a"))

    def test_a_long_chain_of_growing_locals_costs_no_more_than_its_last(self) -> None:
        count = 5_000  # as sets that are all kept these would be 12 million entries
        graph = {f"x{n}": {f"x{n - 1}", f"a{n}"} if n else {"a0"} for n in range(count)}
        graph.update((f"a{n}", set()) for n in range(count))
        graph["user"] = {f"x{count - 1}"}
        self.assertEqual(count, len(main.contract(graph, [n for n in graph if n[0] != "x"])["user"]))

    def test_it_keeps_reachability_among_the_kept(self) -> None:
        source = random.Random(11)
        for _ in range(200):
            names = [f"n{n}" for n in range(source.randrange(2, 14))]
            graph = {name: {other for other in names if source.random() < 0.15} for name in names}
            keep = {name for name in names if source.random() < 0.6}
            found = main.contract(graph, keep)
            for name in keep:
                self.assertEqual(main.reachable(graph, name) & keep, main.reachable(found, name))


class EveryEdgeHasACause(unittest.TestCase):

    def test_it_is_the_argument_the_text_and_the_line(self) -> None:
        document = '{"resource": {"terraform_data": {\n"a": {},\n"b": {\n"input":\n"x-${terraform_data.a.id}"}}}}'
        loaded = config(document)
        found = main.config_graph(loaded)[1]["terraform_data.b", "terraform_data.a"]
        self.assertEqual(("input", "x-${terraform_data.a.id}", False), (found.argument, found.text, found.explicit))
        place = main.placed([main.Diagnostic("here", spot=found.spot)], loaded.sources)[0].place
        self.assertEqual(("main.tf.json", 5), place[:2] if place else None)

    def test_the_way_into_a_value_is_written_as_an_expression_would(self) -> None:
        document = data(a={}, b={"input": [0, {"k": {"k k": [A]}}]})
        self.assertEqual('input[1].k["k k"][0]', cause(document, "terraform_data.b", "terraform_data.a").argument)

    def test_of_several_the_first_in_the_file_is_kept(self) -> None:
        document = data(a={}, b={"triggers_replace": [1, A], "input": A, "depends_on": ["terraform_data.a"]})
        self.assertEqual("triggers_replace[1]", cause(document, "terraform_data.b", "terraform_data.a").argument)

    def test_a_local_is_named_by_its_own_key(self) -> None:
        document = {**data(a={}), "locals": {"x": {"y": A}}}
        self.assertEqual("x.y", cause(document, "local.x", "terraform_data.a").argument)

    def test_a_long_text_is_cut_down_to_its_reference(self) -> None:
        document = data(a={}, b={"input": "x" * 200 + A})
        self.assertEqual("...${terraform_data.a.id}...", cause(document, "terraform_data.b", "terraform_data.a").text)

    def test_no_edge_is_without_one(self) -> None:
        graph, causes = main.config_graph(main.load_config(str(FIXTURES / "demo")))
        self.assertEqual({(node, dep) for node, found in graph.items() for dep in found}, set(causes))


class ExplicitEdges(unittest.TestCase):

    def explicit(self, document: Dict[str, Any]) -> List[str]:
        graph, causes = main.config_graph(config(document))
        found = main.explicit_edges(graph, causes, main.resource_graph(config(document), graph))
        return sorted(short(">".join(edge)) for edge in found)

    def test_depends_on_makes_them(self) -> None:
        self.assertEqual(["b>a"], self.explicit(data(a={}, b={"depends_on": ["terraform_data.a"]})))

    def test_a_reference_beside_it_takes_precedence(self) -> None:
        self.assertEqual([], self.explicit(data(a={}, b={"depends_on": ["terraform_data.a"], "input": A})))

    def test_so_does_one_through_a_local(self) -> None:
        document = data(a={}, b={"depends_on": ["terraform_data.a"], "input": "${local.x}"})
        self.assertEqual([], self.explicit({**document, "locals": {"x": A}}))

    def test_depends_on_a_local_is_explicit_down_to_the_resource(self) -> None:
        document = data(a={}, b={"depends_on": ["local.x"]})
        self.assertEqual(["b>a"], self.explicit({**document, "locals": {"x": A}}))


class ACycleIsReportedWithItsCauses(unittest.TestCase):

    def error(self, document: Any) -> main.CycleError:
        loaded = config(json.dumps(document))
        found = main.cycle_error(loaded, *main.config_graph(loaded))
        assert found is not None
        return found

    def test_the_lesson_s_loop(self) -> None:
        loaded = main.load_config(str(FIXTURES / "cycle"))
        error = main.cycle_error(loaded, *main.config_graph(loaded))
        assert error is not None
        self.assertEqual("Cycle: terraform_data.a -> terraform_data.c -> terraform_data.b -> terraform_data.a",
                         error.diagnostics[0].summary)
        self.assertEqual([
            'terraform_data.a needs terraform_data.c: input = "${terraform_data.c.output}" (main.tf.json:3)',
            'terraform_data.c needs terraform_data.b: input = "${terraform_data.b.output}" (main.tf.json:5)',
            'terraform_data.b needs terraform_data.a: input = "${terraform_data.a.output}" (main.tf.json:4)',
        ], error.diagnostics[0].detail.splitlines()[:3])
        self.assertEqual([f"terraform_data.{name}" for name in "acba"], error.path)

    def test_who_only_needs_the_loop_is_not_named(self) -> None:
        error = self.error(data(a={"input": B}, b={"input": A}, d={"input": A}))
        self.assertNotIn("terraform_data.d", str(error))

    def test_no_loop_no_error(self) -> None:
        loaded = config(data(a={}, b={"input": A}))
        self.assertIsNone(main.cycle_error(loaded, *main.config_graph(loaded)))

    def test_a_depends_on_entry_is_marked(self) -> None:
        error = self.error(data(a={"input": B}, b={"depends_on": ["terraform_data.a"]}))
        self.assertEqual(
            'terraform_data.b needs terraform_data.a: depends_on = ["terraform_data.a"] (main.tf.json:1), '
            "which can simply be removed", error.diagnostics[0].detail.splitlines()[1])
        self.assertIn("Remove a depends_on entry", error.diagnostics[0].detail)

    def test_replace_triggered_by_has_its_line(self) -> None:
        error = self.error(data(a={"input": B}, b={"lifecycle": {"replace_triggered_by": ["terraform_data.a"]}}))
        self.assertEqual(
            'terraform_data.b needs terraform_data.a: lifecycle.replace_triggered_by = ["terraform_data.a"] '
            "(main.tf.json:1)", error.diagnostics[0].detail.splitlines()[1])

    def test_locals_are_members(self) -> None:
        error = self.error({**data(a={"input": "${local.x}"}), "locals": {"x": A}})
        self.assertEqual(["local.x", "terraform_data.a", "local.x"], error.path)

    def test_two_loops_are_two_diagnostics(self) -> None:
        loaded = main.load_config(str(FIXTURES / "cycle-eight"))
        error = main.cycle_error(loaded, *main.config_graph(loaded))
        assert error is not None
        self.assertEqual(["Cycle: terraform_data.a -> terraform_data.b -> terraform_data.a",
                          "Cycle: terraform_data.a -> terraform_data.c -> terraform_data.a"],
                         [found.summary for found in error.diagnostics])

    def test_an_edge_that_all_loops_share_is_named(self) -> None:
        error = self.error(data(a={"input": B}, b={"input": ["${terraform_data.c.id}", A]}, c={"input": A}))
        self.assertIn("Every loop here goes through terraform_data.a -> terraform_data.b.", error.diagnostics[0].detail)

    def test_a_long_loop_shows_its_two_ends(self) -> None:
        names = [f"n{n:03}" for n in range(300)]
        error = self.error(data(**{name: {"input": "${terraform_data.%s.id}" % names[n - 1]}
                                   for n, name in enumerate(names)}))
        self.assertIn("(241 more names)", error.diagnostics[0].summary)
        self.assertIn("(240 more edges)", error.diagnostics[0].detail)
        self.assertEqual(301, len(error.path))

    def test_of_many_loops_the_rest_is_counted(self) -> None:
        names = [f"n{n:02}" for n in range(12)]
        error = self.error(data(**{
            name: {"input": ["${terraform_data.%s.id}" % other for other in names if other != name]} for name in names}))
        self.assertEqual(21, len(error.diagnostics))
        self.assertEqual("Not shown: 0 more loops, and all that go through 92 edges on none of those. "
                         "Break the ones above first.", error.diagnostics[-1].detail)


if __name__ == "__main__":
    unittest.main()
