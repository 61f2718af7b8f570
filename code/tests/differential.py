#!/usr/bin/env python3
"""Take random terraform_data stacks through minigraph and the real tool, and print where the two part.

    python3 code/tests/differential.py [--count N] [--seed S] [--jobs J] [--keep DIR] [--ignore PATTERN]
                                       [--no-shrink] [--twice]

Each stack is a list of moves (a configuration, a command, its arguments). Three directories see every move:
one with the real tool alone, one with minigraph alone, one in which they take turns on the same state.
Compared are the reduced graph, actions, reasons, unknowns, summaries, the reduced graph of steps, the order
in the log, exit statuses, and everything that the state records. Where the real engine stops with a loop of
steps, minigraph has to apply in an order that keeps the hard edges, and the real tool has to find nothing to
do afterwards.

A difference is cut down to the fewest moves, resources and arguments that still show it, and left in a
directory with step1.tf.json, ... and a script. ``--twice`` compares the real tool with itself, ``--ignore``
passes over differences whose sentence matches, to find what lies behind a known one.
"""

from __future__ import annotations

import copy
import json
import os
import random
import re
import shutil
import sys
import tempfile
import time
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set, Tuple

import cases

Config = Dict[str, Any]
NAMES = ("a", "b", "c-1", "d_x", "e", "f-g-h", "for", "h2", "i", "j--k")
LOCALS = ("l", "m-n", "o_p", "q")
OUTPUTS = ("out", "o-2", "z_3")
WORDS = ("x", "y", "v1", "v2", "true", "1", "", "é <&>")
REFERENCE = re.compile(r"\$\{(terraform_data|local)\.([\w-]+)([^}]*)\}")


class Move(NamedTuple):
    """One configuration and what is done with it."""

    config: Config
    command: str = "apply"  # or "destroy"
    args: Tuple[str, ...] = ()


# --------------------------------------------------------------------------------------
# random stacks
# moves(Random(1))  ->  [Move({"resource": ...}, "apply"), Move(..., "apply", ("-replace=a.x",)), ...]
# --------------------------------------------------------------------------------------


class Stack:
    """A configuration under edit. ``order`` holds resources and locals; each refers to earlier ones alone."""

    def __init__(self, dice: random.Random, size: int) -> None:
        self.dice = dice
        self.order: List[str] = []
        self.bodies: Dict[str, Any] = {}
        self.outputs: Dict[str, Any] = {}
        self.settled: Set[str] = (
            set()
        )  # what surely exists: terraform and OpenTofu differ on replace_triggered_by a creation
        for _ in range(size):
            self.add_resource()
        for name in dice.sample(LOCALS, dice.randint(0, 3)):
            self.place(f"local.{name}")
        for name in dice.sample(OUTPUTS, dice.randint(0, 2)):
            self.outputs[name] = {"value": self.value(self.order, 1)}
        self.repair()

    def add_resource(self) -> None:
        """Put a new resource somewhere in the order."""
        free = [name for name in NAMES if f"terraform_data.{name}" not in self.bodies]
        if free:
            self.place(f"terraform_data.{self.dice.choice(free)}")

    def place(self, node: str) -> None:
        """Put a node at a random place, with a value that refers to what stands before it."""
        at = self.dice.randint(0, len(self.order))
        self.order.insert(at, node)
        self.bodies[node] = (
            self.value(self.order[:at], 2) if node.startswith("local.") else self.body(self.order[:at])
        )

    def body(self, before: List[str]) -> Dict[str, Any]:
        """Return arguments for a resource that may refer to these nodes."""
        dice, body = self.dice, {}
        if dice.random() < 0.8:
            body["input"] = self.value(before, 2)
        if dice.random() < 0.5:
            body["triggers_replace"] = (
                self.value(before, 2) if dice.random() < 0.6 else dice.choice(WORDS[:4])
            )
        if before and dice.random() < 0.25:
            body["depends_on"] = sorted(set(dice.choices(before, k=dice.randint(1, 2))))
        lifecycle: Dict[str, Any] = {}
        if dice.random() < 0.3:
            lifecycle["create_before_destroy"] = dice.choice((True, True, True, False, "true"))
        resources = [node for node in before if node in self.settled]
        if resources and dice.random() < 0.3:
            lifecycle["replace_triggered_by"] = [
                dice.choice(resources) + dice.choice(("", "", ".input", ".output", ".id"))
            ]
        if lifecycle:
            body["lifecycle"] = lifecycle
        return body

    def value(self, before: List[str], depth: int) -> Any:
        """Return a random value that may refer to these nodes."""
        kind = self.dice.random()
        if kind < 0.2 or not before:
            return self.literal()
        if kind < 0.65 or depth == 0:
            return self.reference(before)
        if kind < 0.75:
            return self.text(before)
        if kind < 0.87:
            return [self.value(before, depth - 1) for _ in range(self.dice.randint(0, 3))]
        found = {
            self.dice.choice("kmn"): self.value(before, depth - 1) for _ in range(self.dice.randint(1, 3))
        }
        if self.dice.random() < 0.15:
            found[self.text(before)] = "by key"
        return found

    def literal(self) -> Any:
        """Return a value without references."""
        return self.dice.choice(
            (*WORDS, 1, 0, 1.5, -2, True, False, None, [], {}, ["p", 2], {"k": "v", "m": [1]}, "$${x} %%{y}")
        )

    def reference(self, before: List[str]) -> str:
        """Return one plain reference, to a whole object, an attribute, or something inside."""
        node = self.dice.choice(before)
        if node.startswith("local."):
            return "${" + node + self.inside(self.bodies[node]) + "}"
        attribute = self.dice.choice(
            ("id", "id", "id", "id", "input", "output", "output", "triggers_replace", "")
        )
        inside = self.inside(self.bodies[node].get("input")) if attribute in ("input", "output") else ""
        gap = self.dice.choice(("", "", "", " "))
        return "${" + gap + node + (f".{attribute}" if attribute else "") + inside + gap + "}"

    def inside(self, value: Any) -> str:
        """Return steps into a literal object or list, or nothing."""
        if self.dice.random() < 0.5:
            return ""
        if isinstance(value, dict) and any(re.match(r"^[a-z]$", key) for key in value):
            key = self.dice.choice(sorted(key for key in value if re.match(r"^[a-z]$", key)))
            return self.dice.choice((f".{key}", f'["{key}"]'))
        if isinstance(value, list) and value:
            return f"[{self.dice.randrange(len(value))}]"
        return ""

    def text(self, before: List[str]) -> str:
        """Return a string that holds several references to things that are strings."""
        resources = [node for node in before if node.startswith("terraform_data.")]
        parts = [
            f"${{{self.dice.choice(resources)}.id}}" for _ in range(self.dice.randint(1, 3)) if resources
        ]
        return "-".join(["t", *parts])

    def repair(self) -> None:
        """Write anew whatever refers to something that is gone, stands later, or has another shape now."""
        for _ in range(20):
            broken = [
                node
                for at, node in enumerate(self.order)
                if not self.holds(self.bodies[node], self.order[:at])
            ]
            for node in broken:
                at = self.order.index(node)
                self.bodies[node] = self.mended(self.bodies[node], self.order[:at])
            lost = [name for name, body in self.outputs.items() if not self.holds(body, self.order)]
            for name in lost:
                self.outputs[name] = {"value": self.value(self.order, 1)}
            if not broken and not lost:
                return
        raise AssertionError("the stack cannot be repaired")

    def mended(self, body: Any, before: List[str]) -> Any:
        """Return a body in which the broken arguments are written anew."""
        if not isinstance(body, dict) or not set(body) <= {
            "input",
            "triggers_replace",
            "depends_on",
            "lifecycle",
        }:
            return self.value(before, 1)
        fresh = {}
        for key, item in body.items():
            if key == "depends_on":
                item = [node for node in item if node in before]
            elif key == "lifecycle":
                rtb = [text for text in item.get("replace_triggered_by", ()) if self.node_of(text) in before]
                item = {
                    **{name: flag for name, flag in item.items() if name != "replace_triggered_by"},
                    **({"replace_triggered_by": rtb} if rtb else {}),
                }
            elif not self.holds(item, before):
                item = self.value(before, 1)
            if item not in ({}, []) or key in ("input", "triggers_replace"):
                fresh[key] = item
        return fresh

    @staticmethod
    def node_of(text: str) -> str:
        """Return the node that a bare reference names."""
        return ".".join(text.split(".")[:2])

    def holds(self, value: Any, before: List[str]) -> bool:
        """Return whether every reference in a value is good."""
        if isinstance(value, dict):
            if set(value) & {"depends_on", "lifecycle"}:
                bare = [
                    *value.get("depends_on", ()),
                    *value.get("lifecycle", {}).get("replace_triggered_by", ()),
                ]
                if any(self.node_of(text) not in before for text in bare):
                    return False
            return all(self.holds(key, before) and self.holds(item, before) for key, item in value.items())
        if isinstance(value, list):
            return all(self.holds(item, before) for item in value)
        if not isinstance(value, str):
            return True
        found = re.findall(r"(?<!\$)\$\{ ?(terraform_data|local)\.([\w-]+)([^} ]*) ?\}", value)
        return all(self.leads_somewhere(f"{kind}.{name}", rest, before) for kind, name, rest in found)

    def leads_somewhere(self, node: str, rest: str, before: List[str]) -> bool:
        """Return whether one reference names an earlier node and something that it has."""
        if node not in before:
            return False
        steps = re.findall(r"\.([\w-]+)|\[\"([\w-]+)\"\]|\[(\d+)\]", rest)
        value = self.bodies[node]
        if node.startswith("terraform_data."):
            if len(steps) < 2:
                return True
            value = value.get("input")
            steps = steps[1:]
        for name, key, index in steps:
            if index:
                if not isinstance(value, list) or int(index) >= len(value):
                    return False
                value = value[int(index)]
            elif not isinstance(value, dict) or (name or key) not in value:
                return False
            else:
                value = value[name or key]
        return True

    def edit(self) -> None:
        """Make one random change."""
        self.dice.choice(self.edits())()
        self.repair()

    def edits(self) -> List[Callable[[], None]]:
        """Return the changes that can be made, the more telling ones several times."""
        return [
            self.add_resource,
            self.remove,
            self.remove,
            self.change_input,
            self.change_input,
            self.change_trigger,
            self.change_trigger,
            self.change_trigger,
            self.toggle_order,
            self.toggle_order,
            self.redirect,
            self.redirect,
            self.swap,
            self.swap,
            self.drop_dependency,
            self.drop_dependency,
            self.explicit,
            self.trigger,
            self.change_local,
            self.change_output,
        ]

    def resource(self) -> Tuple[str, Dict[str, Any]]:
        """Return a random resource with its arguments."""
        node = self.dice.choice([node for node in self.order if node.startswith("terraform_data.")])
        return node, self.bodies[node]

    def before(self, node: str) -> List[str]:
        """Return the nodes that this one may refer to."""
        return self.order[: self.order.index(node)]

    def remove(self) -> None:
        """Remove a resource (never the last one)."""
        node, _ = self.resource()
        if sum(other.startswith("terraform_data.") for other in self.order) > 1:
            self.order.remove(node)
            del self.bodies[node]

    def change_input(self) -> None:
        """Give a resource another plain input."""
        _, body = self.resource()
        body["input"] = self.literal()

    def change_trigger(self) -> None:
        """Force the replacement of a resource."""
        _, body = self.resource()
        body["triggers_replace"] = f"t{self.dice.randint(1, 99)}"

    def toggle_order(self) -> None:
        """Turn create_before_destroy on or off."""
        _, body = self.resource()
        lifecycle = dict(body.get("lifecycle", {}))
        if lifecycle.pop("create_before_destroy", False) is False:
            lifecycle["create_before_destroy"] = True
        body["lifecycle"] = lifecycle

    def redirect(self) -> None:
        """Let an argument refer to something else."""
        node, body = self.resource()
        body[self.dice.choice(("input", "input", "triggers_replace"))] = self.value(self.before(node), 1)

    def swap(self) -> None:
        """Turn round which of two resources refers to the other."""
        (left, _), (right, _) = self.resource(), self.resource()
        first, second = sorted((self.order.index(left), self.order.index(right)))
        self.order[first], self.order[second] = self.order[second], self.order[first]
        self.repair()
        late = self.order[second]
        if first != second and late.startswith("terraform_data."):
            self.bodies[late][self.dice.choice(("input", "triggers_replace"))] = (
                f"${{{self.order[first]}.id}}"
            )

    def drop_dependency(self) -> None:
        """Remove an argument."""
        _, body = self.resource()
        if body:
            del body[self.dice.choice(sorted(body))]

    def explicit(self) -> None:
        """Give a resource another depends_on."""
        node, body = self.resource()
        if self.before(node):
            body["depends_on"] = [self.dice.choice(self.before(node))]

    def trigger(self) -> None:
        """Give a resource a replace_triggered_by."""
        node, body = self.resource()
        resources = [other for other in self.before(node) if other in self.settled]
        if resources:
            body["lifecycle"] = {
                **body.get("lifecycle", {}),
                "replace_triggered_by": [self.dice.choice(resources)],
            }

    def drop_triggers(self) -> None:
        """Take every replace_triggered_by away: what it names may not be there any more."""
        for node, body in self.bodies.items():
            if node.startswith("terraform_data."):
                body.get("lifecycle", {}).pop("replace_triggered_by", None)

    def change_local(self) -> None:
        """Write a local anew, or add one."""
        node = f"local.{self.dice.choice(LOCALS)}"
        if node in self.bodies:
            self.bodies[node] = self.value(self.before(node), 2)
        else:
            self.place(node)

    def change_output(self) -> None:
        """Write an output anew, add one, or remove one."""
        name = self.dice.choice(OUTPUTS)
        if self.outputs.pop(name, None) is None or self.dice.random() < 0.5:
            self.outputs[name] = {"value": self.value(self.order, 1)}

    def config(self) -> Config:
        """Return the configuration as it would be written."""
        resources = {
            node.partition(".")[2]: self.bodies[node]
            for node in self.order
            if node.startswith("terraform_data.")
        }
        names = {
            node.partition(".")[2]: self.bodies[node] for node in self.order if node.startswith("local.")
        }
        parts = {"locals": names, "resource": {"terraform_data": resources}, "output": self.outputs}
        return copy.deepcopy({key: part for key, part in parts.items() if part})


def moves(dice: random.Random, target: bool = True) -> List[Move]:
    """Return a random stack taken through a few edits, up to its destruction."""
    stack = Stack(dice, dice.randint(3, 6))
    found = [Move(stack.config())]
    stack.settled = {node for node in stack.order if node.startswith("terraform_data.")}
    for _ in range(dice.randint(2, 3)):
        if dice.random() < 0.07:
            found.append(
                Move(
                    stack.config(),
                    "destroy",
                    any_target(dice, stack) if target and dice.random() < 0.7 else (),
                )
            )
            stack.settled = set()
            stack.drop_triggers()
        for _ in range(dice.randint(2, 5)):
            stack.edit()
        found.append(Move(stack.config(), "apply", any_args(dice, stack, target)))
        if not any(arg.startswith("-target") for arg in found[-1].args):
            stack.settled = {node for node in stack.order if node.startswith("terraform_data.")}
    if dice.random() < 0.4:
        stack.edit()
    found.append(Move(stack.config(), "destroy", ("-refresh=false",) if dice.random() < 0.2 else ()))
    return found


def any_args(dice: random.Random, stack: Stack, target: bool) -> Tuple[str, ...]:
    """Return arguments for an apply, mostly none."""
    kind = dice.random()
    if kind < 0.12:
        return (f"-replace={stack.resource()[0]}",)
    if kind < 0.22 and target:
        return any_target(dice, stack)
    return ("-refresh=false",) if kind < 0.26 else ()


def any_target(dice: random.Random, stack: Stack) -> Tuple[str, ...]:
    """Return one or two targets."""
    return tuple(sorted({f"-target={stack.resource()[0]}" for _ in range(dice.randint(1, 2))}))


# --------------------------------------------------------------------------------------
# comparing
# differences(moves, real, ours, "/tmp/x")  ->  ["move 2: actions: a.x is update, the real engine's replace"]
# --------------------------------------------------------------------------------------


def differences(
    scenario: List[Move], real: Any, ours: Any, directory: str, ignore: str = "(?!)"
) -> List[str]:
    """Return where the tools part, up to the first move that shows anything."""
    places = {name: os.path.join(directory, name) for name in ("real", "ours", "turns")}
    for place in places.values():
        os.makedirs(place)
    for number, move in enumerate(scenario):
        for place in places.values():
            Path(place, "main.tf.json").write_text(json.dumps(move.config, indent=1), encoding="utf-8")
        found = compare_move(move, real, ours, places) or take_turn(number, move, real, ours, places)
        found = [text for text in found if not re.search(ignore, text)]
        if found:
            return [
                f"move {number + 1} ({move.command}{''.join(' ' + arg for arg in move.args)}): {text}"
                for text in found
            ]
    return []


def compare_move(move: Move, real: Any, ours: Any, places: Dict[str, str]) -> List[str]:
    """Return where the two tools part in their own directories."""
    stored = cases.read_state(places["real"])
    theirs, mine = take(move, real, places["real"]), take(move, ours, places["ours"])
    if "Error: Cycle" in theirs["err"]:
        return after_false_cycle(move, real, theirs, mine, stored, places)
    found = cases.compare(
        {key: theirs[key] for key in ("resource_nodes", "resource_edges", "plan_exit")}, mine
    )
    if found or theirs["plan_exit"]:
        return found
    told = cases.compare({key: theirs[key] for key in PLANNED}, mine)
    told += same_steps(move, theirs, mine)
    told += [f"log: {text}" for text in cases.broken_orders(mine["log"], theirs["step_graph"])]
    if mine["err"]:
        told.append(f"says on stderr: {cases.last_line(mine['err'])}")
    targeted = any(arg.startswith("-target") for arg in move.args)
    if not behind(theirs):
        if targeted:
            theirs["state"], mine["state"] = without_flags(theirs["state"]), without_flags(mine["state"])
        told += cases.compare({key: theirs[key] for key in APPLIED if counted(key, theirs)}, mine)
    if behind(theirs) or targeted:
        # The real engine leaves deposed objects behind where a target needs only their successors, and
        # terraform and OpenTofu differ on the flags that a targeted apply records: go on from one state.
        if os.path.exists(os.path.join(places["real"], "terraform.tfstate")):
            shutil.copy(os.path.join(places["real"], "terraform.tfstate"), places["ours"])
    return told


def without_flags(state: Dict[str, Any]) -> Dict[str, Any]:
    """Return what a state records besides create_before_destroy."""
    return {
        name: {key: item for key, item in entry.items() if key != "create_before_destroy"}
        for name, entry in state.items()
    }


def counted(key: str, theirs: cases.Facts) -> bool:
    """Return whether a fact of the real tool can be trusted: two destroys of one address it may miscount."""
    steps = theirs["step_graph"]
    return key != "apply_summary" or not any(
        name.replace(" (destroy)", " (destroy deposed)") in steps
        for name in steps
        if name.endswith(" (destroy)")
    )


PLANNED = (
    "actions",
    "reasons",
    "replace_paths",
    "after_unknown",
    "unknown",
    "output_changes",
    "plan_summary",
)
APPLIED = ("apply_exit", "apply_summary", "state", "outputs", "events", "files")


def take(move: Move, tool: Any, directory: str) -> cases.Facts:
    """Return everything that one tool does in one move."""
    left_behind = cases.deposed_keys(directory)
    facts: cases.Facts = cases.graph_facts(tool, directory)
    flags = [*(["-destroy"] if move.command == "destroy" else []), *move.args]
    outcome, document = cases.planned(tool, directory, flags)
    facts.update(
        plan_exit=outcome.status, err=outcome.err, plan_summary=cases.first_match(cases.SUMMARY, outcome.out)
    )
    if outcome.status:
        return facts
    facts.update(cases.plan_facts(document))
    graph = cases.step_graph(tool.run(directory, "graph", "-type=apply", "-plan=plan.bin").out, left_behind)
    applied = tool.run(directory, "apply", "-no-color", "plan.bin")
    log = cases.read_events(applied.out, left_behind)
    facts.update(
        step_graph=graph,
        log=log,
        events=sorted(name for name, kind in log if kind == "start"),
        err=applied.err,
        apply_exit=applied.status,
        apply_summary=cases.first_match(cases.COMPLETE, applied.out),
        state=cases.read_state(directory),
        outputs=marked_values(directory),
        files={},
    )
    return facts


def marked_values(directory: str) -> Dict[str, Any]:
    """Return every stored value and output, with ids that nothing has any more all alike."""
    values = cases.stored_values(cases.state_document(directory))
    text = json.dumps(values, sort_keys=True)
    found: Dict[str, Any] = json.loads(re.sub(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}", "<gone>", text))
    return found


def same_steps(move: Move, theirs: cases.Facts, mine: cases.Facts) -> List[str]:
    """Return where the graphs of steps differ; steps that only minigraph takes are looked through."""
    graph = mine["step_graph"]
    extra = set(graph) - set(theirs["step_graph"]) - behind(theirs)
    graph = (
        {name: needs for name, needs in graph.items()}
        if extra
        else cases.contract(graph, theirs["step_graph"])
    )
    expected = {
        "steps": sorted(theirs["step_graph"]),
        "step_edges": sorted(map(list, cases.reduced(theirs["step_graph"]))),
    }
    loop = cases.find_loop(graph)
    if loop:
        return [f"the graph of steps has a loop at {loop}"]
    return cases.compare(
        expected, {"steps": sorted(graph), "step_edges": sorted(map(list, cases.reduced(graph)))}
    )


def behind(theirs: cases.Facts) -> Set[str]:
    """Return the destroy steps of create_before_destroy replacements that the real engine leaves out."""
    replaced = {
        name for name, action in theirs["actions"].items() if action.startswith("create_before_destroy")
    }
    left = {f"{name} (destroy)" for name in replaced}
    return (
        left
        | {
            name.replace(" (deposed)", " (destroy deposed)")
            for name in theirs["actions"]
            if name.endswith("(deposed)")
        }
    ) - set(theirs["step_graph"])


def after_false_cycle(
    move: Move,
    real: Any,
    theirs: cases.Facts,
    mine: cases.Facts,
    stored: Dict[str, Any],
    places: Dict[str, str],
) -> List[str]:
    """Return what is wrong where the real engine stops with a loop of steps."""
    if mine["plan_exit"] or mine.get("apply_exit"):
        status = mine["plan_exit"], mine.get("apply_exit")
        return [f"loop of steps: exits {status} where a valid order exists: {cases.error_lines(mine['err'])}"]
    config = cases.edges_to_graph(mine["resource_nodes"], mine["resource_edges"])
    hard = cases.hard_edges(mine["actions"], config, stored, move.command == "destroy")
    found = [f"loop of steps: hard edge: {text}" for text in cases.broken_orders(mine["log"], hard)]
    if cases.find_loop(mine["step_graph"]):
        found.append("loop of steps: the graph of steps has a loop")
    shutil.copy(os.path.join(places["ours"], "terraform.tfstate"), places["real"])
    return found + quiet(move, real, places["real"], "after minigraph's apply")


def quiet(move: Move, tool: Any, directory: str, when: str) -> List[str]:
    """Return a sentence where the tool still finds something to do after a whole apply."""
    if any(arg.startswith("-target") for arg in move.args):
        return []
    if move.command == "destroy":
        left = sorted(cases.read_state(directory))
        return [f"{when}: left in state: {left}"] if left else []
    outcome = tool.run(directory, "plan", "-no-color", "-detailed-exitcode")
    return (
        []
        if outcome.status == 0
        else [
            f"{when}: {tool.name} plan -detailed-exitcode: {outcome.status} "
            f"{cases.first_match(cases.SUMMARY, outcome.out)} "
            f"{cases.error_lines(outcome.err) if outcome.err else ''}"
        ]
    )


def take_turn(number: int, move: Move, real: Any, ours: Any, places: Dict[str, str]) -> List[str]:
    """Return what is wrong where the tools take turns: one applies, the other has nothing to do."""
    first, second = (real, ours) if number % 2 == 0 else (ours, real)
    command = "destroy" if move.command == "destroy" else "apply"
    outcome = first.run(places["turns"], command, "-no-color", "-auto-approve", *move.args)
    if "Error: Cycle" in outcome.err and first is real:
        first, second = ours, real
        outcome = first.run(places["turns"], command, "-no-color", "-auto-approve", *move.args)
    if outcome.status:
        other = second.run(places["turns"], "plan", "-no-color", *move.args)
        if other.status == 1:
            return []
        return [f"turns: {first.name} {command}: exit {outcome.status}: {cases.error_lines(outcome.err)}"]
    return quiet(move, second, places["turns"], f"turns, after {first.name}")


# --------------------------------------------------------------------------------------
# making a difference small
# shrink(scenario, still_differs)  ->  the smallest scenario found that still differs
# --------------------------------------------------------------------------------------


def shrink(scenario: List[Move], differs: Callable[[List[Move]], bool], seconds: float = 120) -> List[Move]:
    """Return a smaller scenario that still differs, for as long as there is time."""
    end = time.monotonic() + seconds
    smaller = True
    while smaller:
        smaller = False
        for candidate in smaller_ones(scenario):
            if time.monotonic() > end:
                return scenario
            if differs(candidate):
                scenario, smaller = candidate, True
                break
    return scenario


def smaller_ones(scenario: List[Move]) -> Iterator[List[Move]]:
    """Yield scenarios with one thing less: a move, a node, an argument, a part of a value."""
    for at in range(len(scenario) - 1, -1, -1):
        if len(scenario) > 1:
            yield scenario[:at] + scenario[at + 1 :]
    for kind in ("resource", "locals", "output"):
        for name in sorted({name for move in scenario for name in section(move.config, kind)}):
            yield [move._replace(config=without(move.config, kind, name)) for move in scenario]
    for at, move in enumerate(scenario):
        if move.args:
            yield scenario[:at] + [move._replace(args=move.args[1:])] + scenario[at + 1 :]
        for config in simpler(move.config):
            yield scenario[:at] + [move._replace(config=config)] + scenario[at + 1 :]


def section(config: Config, kind: str) -> Dict[str, Any]:
    """Return the resources, locals or outputs of a configuration by name."""
    found: Dict[str, Any] = config.get(kind, {})
    return found.get("terraform_data", {}) if kind == "resource" else found


def without(config: Config, kind: str, name: str) -> Config:
    """Return a configuration without a resource, local or output; what referred to it says "gone"."""
    config = copy.deepcopy(config)
    section(config, kind).pop(name, None)
    node = {"resource": f"terraform_data.{name}", "locals": f"local.{name}"}.get(kind)
    return forgetting(config, node) if node else config


def forgetting(value: Any, node: str) -> Any:
    """Return a value in which nothing refers to the node."""
    if isinstance(value, dict):
        return {forgetting(key, node): forgetting(item, node) for key, item in value.items()}
    if isinstance(value, list):
        return [
            forgetting(item, node)
            for item in value
            if not (isinstance(item, str) and re.match(rf"{re.escape(node)}(\.|$)", item))
        ]
    if isinstance(value, str):
        return re.sub(rf"\$\{{ ?{re.escape(node)}(?![\w-])[^}}]*\}}", "gone", value)
    return value


def simpler(config: Config) -> Iterator[Config]:
    """Yield configurations with one argument less, or with a plain string for a value."""
    for name, body in section(config, "resource").items():
        for key in body:
            smaller = copy.deepcopy(config)
            del section(smaller, "resource")[name][key]
            yield smaller
            if isinstance(body[key], (dict, list)) and key != "lifecycle":
                for part in body[key].values() if isinstance(body[key], dict) else body[key]:
                    if key != "depends_on":
                        smaller = copy.deepcopy(config)
                        section(smaller, "resource")[name][key] = part
                        yield smaller


# --------------------------------------------------------------------------------------
# the command line
# --------------------------------------------------------------------------------------


def try_scenario(scenario: List[Move], real: Any, ours: Any, ignore: str = "(?!)") -> List[str]:
    """Return the differences of a scenario, tried in a directory of its own."""
    directory = cases.scratch("differential-")
    try:
        return differences(scenario, real, ours, directory, ignore)
    finally:
        shutil.rmtree(directory, ignore_errors=True)


def kind_of(texts: List[str]) -> str:
    """Return what a list of differences is about, without names and numbers."""
    return re.sub(r"^move \d+ \([^)]*\): ", "", texts[0]).partition(":")[0] if texts else ""


def hunt(
    seed: int, twice: bool = False, keep: Optional[str] = None, smaller: bool = True, ignore: str = "(?!)",
    short: bool = False,
) -> Tuple[int, List[str], str]:
    """Return (seed, differences, reproduction directory or "") of the stack with this seed.

    A ``short`` one is made and then edited (odd seeds) or destroyed (even ones), without what comes between.
    """
    real = cases.real_tool()
    assert real is not None
    ours = real if twice else cases.Minigraph()
    scenario = moves(random.Random(seed))
    if short:
        scenario = scenario[:2] if seed % 2 else [scenario[0], scenario[-1]]
    found = try_scenario(scenario, real, ours, ignore)
    if not found:
        return seed, [], ""
    if smaller:
        kind = kind_of(found)
        scenario = shrink(
            scenario, lambda candidate: kind_of(try_scenario(candidate, real, ours, ignore)) == kind
        )
        found = try_scenario(scenario, real, ours, ignore) or found
    return seed, found, write_reproduction(scenario, found, seed, keep)


def write_reproduction(scenario: List[Move], found: List[str], seed: int, keep: Optional[str]) -> str:
    """Write a scenario with a script that runs it in either tool; return its directory."""
    place = Path(keep or tempfile.mkdtemp(prefix="reproduction-"), f"seed-{seed}")
    place.mkdir(parents=True, exist_ok=True)
    lines = [
        "#!/bin/sh",
        "# sh run.sh terraform    or    sh run.sh 'python3 .../code/main.py'",
        "rm -rf work; mkdir work; cd work",
    ]
    for number, move in enumerate(scenario, 1):
        (place / f"step{number}.tf.json").write_text(
            json.dumps(move.config, indent=1) + "\n", encoding="utf-8"
        )
        lines += [
            f"cp ../step{number}.tf.json main.tf.json",
            f"$1 {move.command} -no-color -auto-approve {' '.join(move.args)}",
        ]
    (place / "run.sh").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (place / "differences.txt").write_text("\n".join(found) + "\n", encoding="utf-8")
    return str(place)


def main(argv: List[str]) -> int:
    """Hunt with the options of the command line; return 1 where a difference was found."""
    options: Dict[str, str] = {
        "--count": "50",
        "--seed": "1",
        "--jobs": "2",
        "--keep": "",
        "--ignore": "(?!)",
    }
    flags = {word for word in argv if word in ("--no-shrink", "--twice")}
    words = [word for word in argv if word not in flags]
    for name, text in zip(words[::2], words[1::2]):
        options[name] = text
    if cases.real_tool() is None:
        print("neither tofu nor terraform is on PATH: nothing to compare with")
        return 0
    first, count, bad, start = int(options["--seed"]), int(options["--count"]), 0, time.monotonic()
    with ProcessPoolExecutor(int(options["--jobs"])) as pool:
        tasks = [
            pool.submit(
                hunt,
                seed,
                "--twice" in flags,
                options["--keep"] or None,
                "--no-shrink" not in flags,
                options["--ignore"],
            )
            for seed in range(first, first + count)
        ]
        for task in tasks:
            seed, found, place = task.result()
            if found:
                bad += 1
                print(f"seed {seed}: {place}")
                for text in found[:6]:
                    print(f"    {text}")
                sys.stdout.flush()
    print(f"{count - bad} of {count} stacks agree ({time.monotonic() - start:.1f} s)")
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
