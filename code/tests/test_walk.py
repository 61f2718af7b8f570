"""The walk: order, cap, overlap, failure and skip, stop. Nothing here sleeps: barriers, counters and a clock of our own."""
from __future__ import annotations

import random
import threading
import time
import unittest
from typing import Any, Dict, List, Optional, Set, Tuple

from support import deps

import main

Heard = List[Tuple[str, Any, Optional[str]]]


class FakeClock:
    """A clock that goes one second further at every look."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        self.now += 1
        return self.now


def failing(*names: str) -> Any:
    """Return a visit that fails for the names."""
    def visit(node: str) -> str:
        if node in names:
            raise RuntimeError(f"{node} broke")
        return node.upper()
    return visit


class Watch:
    """Notes in ``early`` what a node that starts needs and that has not ended."""

    def __init__(self, graph: Dict[str, Any]) -> None:
        self.graph = graph
        self.ended: Set[str] = set()
        self.early: List[str] = []

    def begin(self, node: str) -> bool:
        """A node starts."""
        self.early += self.graph[node] - self.ended
        return True

    def end(self, node: str, outcome: Any, error: Any) -> None:
        """A node has ended."""
        self.ended.add(node)


class InFlight:
    """A visit that counts how many run at once; ``cap`` of them wait for each other."""

    def __init__(self, cap: int) -> None:
        self.lock, self.full = threading.Lock(), threading.Barrier(cap, timeout=10)
        self.now = self.most = 0

    def __call__(self, node: str) -> None:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
        self.full.wait()
        with self.lock:
            self.now -= 1


def started(graph: Dict[str, Any], parallelism: int = 1) -> List[str]:
    """Return the nodes in the order in which a walk starts them."""
    seen: List[str] = []

    def begin(node: str) -> bool:
        seen.append(node)
        return True
    main.walk(graph, lambda node: None, parallelism, prepare=begin)
    return seen


class Order(unittest.TestCase):

    def test_a_node_is_visited_after_all_that_it_needs(self) -> None:
        self.assertEqual(["d", "b", "c", "a"], started(deps("a>b c, b>d, c>d")))

    def test_it_holds_in_random_graphs_at_any_parallelism(self) -> None:
        source = random.Random(1)
        for number in range(40):
            names = [f"n{n}" for n in range(source.randrange(1, 14))]
            graph = {name: {other for other in names[:place] if source.random() < 0.3} for place, name in enumerate(names)}
            watch = Watch(graph)
            result = main.walk(graph, failing(), source.choice((1, 2, 10)), prepare=watch.begin, finish=watch.end)
            self.assertEqual(([], set(names)), (watch.early, set(result.completed)), number)

    def test_the_longest_chain_of_dependents_goes_first(self) -> None:
        self.assertEqual(["z", "a", "y", "b", "x"], started(deps("x>y, y>z, b>a")))

    def test_among_equals_the_smallest_name_goes_first(self) -> None:
        self.assertEqual(["a", "b", "c"], started(deps("c, a, b")))

    def test_a_node_that_becomes_ready_may_pass_one_that_has_waited(self) -> None:
        self.assertEqual(["a", "b", "c", "d", "m"], started(deps("d>c, c>b, b>a, m")))

    def test_a_name_that_is_only_needed_is_visited_too(self) -> None:
        self.assertEqual(["b", "a"], main.walk(deps("a>b"), failing()).completed)

    def test_nothing_to_visit_is_fine(self) -> None:
        result = main.walk({}, failing())
        self.assertEqual(([], {}, {}, []), (result.completed, result.failed, result.skipped, result.unstarted))

    def test_a_loop_is_refused_before_anything_is_visited(self) -> None:
        seen: List[str] = []
        with self.assertRaises(main.CycleError) as caught:
            main.walk(deps("a>b, b>c, c>b, d"), seen.append)
        self.assertEqual((["b", "c", "b"], []), (caught.exception.path, seen))

    def test_the_graph_that_is_given_stays_as_it_is(self) -> None:
        graph = deps("a>b, b>c")
        main.walk(graph, failing("b"))
        self.assertEqual(deps("a>b, b>c"), graph)


class Parallelism(unittest.TestCase):

    def test_two_nodes_that_do_not_need_each_other_overlap(self) -> None:
        barrier = threading.Barrier(2, timeout=10)
        result = main.walk(deps("a, b"), lambda node: barrier.wait(), 2)
        self.assertEqual({}, result.failed)

    def test_with_one_worker_they_do_not(self) -> None:
        barrier = threading.Barrier(2, timeout=0.05)
        result = main.walk(deps("a, b"), lambda node: barrier.wait(), 1)
        self.assertEqual({"a", "b"}, set(result.failed))

    def test_no_wave_waits_for_the_wave_before(self) -> None:
        """b, behind a, overlaps with slow, which stands beside a."""
        barrier = threading.Barrier(2, timeout=10)
        result = main.walk(deps("b>a, slow"), lambda node: node == "a" or barrier.wait(), 2)
        self.assertEqual({}, result.failed)

    def test_never_more_are_in_flight_than_the_cap(self) -> None:
        for cap in (1, 2, 3):
            visit = InFlight(cap)
            result = main.walk({f"n{number:02}": set() for number in range(cap * 4)}, visit, cap)
            self.assertEqual((cap, {}), (visit.most, result.failed))

    def test_a_node_is_prepared_only_when_a_worker_is_free(self) -> None:
        heard: List[str] = []

        def begin(node: str) -> bool:
            heard.append(f"start {node}")
            return True
        main.walk(deps("a, b"), failing(), 1, prepare=begin, finish=lambda node, outcome, error: heard.append(f"end {node}"))
        self.assertEqual(["start a", "end a", "start b", "end b"], heard)


class OneCoordinator(unittest.TestCase):
    """Only visit runs in a worker; what changes belongs to the calling thread."""

    def test_prepare_and_finish_run_in_the_calling_thread(self) -> None:
        coordinators: List[int] = []
        workers: List[int] = []

        def begin(node: str) -> bool:
            here()
            return True

        def here(*_: Any) -> None:
            coordinators.append(threading.get_ident())
        main.walk(deps("a>b, c"), lambda node: workers.append(threading.get_ident()), 2,
                  prepare=begin, finish=here, tick=here)
        self.assertEqual(({threading.get_ident()}, False), (set(coordinators), threading.get_ident() in workers))

    def test_finish_is_given_what_visit_returned_or_raised(self) -> None:
        heard: Heard = []
        main.walk(deps("a>b, c"), failing("c"), 1,
                  finish=lambda node, outcome, error: heard.append((node, outcome, error and str(error))))
        self.assertEqual([("b", "B", None), ("a", "A", None), ("c", None, "c broke")], heard)

    def test_false_from_prepare_means_that_there_is_nothing_to_do(self) -> None:
        visited: List[str] = []
        result = main.walk(deps("a>junction, junction>b"), visited.append, 1, prepare=lambda node: node != "junction")
        self.assertEqual((["b", "a"], ["b", "junction", "a"]), (visited, result.completed))

    def test_none_from_prepare_puts_a_node_off_until_another_has_ended(self) -> None:
        running: Set[str] = set()
        asked: List[str] = []

        def prepare(node: str) -> Optional[bool]:
            asked.append(node)
            if running:
                return None
            running.add(node)
            return True
        result = main.walk(deps("a, b, c, d>a"), failing("c"), prepare=prepare,
                           finish=lambda node, outcome, error: running.remove(node))
        self.assertEqual((["a", "b", "d"], {"c": "c broke"}), (sorted(result.completed), result.failed))
        self.assertEqual(["a", "b", "c"], asked[:3])

    def test_an_instant_node_is_visited_by_the_coordinator_and_ends_like_any_other(self) -> None:
        here: Dict[str, bool] = {}

        def visit(node: str) -> None:
            here[node] = threading.current_thread() is threading.main_thread()
            if node == "c":
                raise ValueError("no")
        result = main.walk(deps("a>b, b, c, d>c"), visit, instant=lambda node: node != "a")
        self.assertEqual({"a": False, "b": True, "c": True}, here)
        self.assertEqual((["b", "a"], {"c": "no"}, {"d": "c"}), (result.completed, result.failed, result.skipped))

    def test_a_node_that_was_put_off_does_not_start_once_the_walk_is_stopped(self) -> None:
        ended: List[str] = []
        result = main.walk(deps("a, b"), failing(), prepare=lambda node: True if node == "a" else None,
                           finish=lambda node, outcome, error: ended.append(node), stopped=lambda: bool(ended))
        self.assertEqual((["a"], ["b"]), (result.completed, result.unstarted))

    def test_a_tick_that_wants_to_run_again_is_called_while_nothing_ends(self) -> None:
        ticks: List[int] = []
        enough = threading.Event()

        def tick() -> float:
            ticks.append(1)
            if len(ticks) == 3:
                enough.set()
            return 0.001
        result = main.walk(deps("a"), lambda node: enough.wait(10), tick=tick)
        self.assertEqual((["a"], True), (result.completed, enough.is_set()))


class Failure(unittest.TestCase):

    def test_what_needs_a_failed_node_is_skipped_and_the_rest_runs_on(self) -> None:
        result = main.walk(deps("a>b, b>c, x>c, y"), failing("b"))
        self.assertEqual((["c", "x", "y"], {"b": "b broke"}, {"a": "b"}, []),
                         (sorted(result.completed), result.failed, result.skipped, result.unstarted))

    def test_a_skipped_node_names_the_failure_behind_it_however_far(self) -> None:
        result = main.walk(deps("a>b, b>c, c>d, e>d2"), failing("d", "d2"))
        self.assertEqual({"a": "d", "b": "d", "c": "d", "e": "d2"}, result.skipped)

    def test_of_two_causes_the_smallest_name_is_given(self) -> None:
        result = main.walk(deps("a>x y, x, y"), failing("x", "y"))
        self.assertEqual({"a": "x"}, result.skipped)

    def test_an_error_in_prepare_fails_the_node(self) -> None:
        def prepare(node: str) -> bool:
            raise ValueError("not ready")
        result = main.walk(deps("a>b"), failing(), prepare=prepare)
        self.assertEqual(({"b": "not ready"}, {"a": "b"}), (result.failed, result.skipped))

    def test_an_error_in_finish_fails_the_node(self) -> None:
        def finish(node: str, outcome: Any, error: Any) -> None:
            raise ValueError("not recorded")
        result = main.walk(deps("a>b"), failing(), finish=finish)
        self.assertEqual(({"b": "not recorded"}, {"a": "b"}), (result.failed, result.skipped))

    def test_the_error_itself_is_kept(self) -> None:
        result = main.walk(deps("a"), failing("a"))
        self.assertEqual(RuntimeError, type(result.errors["a"]))

    def test_failure_reaches_down_a_chain_of_ten_thousand(self) -> None:
        chain = {f"n{number}": {f"n{number - 1}"} if number else set() for number in range(10_000)}
        self.assertEqual(9_999, len(main.walk(chain, failing("n0")).skipped))


class Stopping(unittest.TestCase):

    def test_nothing_new_starts_and_what_runs_is_waited_for(self) -> None:
        visited: List[str] = []
        result = main.walk(deps("a>b, b>c, d"), visited.append, 1, stopped=lambda: bool(visited))
        self.assertEqual((["c"], ["c"], ["a", "b", "d"], {}),
                         (visited, result.completed, result.unstarted, result.skipped))

    def test_what_needs_a_failed_node_is_skipped_and_not_unstarted(self) -> None:
        failed: List[str] = []
        result = main.walk(deps("a>b, z"), failing("b"), 1, stopped=lambda: bool(failed),
                           finish=lambda node, outcome, error: failed.append(node))
        self.assertEqual(({"a": "b"}, ["z"]), (result.skipped, result.unstarted))

    def test_stopped_from_the_start_nothing_runs(self) -> None:
        self.assertEqual(["a", "b"], main.walk(deps("a>b"), failing(), stopped=lambda: True).unstarted)


class Times(unittest.TestCase):

    def test_each_node_has_when_it_was_ready_started_and_ended(self) -> None:
        result = main.walk(deps("a>b, c"), failing(), 1, clock=FakeClock())
        self.assertEqual({"b": (1.0, 2.0, 3.0), "a": (3.0, 4.0, 5.0), "c": (1.0, 6.0, 7.0)}, result.times)

    def test_a_failed_node_has_times_and_a_skipped_one_has_none(self) -> None:
        result = main.walk(deps("a>b"), failing("b"), 1, clock=FakeClock())
        self.assertEqual({"b": (1.0, 2.0, 3.0)}, result.times)


class Cost(unittest.TestCase):

    def test_twenty_thousand_nodes_take_a_moment(self) -> None:
        """About 20 microseconds a node on a quiet machine; ten times that is allowed here."""
        graph = {f"n{number}": {f"n{number // 2}"} if number else set() for number in range(20_000)}
        began = time.process_time()
        main.walk(graph, lambda node: None, prepare=lambda node: False)
        self.assertLess(time.process_time() - began, 4)


if __name__ == "__main__":
    unittest.main()
