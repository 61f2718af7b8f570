"""The graph of steps: the six rules on both sides, what gives way in a loop, and an independent closure as the judge."""
from __future__ import annotations

import random
import unittest
from typing import Dict, Iterator, List, NamedTuple, Set, Tuple

from support import deps, drawn

import main
from main import Change, Deps, Instance, Needs, State

VERBS = {"+": "create", "~": "update", "!": "replace", "-": "delete", "=": "noop"}


def changes(text: str) -> List[Change]:
    """Return the changes that a text lists: "+a ~b !c -d =e", ^ behind a name for create_before_destroy, "-a:1" deposed 1."""
    found = []
    for word in text.split():
        address, _, deposed = word[1:].rstrip("^").partition(":")
        found.append(Change(address, "terraform_data", VERBS[word[0]], "", {}, {}, word.endswith("^"), deposed=deposed))
    return found


def stored(text: str, direct: bool = False) -> State:
    """Return a state whose objects record what a drawn graph says."""
    state = State()
    state.direct = direct
    state.objects = {address: Instance("terraform_data", {}, dependencies=tuple(sorted(found)))
                     for address, found in deps(text).items()}
    return state


def steps(listed: str, configured: str = "", recorded: str = "") -> str:
    """Return the drawn graph of steps for changes, a configuration graph and recorded dependencies."""
    return drawn(main.apply_graph(changes(listed), deps(configured), stored(recorded)))


class Rule1(unittest.TestCase):
    """A create or update waits for the creates and updates of what its configuration needs."""

    def test_a_create_waits_for_the_create_of_what_it_needs(self) -> None:
        self.assertEqual("b>a", steps("+a +b", "b>a"))

    def test_it_waits_through_a_resource_that_does_not_change(self) -> None:
        self.assertEqual("c>a", steps("~a =b ~c", "c>b, b>a", "c>b a, b>a"))

    def test_what_only_the_state_records_is_not_waited_for(self) -> None:
        self.assertEqual("", steps("~a ~b", "a, b", "b>a"))

    def test_an_unchanged_resource_is_no_step(self) -> None:
        self.assertEqual({}, main.apply_graph(changes("=a =b"), deps("b>a"), stored("b>a")))


class Rule2(unittest.TestCase):
    """What needs an object is destroyed before it."""

    def test_recorded_needs_run_backwards(self) -> None:
        self.assertEqual("a (destroy)>b (destroy)", steps("-a -b", "", "b>a"))

    def test_recorded_lists_are_whole_so_a_gap_does_not_matter(self) -> None:
        self.assertEqual("a (destroy)>c (destroy)", steps("-a -c", "", "c>a b"))

    def test_an_old_half_that_goes_late_still_follows_it(self) -> None:
        self.assertEqual("a (destroy)>a b b (destroy), b>a, b (destroy)>a b", steps("!a^ !b^", "b>a", "b>a"))

    def test_a_wait_that_only_the_new_configuration_gives_holds_too(self) -> None:
        graph = steps("!a !b", "b>a", "a, b")
        self.assertEqual("a>a (destroy) b (destroy), a (destroy)>b (destroy), b>a a (destroy) b (destroy)", graph)


class Rule3(unittest.TestCase):
    """A destroy-first replacement destroys, then creates."""

    def test_the_new_object_waits_for_the_end_of_the_old_one(self) -> None:
        self.assertEqual("a>a (destroy)", steps("!a", "a", "a"))


class Rule4(unittest.TestCase):
    """A create or update waits for the destroy of what it needs or needed."""

    def test_an_update_waits_for_the_destroy_of_what_it_needed(self) -> None:
        self.assertEqual("b>a (destroy)", steps("-a ~b", "b", "b>a"))

    def test_what_was_not_needed_is_not_waited_for(self) -> None:
        self.assertEqual("", steps("-a ~b", "b", "a, b"))


class Rule5(unittest.TestCase):
    """A dependency is not touched before its removed or replaced dependent is destroyed."""

    def test_an_update_waits_for_the_destroy_of_what_needed_it(self) -> None:
        self.assertEqual("a>b (destroy)", steps("~a -b", "a", "b>a"))

    def test_a_replaced_dependent_goes_first_and_comes_back_last(self) -> None:
        self.assertEqual("a>b (destroy), b>a b (destroy)", steps("~a !b", "b>a", "b>a"))

    def test_it_holds_through_an_unchanged_resource(self) -> None:
        self.assertEqual("a>c (destroy), c>a c (destroy)", steps("~a =b !c", "c>b, b>a", "c>b a, b>a"))


class Rule6(unittest.TestCase):
    """For a create_before_destroy old object rules 3 to 5 turn round."""

    def test_the_old_object_waits_for_the_new_one(self) -> None:
        self.assertEqual("a (destroy)>a", steps("!a^", "a", "a"))

    def test_it_waits_for_the_dependents(self) -> None:
        self.assertEqual("a (destroy)>a b, b>a", steps("!a^ ~b", "b>a", "b>a"))

    def test_it_waits_for_former_and_for_new_dependents(self) -> None:
        self.assertEqual("a (destroy)>a former new, new>a", steps("!a^ ~former +new", "former, new>a", "former>a, a"))

    def test_it_waits_for_the_updates_of_what_it_needs(self) -> None:
        self.assertEqual("b>a, b (destroy)>a b", steps("~a !b^", "b>a", "b>a"))

    def test_a_removed_object_that_is_recorded_so_goes_after_the_updates_around_it(self) -> None:
        self.assertEqual("b (destroy)>a c", steps("~a -b^ ~c", "a, c", "b>a, c>a b"))

    def test_a_deposed_object_goes_after_all_that_use_the_current_one(self) -> None:
        self.assertEqual("a (destroy deposed 1)>a b, b>a", steps("~a -a:1 ~b", "b>a", "b>a"))

    def test_the_lessons_pointer_is_destroyed_before_the_new_file_and_created_after_it(self) -> None:
        self.assertEqual(
            "pointer>pointer (destroy) versioned, versioned>pointer (destroy),"
            " versioned (destroy)>pointer pointer (destroy) versioned",
            steps("!versioned^ !pointer", "pointer>versioned", "pointer>versioned"))


class Propagation(unittest.TestCase):
    """A dependency of a create_before_destroy resource has the flag too; without it there is a loop."""

    def test_switched_off_it_closes_a_loop(self) -> None:
        listed, graph, state = changes("!a !b^"), deps("b>a"), stored("b>a")
        found = main.find_cycle(main.apply_graph(listed, graph, state, never_loops=False))
        self.assertEqual(["a", "a (destroy)", "b (destroy)", "a"], found)

    def test_switched_on_there_is_none(self) -> None:
        listed, graph, state = changes("!a^ !b^"), deps("b>a"), stored("b>a")
        self.assertIsNone(main.find_cycle(main.apply_graph(listed, graph, state, never_loops=False)))

    def test_a_destroy_first_dependent_closes_none(self) -> None:
        listed, graph, state = changes("!a^ !b"), deps("b>a"), stored("b>a")
        self.assertIsNone(main.find_cycle(main.apply_graph(listed, graph, state, never_loops=False)))


def given_way(listed: str, configured: str, recorded: str) -> Tuple[str, List[str]]:
    """Return the drawn graph of steps and the notes on the waits that were given up."""
    state, graph, found = stored(recorded), deps(configured), changes(listed)
    active = {change.address for change in found if change.verb != "noop"}
    sources = [Needs(graph, set(graph), False, "configured"),
               Needs(main.state_deps(state), active & set(state.objects), True, "recorded")]
    made = main.step_graph([change for change in found if change.verb != "noop"], sources)
    return drawn(main.contract(made.deps, made.steps)), made.notes


class GivingWay(unittest.TestCase):
    """Where the real engine stops with a cycle, the weakest waits are given up and named."""

    def test_a_removed_create_first_dependent_does_not_wait_for_what_is_replaced(self) -> None:
        self.assertEqual(
            ("a>a (destroy), a (destroy)>b (destroy)",
             ["b (destroy) does not wait for a: that would close a loop (a removed object recorded as"
              " create_before_destroy waits for creates and updates)."]),
            given_way("!a -b^", "a", "b>a"))

    def test_of_two_that_changed_direction_the_recorded_order_of_destroys_stays(self) -> None:
        graph, notes = given_way("!a !b", "b>a", "a>b")
        self.assertEqual("a>a (destroy) b (destroy), b>a a (destroy) b (destroy), b (destroy)>a (destroy)", graph)
        self.assertEqual(["a (destroy) does not wait for b (destroy): that would close a loop (destroy order taken from the"
                          " configuration alone)."], notes)

    def test_nothing_gives_way_where_there_is_no_loop(self) -> None:
        self.assertEqual([], given_way("!a !b ~c -d", "c>b, b>a", "c>b a, b>a, d>a")[1])

    def test_a_loop_elsewhere_leaves_other_waits_alone(self) -> None:
        graph, notes = given_way("!a -b^ ~x -y", "a, x", "b>a, y>x")
        self.assertEqual("a>a (destroy), a (destroy)>b (destroy), x>y (destroy)", graph)
        self.assertEqual(1, len(notes))


class Destroying(unittest.TestCase):
    """A destroy orders its steps by what the state records, alone."""

    def test_dependents_go_first_across_a_gap(self) -> None:
        graph = main.destroy_graph(stored("d>c b a, b>a"))
        self.assertEqual("a (destroy)>b (destroy) d (destroy), b (destroy)>d (destroy), c (destroy)>d (destroy)",
                         drawn(graph.deps))

    def test_a_deposed_object_goes_after_what_needs_the_current_one(self) -> None:
        state = stored("b>a")
        state.deposed = {"a": {"1": state.objects["a"]}, "gone": {"2": state.objects["a"]}}
        self.assertEqual("a (destroy deposed 1)>b (destroy), a (destroy)>b (destroy)",
                         drawn(main.destroy_graph(state).deps))

    def test_the_flag_plays_no_part(self) -> None:
        state = stored("b>a")
        state.objects = {name: item._replace(create_before_destroy=True) for name, item in state.objects.items()}
        self.assertEqual("a (destroy)>b (destroy)", drawn(main.destroy_graph(state).deps))


class DirectForm(unittest.TestCase):
    """Recorded sets that are direct give the same order as whole ones."""

    def test_a_destroy_looks_through_the_sets(self) -> None:
        state = stored("d>c, c>b, b>a", direct=True)
        graph = main.destroy_graph(state)
        self.assertEqual("a (destroy)>b (destroy), b (destroy)>c (destroy), c (destroy)>d (destroy)",
                         drawn(main.contract(graph.deps, graph.steps)))

    def test_an_update_looks_through_what_stays(self) -> None:
        graph = main.apply_graph(changes("~a =b -c"), deps("b>a"), stored("c>b, b>a", direct=True))
        self.assertEqual("a>c (destroy)", drawn(graph))


# --------------------------------------------------------------------------------------
# the rules once more, by transitive closure and nothing else
# --------------------------------------------------------------------------------------


class Case(NamedTuple):
    """One random plan: the configuration graph, what is recorded (closed), the changes."""

    configured: Deps
    recorded: Dict[str, Set[str]]
    changes: List[Change]


def reach(graph: Deps) -> Deps:
    """Return the transitive closure of a small graph."""
    found: Deps = {}
    for node in graph:
        seen: Set[str] = set()
        pending = list(graph[node])
        while pending:
            name = pending.pop()
            if name not in seen:
                seen.add(name)
                pending += graph.get(name, ())
        found[node] = seen
    return found


def random_graph(source: random.Random, names: List[str], share: float) -> Deps:
    """Return a random acyclic graph over the names, in a random order."""
    order = source.sample(names, len(names))
    return {name: {other for other in order[:place] if source.random() < share} for place, name in enumerate(order)}


def random_cases(count: int, seed: int) -> Iterator[Case]:
    """Yield random plans: an old graph in state, a new one in the configuration, any verbs and flags that a plan can have."""
    source = random.Random(seed)
    for _ in range(count):
        names = [f"r{number}" for number in range(source.randrange(2, 9))]
        old, share = [name for name in names if source.random() < 0.75], source.random() * 0.6
        new = [name for name in names if name not in old or source.random() < 0.75]
        whole = random_graph(source, names, share)
        other = whole if source.random() < 0.5 else random_graph(source, names, share)
        configured = {name: whole[name] & set(new) for name in new}
        recorded = reach({name: other[name] & set(old) for name in old})
        flagged = {name for name in new if source.random() < 0.2}
        flagged |= {need for name in flagged for need in reach(configured)[name]}
        found: List[Change] = []
        for name in names:
            verb = "delete" if name not in new else "create" if name not in old else source.choice(
                ["noop", "update", "replace", "replace"])
            flag = name in flagged if name in new else source.random() < 0.2
            found.append(Change(name, "terraform_data", verb, "", {}, {}, flag))
            if name in old and source.random() < 0.1:
                found.append(Change(name, "terraform_data", "delete", "", {}, None, False, deposed="1"))
        yield Case(configured, recorded, found)


def by_the_rules(case: Case) -> Deps:
    """Return what each step waits for by rules 1 to 6, every pair looked at."""
    cfg = reach(case.configured)
    rec: Deps = {}
    graph: Deps = {}
    works: Set[str] = set()
    destroys: List[Tuple[str, str, bool]] = []
    for change in case.changes:
        name = change.address
        if not change.deposed:
            stays = change.verb == "noop"
            rec[name] = cfg.get(name, set()) | (set() if stays else case.recorded.get(name, set()))
        if change.verb in ("create", "update", "replace"):
            works.add(name)
        if change.verb in ("delete", "replace"):
            destroys.append((main.destroy_node(name, change.deposed), name, change.create_before_destroy or bool(change.deposed)))
    graph.update({name: set() for name in works})
    graph.update({step: set() for step, _, _ in destroys})
    for name in works:
        graph[name] |= cfg[name] & works
    for step, name, late in destroys:
        for other, user, _ in destroys:
            if name in rec[user]:
                graph[step].add(other)
        around = [work for work in works if work == name or name in rec[work] or work in rec[name]]
        for work in around:
            if late:
                graph[step].add(work)
            else:
                graph[work].add(step)
    return graph


def pairs(graph: Deps) -> Set[Tuple[str, str]]:
    """Return who waits for whom, directly or not."""
    return {(node, other) for node, found in reach(graph).items() for other in found}


def state_of(case: Case, direct: bool) -> State:
    """Return the state that a random plan starts from, with closed or with direct sets."""
    graph = main.transitive_reduction(case.recorded) if direct else case.recorded
    state = State()
    state.direct = direct
    state.objects = {name: Instance("terraform_data", {}, dependencies=tuple(sorted(found))) for name, found in graph.items()}
    return state


class RandomPlans(unittest.TestCase):
    """The junctions, the direct form and the loops, against the plain reading of the rules."""

    def test_who_waits_for_whom_is_what_the_rules_say_wherever_they_have_no_loop(self) -> None:
        compared = 0
        for number, case in enumerate(random_cases(400, 1)):
            expected = by_the_rules(case)
            for direct in (False, True):
                found = main.apply_graph(case.changes, case.configured, state_of(case, direct))
                self.assertEqual(set(expected), set(found))
                if main.find_cycle(expected) is None:
                    compared += 1
                    self.assertEqual(pairs(expected), pairs(found), f"case {number}, direct {direct}")
        self.assertGreater(compared, 400)

    def test_with_loops_left_in_it_is_what_the_rules_say_everywhere(self) -> None:
        for number, case in enumerate(random_cases(300, 2)):
            for direct in (False, True):
                found = main.apply_graph(case.changes, case.configured, state_of(case, direct), never_loops=False)
                self.assertEqual(pairs(by_the_rules(case)), pairs(found), f"case {number}, direct {direct}")

    def test_there_is_never_a_loop_and_the_hard_waits_always_hold(self) -> None:
        loops = 0
        for number, case in enumerate(random_cases(400, 3)):
            loops += main.find_cycle(by_the_rules(case)) is not None
            for direct in (False, True):
                found = main.apply_graph(case.changes, case.configured, state_of(case, direct))
                self.assertIsNone(main.find_cycle(found))
                self.assertEqual(set(), hard_pairs(case) - pairs(found), f"case {number}, direct {direct}")
        self.assertGreater(loops, 20)

    def test_the_notes_name_exactly_the_waits_that_no_longer_hold(self) -> None:
        for number, case in enumerate(random_cases(400, 4)):
            graph, rules = noted(case), by_the_rules(case)
            held = pairs(main.contract(graph.deps, graph.steps))
            told = [tuple(note.partition(":")[0].split(" does not wait for ")) for note in graph.notes]
            self.assertEqual(sorted(set(told)), told)
            self.assertEqual(set(), set(told) & held, f"case {number}: noted and yet held")
            self.assertEqual(set(), edges(rules) - held - set(told), f"case {number}: lost without a note")

    def test_only_what_stands_in_a_loop_gives_way(self) -> None:
        for number, case in enumerate(random_cases(400, 5)):
            graph, rules = noted(case), by_the_rules(case)
            held = pairs(main.contract(graph.deps, graph.steps))
            loops = {name: found for found in main.tangles(rules) for name in found}
            lost = {(name, other) for name, other in edges(rules) - held if loops.get(name, name) is not loops.get(other, other)}
            self.assertEqual(set(), lost, f"case {number}")


def edges(graph: Deps) -> Set[Tuple[str, str]]:
    """Return the edges of a graph."""
    return {(node, other) for node, found in graph.items() for other in found}


def hard_pairs(case: Case) -> Set[Tuple[str, str]]:
    """Return the waits that never give way: rule 1, rule 2 as recorded, and each resource's own two steps."""
    cfg, found = reach(case.configured), set()
    works = {change.address for change in case.changes if change.verb in ("create", "update", "replace")}
    destroys = [(main.destroy_node(change.address, change.deposed), change)
                for change in case.changes if change.verb in ("delete", "replace")]
    found |= {(name, other) for name in works for other in cfg[name] & works}
    for step, change in destroys:
        if change.address in works and not change.deposed:
            found.add((step, change.address) if change.create_before_destroy else (change.address, step))
        found |= {(step, other) for other, user in destroys if change.address in case.recorded.get(user.address, ())
                  and any(item.address == user.address and not item.deposed and item.verb != "noop" for item in case.changes)}
    return found


def noted(case: Case) -> main.StepGraph:
    """Return the graph of steps of a random plan with its notes."""
    state = state_of(case, False)
    active = [change for change in case.changes if change.verb != "noop"]
    counted = {change.address for change in active if not change.deposed} & set(state.objects)
    sources = [Needs(case.configured, set(case.configured), False, "configured"),
               Needs(main.state_deps(state), counted, True, "recorded")]
    return main.step_graph(active, sources)


if __name__ == "__main__":
    unittest.main()
