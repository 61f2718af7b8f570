"""What must hold for every stack and every edit, tried on random ones in this process; needs no other tool.

python3 code/tests/test_properties.py --count 2000 [--seed S]    a long hunt that cuts failures down
"""

from __future__ import annotations

import json
import os
import random
import re
import shutil
import sys
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List, Set, Tuple

import cases
import differential
from differential import Config, Move

STACKS = int(os.environ.get("MINIGRAPH_PROPERTIES", "40"))

# --------------------------------------------------------------------------------------
# the rules once more, sharing nothing with main.py
# needs({"resource": {"terraform_data": {"b": {"input": "${terraform_data.a.id}"}, "a": {}}}})
#   ->  {"terraform_data.b": {"terraform_data.a"}, "terraform_data.a": set()}
# --------------------------------------------------------------------------------------


def names_in(value: Any, bare: bool = False) -> Set[str]:
    """Return the resources and locals that a value refers to; ``bare``: its strings are references."""
    if isinstance(value, dict):
        return {
            name
            for key, item in value.items()
            for name in names_in(item, bare or key in ("depends_on", "replace_triggered_by")) | names_in(key)
        }
    if isinstance(value, list):
        return {name for item in value for name in names_in(item, bare)}
    if not isinstance(value, str):
        return set()
    pattern = (
        r"^(terraform_data|local)\.([\w-]+)" if bare else r"(?<!\$)\$\{ ?(terraform_data|local)\.([\w-]+)"
    )
    return {f"{kind}.{name}" for kind, name in re.findall(pattern, value)}


def needs(config: Config) -> cases.Deps:
    """Return what each resource reaches in the configuration, locals looked through."""
    graph = {
        f"terraform_data.{name}": names_in({key: item for key, item in body.items() if key != "//"})
        for name, body in differential.section(config, "resource").items()
    }
    graph.update({f"local.{name}": names_in(value) for name, value in config.get("locals", {}).items()})
    whole = cases.closure(graph)
    return {
        name: {need for need in found if not need.startswith("local.") and need != name}
        for name, found in whole.items()
        if not name.startswith("local.")
    }


def created_first(config: Config, reach: cases.Deps) -> Set[str]:
    """Return the resources that are replaced create-first: those that say so and all that they reach."""
    asked = {
        f"terraform_data.{name}"
        for name, body in differential.section(config, "resource").items()
        if body.get("lifecycle", {}).get("create_before_destroy") in (True, "true")
    }
    return asked | {need for name in asked for need in reach[name]}


def step_rules(move: Move, actions: Dict[str, str], stored: Dict[str, Any]) -> cases.Deps:
    """Return the apply graph by the six rules, loops and all (no targets)."""
    reach = needs(move.config)
    first = created_first(move.config, reach)
    used = {name: used_in_apply(name, move, actions, reach, stored) for name in {*reach, *stored}}
    work = {name for name, action in actions.items() if action not in ("no-op", "delete")}
    destroys: Dict[str, List[str]] = {}  # address -> its destroy steps
    for name, action in actions.items():
        if name.endswith(" (deposed)"):
            destroys.setdefault(name[:-10], []).append(name.replace("(deposed)", "(destroy deposed)"))
        elif action == "delete" or action.endswith("replace"):
            destroys.setdefault(name, []).append(f"{name} (destroy)")
    turned = {
        step
        for name, steps in destroys.items()
        for step in steps
        if step.endswith("deposed)")
        or (name in first if name in reach else stored[name].get("create_before_destroy"))
    }
    graph: cases.Deps = {name: reach[name] & work for name in work}  # rule 1
    graph.update({step: set() for steps in destroys.values() for step in steps})
    for name, steps in destroys.items():
        for step in steps:
            for need in used.get(name, ()):  # rule 2
                for other in destroys.get(need, ()):
                    graph[other].add(step)
            users = {user for user, found in used.items() if name in found}
            near = ({name} | users | used.get(name, set())) & work  # rules 3, 4, 5
            if step in turned:  # rule 6
                graph[step] |= near
            else:
                for other in near:
                    graph[other].add(step)
    return graph


def used_in_apply(
    name: str, move: Move, actions: Dict[str, str], reach: cases.Deps, stored: Dict[str, Any]
) -> Set[str]:
    """Return the dependencies that the apply graph sees: configured, stored, or both."""
    recorded = set(stored.get(name, {}).get("dependencies", ()))
    if name not in reach:
        return recorded
    if name not in stored:
        return reach[name]
    if "-refresh=false" in move.args:
        return recorded
    return reach[name] if actions.get(name) == "no-op" else reach[name] | recorded


# --------------------------------------------------------------------------------------
# properties
# broken(moves, Minigraph(), "/tmp/x")  ->  ["move 2 (apply): the next plan is not empty"]
# --------------------------------------------------------------------------------------


def broken(scenario: List[Move], tool: Any, directory: str) -> List[str]:
    """Return what does not hold, up to the first move that shows anything."""
    for number, move in enumerate(scenario, 1):
        Path(directory, "main.tf.json").write_text(json.dumps(move.config), encoding="utf-8")
        found = broken_in_move(move, tool, directory)
        if found:
            return [f"move {number} ({' '.join((move.command, *move.args))}): {text}" for text in found]
    return []


def broken_in_move(move: Move, tool: Any, directory: str) -> List[str]:
    """Return what does not hold in one move."""
    stored = cases.read_state(directory)
    facts = differential.take(move, tool, directory)
    if facts["plan_exit"] or facts["apply_exit"] or facts["err"]:
        return [f"exits {facts['plan_exit']}, {facts.get('apply_exit')}: {cases.error_lines(facts['err'])}"]
    found = broken_drawing(move, facts)
    graph, whole = facts["step_graph"], cases.closure(facts["step_graph"])
    loop = cases.find_loop(graph)
    if loop:
        return found + [f"the graph of steps has a loop at {loop}"]
    if cases.reduced(graph) != {(name, need) for name in graph for need in graph[name]}:
        found.append("the graph of steps has an edge that a path implies")
    hard = cases.hard_edges(facts["actions"], needs(move.config), stored, move.command == "destroy")
    found += [
        f"hard edge missing: {name} waits for {need}"
        for name in sorted(hard)
        for need in sorted(hard[name])
        if name in graph and need in graph and need not in whole[name]
    ]
    found += [f"log: {text}" for text in cases.broken_orders(facts["log"], graph)]
    found += broken_rules(move, facts, stored)
    return found + differential.quiet(move, tool, directory, "afterwards")


def broken_drawing(move: Move, facts: cases.Facts) -> List[str]:
    """Return what is wrong with the drawn configuration graph."""
    edges = {(name, need) for name, need in facts["resource_edges"]}
    drawn = cases.closure(cases.edges_to_graph(facts["resource_nodes"], edges))
    reach = needs(move.config)
    return [
        f"{name} reaches {sorted(drawn.get(name, ()))} in the drawing, {sorted(reach[name])} in the file"
        for name in sorted(reach)
        if drawn.get(name) != reach[name]
    ]


def broken_rules(move: Move, facts: cases.Facts, stored: Dict[str, Any]) -> List[str]:
    """Return how the graph of steps differs from the rules, wherever these have no loop."""
    if move.command == "destroy" or any(arg.startswith("-target") for arg in move.args):
        return []
    expected = step_rules(move, facts["actions"], stored)
    if cases.find_loop(expected):
        return []
    return cases.compare(
        {"steps": sorted(expected), "step_edges": sorted(map(list, cases.reduced(expected)))},
        {
            "steps": sorted(facts["step_graph"]),
            "step_edges": sorted(map(list, cases.reduced(facts["step_graph"]))),
        },
    )


def try_seed(seed: int, tool: Any) -> List[str]:
    """Return what does not hold for the stack with this seed."""
    return try_scenario(differential.moves(random.Random(seed)), tool)


def try_scenario(scenario: List[Move], tool: Any) -> List[str]:
    """Return what does not hold for a scenario, tried in a directory of its own."""
    directory = cases.scratch("properties-")
    try:
        return broken(scenario, tool, directory)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


class EveryStack(unittest.TestCase):
    """Whatever is edited: one order, no loop, nothing left to do, nothing left behind."""

    def test_random_stacks_keep_every_rule(self) -> None:
        tool = cases.Minigraph()
        for seed in range(1, STACKS + 1):
            with self.subTest(f"seed {seed}"):
                self.assertEqual(try_seed(seed, tool), [])


class TheRules(unittest.TestCase):
    """The second writing of the rules gives the graphs that were recorded."""

    def test_the_rules_give_every_recorded_step_graph(self) -> None:
        for case in cases.load("graph"):
            stored: Dict[str, Any] = {}
            for number, step in enumerate(case["steps"], 1):
                facts, text = step["facts"], case["files"].get(step["config"], "{}")
                move = Move(json.loads(text), step["command"], tuple(step.get("args", ())))
                if plainly_applied(case, step, text):
                    with self.subTest(f"{case['name']} step {number}"):
                        graph = step_rules(move, facts["actions"], stored)
                        self.assertEqual(
                            (sorted(graph), sorted(map(list, cases.reduced(graph)))),
                            (facts["steps"], facts["step_edges"]),
                        )
                stored = facts.get("state", stored)


def plainly_applied(case: cases.Case, step: cases.Facts, text: str) -> bool:
    """Return whether a recorded step is a whole apply of terraform_data alone."""
    return (
        step["command"] == "apply"
        and "steps" in step["facts"]
        and case.get("subset", True)
        and not re.search(r"local_file|random_pet|time_sleep|provisioner", text)
        and not any(arg.startswith("-target") for arg in step.get("args", ()))
    )


def smallest(scenario: List[Move], found: List[str], tool: Any) -> Tuple[List[Move], List[str]]:
    """Return the smallest scenario that breaks the same rule, and what it shows."""
    kind = differential.kind_of(found)
    scenario = differential.shrink(
        scenario, lambda moves: differential.kind_of(try_scenario(moves, tool)) == kind, 60
    )
    return scenario, try_scenario(scenario, tool) or found


def main(argv: List[str]) -> int:
    """Hunt with --count and --seed; return 1 where something does not hold."""
    options = dict(zip(argv[::2], argv[1::2]))
    first, count = int(options.get("--seed", "1")), int(options["--count"])
    tool, bad, start = cases.Minigraph(), 0, time.monotonic()
    for seed in range(first, first + count):
        found = try_seed(seed, tool)
        if found:
            bad += 1
            scenario, found = smallest(differential.moves(random.Random(seed)), found, tool)
            place = differential.write_reproduction(scenario, found, seed, options.get("--keep"))
            print(f"seed {seed}: {place}")
            print("\n".join(f"    {text}" for text in found[:6]), flush=True)
    print(f"{count - bad} of {count} stacks keep every rule ({time.monotonic() - start:.1f} s)")
    return 1 if bad else 0


if __name__ == "__main__":
    if "--count" in sys.argv:
        sys.exit(main(sys.argv[1:]))
    unittest.main()
