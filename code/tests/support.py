"""What the specs share: the path to main.py, graphs from text, configurations from a few lines, commands in process."""
from __future__ import annotations

import contextlib
import io
import json
import os
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Set
from unittest import mock

CODE = Path(__file__).resolve().parent.parent
FIXTURES = CODE / "tests" / "fixtures"
sys.path.insert(0, str(CODE))

import main  # noqa: E402


def config(content: Any, **others: Any) -> main.Config:
    """Load main.tf.json (a text, bytes or JSON value) and other files (x_tf_json=...) from a fresh directory."""
    with tempfile.TemporaryDirectory() as directory:
        write(directory, "main.tf.json", content)
        for name, text in others.items():
            write(directory, name.replace("_tf_json", ".tf.json").replace("_tofu_json", ".tofu.json"), text)
        return main.load_config(directory)


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
        holder = tempfile.TemporaryDirectory(prefix="minigraph-test-")
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
