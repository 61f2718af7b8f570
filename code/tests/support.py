"""What the specs share: the path to main.py, graphs from text, configurations from a few lines, commands in process,
and a process of their own for specs that take long."""
from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Set
from unittest import mock

import cases

CODE = Path(__file__).resolve().parent.parent
FIXTURES = CODE / "tests" / "fixtures"
sys.path.insert(0, str(CODE))

import main  # noqa: E402


def config(content: Any, **others: Any) -> main.Config:
    """Load main.tf.json (a text, bytes or JSON value) and other files (x_tf_json=...) from a fresh directory."""
    with temporary_directory() as directory:
        write(directory, "main.tf.json", content)
        for name, text in others.items():
            write(directory, name.replace("_tf_json", ".tf.json").replace("_tofu_json", ".tofu.json"), text)
        return main.load_config(directory)


def temporary_directory() -> "tempfile.TemporaryDirectory[str]":
    """Return a new directory, in memory where the system has one, that goes at the end of a ``with`` or at its cleanup."""
    return tempfile.TemporaryDirectory(prefix="minigraph-test-", dir=cases.memory())


def write(directory: str, name: str, content: Any) -> None:
    """Write one file: bytes and text as they are, anything else as JSON."""
    data = content if isinstance(content, (bytes, str)) else json.dumps(content, indent=2)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def deps(text: str) -> Dict[str, Set[str]]:
    """Return the graph that a text draws: "a>b c, b>d, e" is a needs b and c, b needs d, e stands alone."""
    graph: Dict[str, Set[str]] = {}
    for part in filter(str.strip, text.split(",")):
        node, _, needs = part.partition(">")
        graph.setdefault(node.strip(), set()).update(needs.split())
        for need in needs.split():
            graph.setdefault(need, set())
    return graph


def drawn(graph: Dict[str, Set[str]]) -> str:
    """Return the text that draws a graph, in name order; names that need nothing are left out."""
    return ", ".join(f"{node}>{' '.join(sorted(found))}" for node, found in sorted(graph.items()) if found)


class Ran(NamedTuple):
    """How one command ended."""

    status: int
    out: str
    err: str


class InStack(unittest.TestCase):
    """A fresh directory for each test, in which commands run in process; nothing sleeps, no TF_ variable counts."""

    stream: Callable[[], io.StringIO] = io.StringIO

    def setUp(self) -> None:
        holder = temporary_directory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        clean = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        for patch in (mock.patch.dict(os.environ, clean, clear=True),
                      mock.patch.object(main.Stop, "sleep", lambda stop, seconds: None)):
            patch.start()
            self.addCleanup(patch.stop)

    def stack(self, resource: Any, **rest: Any) -> None:
        """Write main.tf.json with these resources by type and name, and other top-level blocks."""
        write(self.directory, "main.tf.json", {"resource": resource, **rest})

    def path(self, name: str) -> str:
        """Return the path of a file of the stack."""
        return os.path.join(self.directory, name)

    def run_main(self, *words: str) -> Ran:
        """Run a command in the directory."""
        out, err = self.stream(), self.stream()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main([f"-chdir={self.directory}", *words])
        return Ran(status, out.getvalue(), err.getvalue())

    def done(self, *words: str) -> str:
        """Run a command that must end well and return what it printed."""
        ran = self.run_main(*words)
        self.assertEqual(ran.status, 0, ran.out + ran.err)
        return ran.out

    def refused(self, *words: str) -> str:
        """Run a command that must end with status 1 and return its errors."""
        ran = self.run_main(*words)
        self.assertEqual(ran.status, 1, ran.out + ran.err)
        return ran.err

    def planned(self, *words: str) -> List[str]:
        """Return the headings of the blocks that a plan with these options shows."""
        return [line[4:] for line in self.run_main("plan", *words).out.splitlines() if line.startswith("  # ")]

    def state(self, name: str = "terraform.tfstate") -> Any:
        """Return the state file as JSON."""
        with open(self.path(name), encoding="utf-8") as file:
            return json.load(file)

    def objects(self) -> Dict[str, List[str]]:
        """Return what the state holds: for each address its objects as "current", "tainted", "deposed"."""
        found = {}
        for entry in self.state()["resources"]:
            marks = ["deposed" if "deposed" in item else item.get("status", "current") for item in entry["instances"]]
            found[f"{entry['type']}.{entry['name']}"] = marks
        return found


@contextlib.contextmanager
def failing(kind: str, operation: str, times: int = 1, when: Callable[[Any], bool] = lambda attributes: True,
            leaves: Callable[[Any], Any] = lambda attributes: None) -> Iterator[None]:
    """Let an operation of a provider fail so many times, where ``when(attributes)``; ``leaves`` gives what it returns."""
    provider = main.PROVIDERS[kind]
    real, left = getattr(provider, operation), [times]

    def call(*given: Any) -> Any:
        attributes = given[-2]
        if left[0] and when(attributes):
            left[0] -= 1
            raise main.StepError("it broke", attributes=leaves(attributes))
        return real(*given)

    with mock.patch.object(provider, operation, call):
        yield


# --------------------------------------------------------------------------------------
# specs beside others
# beside(the specs of a file)  ->  as many stand-ins; each waits for its spec and ends as that ended
# --------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """How a spec ended: what failed, and why it, or a part of it, was skipped."""

    failed: str
    skipped: str


class Lane:
    """A process that runs specs one after the other and writes how each ended, a line each, into a pipe."""

    def __init__(self, specs: List[unittest.TestCase]) -> None:
        self.waiting = list(specs)
        self.ended: Dict[unittest.TestCase, Outcome] = {}
        reading, writing = os.pipe()
        sys.stdout.flush()
        sys.stderr.flush()
        parent = os.getpid()
        self.process = os.fork()
        if self.process:
            os.close(writing)
            self.lines = os.fdopen(reading, encoding="utf-8")
            return
        try:
            os.close(reading)
            with os.fdopen(writing, "w", encoding="utf-8") as lines:
                for spec in specs:
                    if os.getppid() == parent:  # else nobody waits any more
                        print(json.dumps(outcome(spec)), file=lines, flush=True)
        finally:
            os._exit(0)

    def outcome(self, spec: unittest.TestCase) -> Outcome:
        """Wait for a spec and return how it ended."""
        while spec not in self.ended:
            line = self.lines.readline()
            found = Outcome(*json.loads(line)) if line else Outcome("its process ended without a word", "")
            self.ended[self.waiting.pop(0)] = found
            if not self.waiting:
                self.lines.close()
                os.waitpid(self.process, 0)
        return self.ended[spec]


def outcome(spec: unittest.TestCase) -> Outcome:
    """Run a spec in this process and return how it ended."""
    result = unittest.TestResult()
    unittest.TestSuite([spec]).run(result)
    failed = "\n".join(text for _, text in result.failures + result.errors)
    if not failed and not result.skipped and not (result.testsRun and result.wasSuccessful()):
        failed = "it did not run, or succeeded where it was to fail"
    return Outcome(failed, "; ".join(reason for _, reason in result.skipped))


class StandIn(unittest.TestCase):
    """Takes the place of a spec that runs in another process, under its name, and ends as that ends."""

    def __init__(self, spec: unittest.TestCase, lane: Lane) -> None:
        super().__init__("ends_as_the_other_does")
        self.spec, self.lane = spec, lane

    def id(self) -> str:
        return self.spec.id()

    def __str__(self) -> str:
        return str(self.spec)

    def shortDescription(self) -> Optional[str]:
        return self.spec.shortDescription()

    def ends_as_the_other_does(self) -> None:
        failed, skipped = self.lane.outcome(self.spec)
        if failed:
            self.fail("in a process of its own:\n" + failed)
        if skipped:
            self.skipTest(skipped)


def beside(specs: unittest.TestSuite, lanes: int = 1) -> unittest.TestSuite:
    """Start specs in so many processes, beside all that runs before their turn comes; return what stands in for them."""
    found = list(single(specs))
    cases.compiled(CODE / "main.py")  # once, for all processes
    started = [Lane(found[number::lanes]) for number in range(min(lanes, len(found)))]
    return unittest.TestSuite(StandIn(spec, started[number % lanes]) for number, spec in enumerate(found))


def single(specs: unittest.TestSuite) -> Iterator[unittest.TestCase]:
    """Yield the specs of a suite and of the suites in it."""
    for item in specs:
        if isinstance(item, unittest.TestSuite):
            yield from single(item)
        else:
            yield item
