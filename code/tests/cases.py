#!/usr/bin/env python3
"""Run the recorded cases of the real engine against minigraph and list where the two disagree.

    python3 code/tests/cases.py [json|graph|bugs|providers] [name...]

    --from DIR    read the original layout (json/NAME/, graph/NAME/, bugs/NNN-NAME/, ...) below DIR
    --pack DIR    write fixtures/{json,graph,bugs}.jsonl from the original layout below DIR, and stop
    --tool NAME   "minigraph" (in this process, the default), "program" (python3 code/main.py) or "terraform"
    --keep DIR    leave the directories of the cases that disagree in DIR

A case goes in as one JSON object a line: its files and what the real engine did with them.
What comes out is a list of sentences, empty where minigraph does the same.

Step names are the same for all tools here: ``X`` creates or updates, ``X (destroy)`` destroys what is current
(the old half of both kinds of replacement included), ``X (destroy deposed)`` destroys what an earlier
run left.
"""

from __future__ import annotations

import atexit
import base64
import contextlib
import functools
import importlib
import io
import json
import os
import py_compile
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, Iterator, List, NamedTuple, Optional, Set, Tuple

TESTS = Path(__file__).resolve().parent
CODE = Path(os.environ.get("MINIGRAPH_CODE", TESTS.parent))
FIXTURES = TESTS / "fixtures"
KINDS = ("json", "graph", "bugs", "providers")

Case = Dict[str, Any]
Facts = Dict[str, Any]
Edge = Tuple[str, str]  # (step, the step that it waits for)
Event = Tuple[str, str]  # (step, "start" or "end")
Deps = Dict[str, Set[str]]

# --------------------------------------------------------------------------------------
# tools
# Minigraph().run("/tmp/x", "plan", "-out=p")  ->  Outcome(status=0, out="...", err="")
# --------------------------------------------------------------------------------------


class Outcome(NamedTuple):
    """What one command did: exit status, standard output, standard error."""

    status: int
    out: str
    err: str

    @property
    def crashed(self) -> bool:
        """Return whether the command ended in a traceback."""
        return "Traceback (most recent call last)" in self.err

    @property
    def refused(self) -> bool:
        """Return whether the command said clearly that it will not do it."""
        return self.status == 1 and not self.crashed and "Error: " in self.err


def load_main() -> Any:
    """Return the module code/main.py."""
    if str(CODE) not in sys.path:
        sys.path.insert(0, str(CODE))
    return importlib.import_module("main")


class Minigraph:
    """minigraph in this process."""

    name = "minigraph"

    def run(self, directory: str, *argv: str) -> Outcome:
        """Return the outcome of main(["-chdir=directory", *argv])."""
        main = load_main()
        out, err = captured_stream(), captured_stream()
        handlers = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
        here = os.getcwd()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            try:
                status = main.main([f"-chdir={directory}", *argv])
            except SystemExit as stop:
                status = stop.code if isinstance(stop.code, int) else 1
            except Exception:
                traceback.print_exc()
                status = -1
        os.chdir(here)
        for number, handler in handlers.items():
            signal.signal(number, handler)
        return Outcome(status or 0, captured_text(out), captured_text(err))


def captured_stream() -> io.TextIOWrapper:
    """Return a stream that takes text and bytes like a real one."""
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="\n")


def captured_text(stream: io.TextIOWrapper) -> str:
    """Return everything that was written to the stream."""
    stream.flush()
    return stream.buffer.getvalue().decode("utf-8", "replace")  # type: ignore[attr-defined, no-any-return]


class Program:
    """A tool that runs as a program of its own in the directory."""

    def __init__(self, name: str, command: List[str]) -> None:
        self.name = name
        self.command = command

    def run(self, directory: str, *argv: str) -> Outcome:
        """Return the outcome of the command line."""
        done = subprocess.run(
            [*self.command, *argv], cwd=directory, env=clean_environment(), capture_output=True
        )
        return Outcome(
            done.returncode, done.stdout.decode("utf-8", "replace"), done.stderr.decode("utf-8", "replace")
        )

    def start(self, directory: str, *argv: str) -> "subprocess.Popen[str]":
        """Return the running process; its standard output can be read line by line."""
        return subprocess.Popen(
            [*self.command, *argv],
            cwd=directory,
            env=clean_environment(),
            bufsize=1,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
        )


def clean_environment() -> Dict[str, str]:
    """Return an environment in which the real tools ask nobody and read no settings."""
    kept = {name: text for name, text in os.environ.items() if not name.startswith("TF_")}
    settings = {"CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "PYTHONUNBUFFERED": "1"}
    return {**kept, **settings, "GOGC": "off"}  # a run of the real tool ends before it needs its memory back


def memory() -> Optional[str]:
    """Return where directories lie in memory, if anywhere: nothing in them must outlive a power cut."""
    return "/dev/shm" if "TMPDIR" not in os.environ and os.access("/dev/shm", os.W_OK) else None


def scratch(prefix: str) -> str:
    """Return a new directory, in memory where the system has one."""
    return os.path.realpath(tempfile.mkdtemp(prefix=prefix, dir=memory()))


def real_tool() -> Optional[Program]:
    """Return tofu or terraform, whichever is on PATH."""
    for name in ("tofu", "terraform"):
        if shutil.which(name):
            return Program(name, [name])
    return None


def program() -> Program:
    """Return minigraph as a program: compiled, and without the packages of the site, it starts in a third of the time."""
    return Program("program", [sys.executable, "-S", compiled(CODE / "main.py")])


@functools.lru_cache(maxsize=None)
def compiled(source: Path) -> str:
    """Return the compiled form of a file of Python, which runs (and is imported) like the file itself."""
    directory = tempfile.mkdtemp(prefix="minigraph-compiled-", dir=memory())
    atexit.register(shutil.rmtree, directory, ignore_errors=True)
    target = os.path.join(directory, f"{source.stem}.pyc")
    py_compile.compile(str(source), target, doraise=True)
    return target


# --------------------------------------------------------------------------------------
# graphs
# read_dot(text)  ->  {"terraform_data.b (expand)": {"terraform_data.a (expand)"}, ...}
# --------------------------------------------------------------------------------------

QUOTED = r'"((?:[^"\\]|\\.)*)"'
DOT_LINE = re.compile(rf"^\s*{QUOTED}(?:\s*->\s*{QUOTED})?")
STEP = re.compile(r"^([^\s.]+\.[^\s.]+)( \(destroy\)| \((?:destroy )?deposed [^)]*\))?$")


def read_dot(text: str) -> Deps:
    """Return the graph of a DOT text, names without the "[root] " decoration."""
    graph: Deps = {}
    for line in text.splitlines():
        found = DOT_LINE.match(line)
        if not found:
            continue
        source, target = (plain_name(name) for name in found.groups())
        graph.setdefault(source, set())
        if target:
            graph[source].add(target)
            graph.setdefault(target, set())
    return graph


def plain_name(name: Optional[str]) -> str:
    """Return a DOT name unquoted and without "[root] "."""
    text = re.sub(r"\\(.)", r"\1", name or "")
    return text[7:] if text.startswith("[root] ") else text


def contract(graph: Deps, kept: Iterable[str]) -> Deps:
    """Return the graph over the kept nodes alone; the others are looked through."""
    names = set(kept)
    result: Deps = {}
    for name in names & set(graph):
        found: Set[str] = set()
        seen, todo = {name}, list(graph[name])
        while todo:
            other = todo.pop()
            if other in seen:
                continue
            seen.add(other)
            if other in names:
                found.add(other)
            else:
                todo.extend(graph.get(other, ()))
        result[name] = found
    return result


def reachable(graph: Deps, name: str) -> Set[str]:
    """Return everything that the node needs, directly or not."""
    seen: Set[str] = set()
    todo = list(graph.get(name, ()))
    while todo:
        other = todo.pop()
        if other not in seen:
            seen.add(other)
            todo.extend(graph.get(other, ()))
    return seen


def closure(graph: Deps) -> Deps:
    """Return the graph with every indirect edge made direct."""
    return {name: reachable(graph, name) for name in graph}


def reduced(graph: Deps) -> Set[Edge]:
    """Return the edges that no other path implies (of an acyclic graph)."""
    whole = closure(graph)
    return {
        (name, need)
        for name, needs in graph.items()
        for need in needs
        if not any(need in whole[other] for other in needs - {need})
    }


def find_loop(graph: Deps) -> Optional[str]:
    """Return a node that needs itself, or None."""
    whole = closure(graph)
    return next((name for name in sorted(graph) if name in whole[name]), None)


def edges_to_graph(nodes: Iterable[str], edges: Iterable[Iterable[str]]) -> Deps:
    """Return the graph with these nodes and edges."""
    graph: Deps = {name: set() for name in nodes}
    for source, target in edges:
        graph.setdefault(source, set()).add(target)
        graph.setdefault(target, set())
    return graph


def resource_graph(dot: str) -> Deps:
    """Return the resource addresses of a configuration graph, whichever way it was drawn."""
    graph = {
        strip_suffix(name): {strip_suffix(need) for need in needs} for name, needs in read_dot(dot).items()
    }
    return contract(graph, (name for name in graph if is_resource(name)))


def strip_suffix(name: str) -> str:
    """Return the name without " (expand)" and " (orphan)"."""
    return re.sub(r" \((expand|orphan)\)$", "", name)


def is_resource(name: str) -> bool:
    """Return whether a node name is the address of a managed resource."""
    return bool(re.match(r"^[^\s.]+\.[^\s.]+$", name)) and not name.startswith(
        ("local.", "output.", "var.", "provider[")
    )


def step_graph(dot: str, left_behind: Dict[str, Set[str]]) -> Deps:
    """Return the steps of an apply graph under their common names.

    ``left_behind`` holds the deposed keys that existed before this plan, by address.
    """
    graph = read_dot(dot)
    names = {
        name: step_name(name, left_behind)
        for name in graph
        if STEP.match(name) and is_resource(name.split(" ")[0])
    }
    return {names[name]: {names[need] for need in needs} for name, needs in contract(graph, names).items()}


def step_name(name: str, left_behind: Dict[str, Set[str]]) -> str:
    """Return the common name of a step: of a deposed object only whether it is new matters, not its key."""
    address, _, rest = name.partition(" ")
    if not rest:
        return address
    key = rest.rstrip(")").rpartition(" ")[2]
    return f"{address} (destroy deposed)" if key in left_behind.get(address, ()) else f"{address} (destroy)"


# --------------------------------------------------------------------------------------
# logs
# read_events("terraform_data.a: Creating...\n")  ->  [("terraform_data.a", "start")]
# --------------------------------------------------------------------------------------

LOG_LINE = re.compile(
    r"^(?P<address>[^\s:]+\.[^\s:]+)(?: \(deposed object (?P<key>[^)]*)\))?: "
    r"(?P<what>Creating|Modifying|Destroying|Creation complete|Modifications complete|Destruction complete)\b"
)


def read_events(log: str, left_behind: Dict[str, Set[str]]) -> List[Event]:
    """Return what started and ended, in the order of the log."""
    events: List[Event] = []
    for line in log.splitlines():
        found = LOG_LINE.match(line)
        if found:
            events.append(
                event_of(found.group("address"), found.group("key"), found.group("what"), left_behind, events)
            )
    return events


def event_of(
    address: str, key: Optional[str], what: str, left_behind: Dict[str, Set[str]], before: List[Event]
) -> Event:
    """Return the event of one log line; a destruction ends the oldest one of its address still running."""
    if what in ("Creating", "Modifying"):
        return address, "start"
    if what == "Destroying":
        return step_name(
            f"{address} (destroy {key})" if key else f"{address} (destroy)", left_behind
        ), "start"
    if what != "Destruction complete":
        return address, "end"
    running = [
        name
        for name, kind in before
        if kind == "start" and name.startswith(f"{address} (destroy") and (name, "end") not in before
    ]
    return (running or [f"{address} (destroy)"])[0], "end"


def broken_orders(events: List[Event], graph: Deps) -> List[str]:
    """Return a sentence for every step that started before something that it waits for had ended."""
    place = {event: number for number, event in enumerate(events)}
    found = []
    for name, needs in sorted(closure(graph).items()):
        for need in sorted(needs):
            if (name, "start") in place and (need, "start") in place:
                ended = place.get((need, "end"))
                if ended is None or ended > place[name, "start"]:
                    found.append(f"{name} started before {need} was done")
    return found


def most_in_flight(events: List[Event]) -> int:
    """Return how many steps ran at once at most."""
    running = most = 0
    for _, kind in events:
        running += 1 if kind == "start" else -1
        most = max(most, running)
    return most


# --------------------------------------------------------------------------------------
# plans and states
# read_state(directory)  ->  {"terraform_data.a": {"dependencies": [...]}, "terraform_data.a (deposed)": {}}
# --------------------------------------------------------------------------------------

ACTIONS = {
    ("no-op",): "no-op",
    ("create",): "create",
    ("update",): "update",
    ("delete",): "delete",
    ("delete", "create"): "replace",
    ("create", "delete"): "create_before_destroy replace",
}
HASHES = re.compile(
    r"^content_(md5|sha1|sha256|sha512|base64sha256|base64sha512)$"
)  # newer releases of hashicorp/local
SUMMARY = re.compile(r"^(Plan: .*|No changes\.|Changes to Outputs:$)", re.M)
COMPLETE = re.compile(r"^((?:Apply|Destroy) complete! .*)$", re.M)


class Number(str):
    """A number of a JSON text, as it was written."""


def read_json(text: str) -> Any:
    """Return a JSON text with its numbers as they were written."""
    return json.loads(text, parse_int=Number, parse_float=Number)


def plain(value: Any) -> Any:
    """Return a value in which numbers that mean the same look the same (and differ from strings)."""
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    if isinstance(value, bool) or value is None:
        return value
    if isinstance(value, (Number, int, float, Decimal)):
        return ("number", number_text(str(value)))
    return value


def number_text(text: str) -> str:
    """Return a number without exponent and trailing zeros."""
    try:
        number = Decimal(text)
    except InvalidOperation:
        return text
    return (
        "0"
        if number == 0
        else format(number.normalize(), "f")
        if abs(number.adjusted()) < 400
        else str(number)
    )


def plan_facts(document: Any) -> Facts:
    """Return what a plan document (show -json) says about actions, reasons, unknowns and outputs."""
    facts: Facts = {
        "actions": {},
        "reasons": {},
        "replace_paths": {},
        "after_unknown": {},
        "unknown": {},
        "output_changes": {},
    }
    for change in document.get("resource_changes", ()):
        address = change["address"] + (" (deposed)" if change.get("deposed") else "")
        body = change["change"]
        facts["actions"][address] = ACTIONS[tuple(body["actions"])]
        if change.get("action_reason"):
            facts["reasons"][address] = change["action_reason"]
        if body.get("replace_paths"):
            facts["replace_paths"][address] = sorted({path[0] for path in body["replace_paths"]})
        shape = {
            key: item
            for key, item in (body.get("after_unknown") or {}).items()
            if item and not HASHES.match(key)
        }
        if shape:
            facts["unknown"][address] = sorted(shape)
        if holds_true(shape):
            facts["after_unknown"][address] = {key: item for key, item in shape.items() if holds_true(item)}
    for name, body in document.get("output_changes", {}).items():
        facts["output_changes"][name] = {
            "action": ACTIONS[tuple(body["actions"])],
            "unknown": body.get("after_unknown"),
        }
    return facts


def holds_true(value: Any) -> bool:
    """Return whether True occurs anywhere in the value."""
    if isinstance(value, dict):
        return any(holds_true(item) for item in value.values())
    if isinstance(value, list):
        return any(holds_true(item) for item in value)
    return value is True


def state_document(directory: str) -> Any:
    """Return the state file of a directory, {} where there is none."""
    path = Path(directory, "terraform.tfstate")
    text = path.read_text(encoding="utf-8") if path.exists() else ""
    return read_json(text) if text.strip() else {}


def state_instances(document: Any) -> Iterator[Tuple[str, Any]]:
    """Yield (address, instance) for every object of a state document."""
    for resource in document.get("resources", ()):
        for instance in resource["instances"]:
            yield f"{resource['type']}.{resource['name']}", instance


def read_state(directory: str) -> Dict[str, Any]:
    """Return what the state file records of every object besides its values."""
    found: Dict[str, Any] = {}
    for address, instance in state_instances(state_document(directory)):
        entry: Dict[str, Any] = {}
        if instance.get("dependencies"):
            entry["dependencies"] = instance["dependencies"]
        if instance.get("create_before_destroy"):
            entry["create_before_destroy"] = True
        if instance.get("status") == "tainted":
            entry["tainted"] = True
        found[address + (" (deposed)" if instance.get("deposed") else "")] = entry
    return found


def deposed_keys(directory: str) -> Dict[str, Set[str]]:
    """Return the keys of the deposed objects that the state holds, by address."""
    keys: Dict[str, Set[str]] = {}
    for address, instance in state_instances(state_document(directory)):
        if instance.get("deposed"):
            keys.setdefault(address, set()).add(instance["deposed"])
    return keys


def stored_values(document: Any, marks: bool = True) -> Dict[str, Any]:
    """Return ADDRESS.ATTRIBUTE and output.NAME -> stored value; ids as <ADDRESS.id>, or as <ID>."""
    values: Dict[str, Any] = {}
    names: Dict[str, str] = {}
    for address, instance in state_instances(document):
        if not instance.get("deposed"):
            attributes = instance["attributes"]
            if isinstance(attributes.get("id"), str) and not isinstance(attributes["id"], Number):
                names[attributes["id"]] = f"<{address}.id>" if marks else "<ID>"
            for name, value in attributes.items():
                values[f"{address}.{name}"] = unwrapped(value)
    for name, body in document.get("outputs", {}).items():
        values[f"output.{name}"] = body["value"]
    return {key: renamed(plain(value), names) for key, value in values.items()}


def unwrapped(value: Any) -> Any:
    """Return the value of a dynamic attribute."""
    if isinstance(value, dict) and set(value) == {"value", "type"}:
        return value["value"]
    return value


def renamed(value: Any, names: Dict[str, str]) -> Any:
    """Return the value with every generated id in it replaced by its mark."""
    if isinstance(value, dict):
        return {renamed(key, names): renamed(item, names) for key, item in value.items()}
    if isinstance(value, list):
        return [renamed(item, names) for item in value]
    if isinstance(value, str):
        for text, mark in names.items():
            if len(text) > 5:
                value = value.replace(text, mark)
    return value


def hard_edges(actions: Dict[str, str], config: Deps, stored: Dict[str, Any], destroy: bool = False) -> Deps:
    """Return the waits that hold in every plan (design.md section 4), whatever the real engine makes of it.

    A create or update waits for those of what its configuration needs, a destroy for those of the objects
    whose stored dependencies name it, and the halves of a replacement follow create_before_destroy. Before a
    whole destroy a refresh may already have forgotten a stored dependency that the configuration lacks.
    """
    works = {name for name, action in actions.items() if action not in ("no-op", "delete")}
    goes = {name for name, action in actions.items() if action == "delete" or action.endswith("replace")}
    graph: Deps = {name: reachable(config, name) & works - {name} for name in works}
    for name in sorted(goes):
        step = name.replace(" (deposed)", " (destroy deposed)") if "(" in name else f"{name} (destroy)"
        users = {
            user
            for user in goes
            if "(" not in user
            and name in stored.get(user, {}).get("dependencies", ())
            and not (destroy and user in config and name not in reachable(config, user))
        }
        graph[step] = {f"{user} (destroy)" for user in users}
        if actions[name] == "replace":
            graph[name].add(step)
        elif actions[name] == "create_before_destroy replace":
            graph[step].add(name)
    return graph


# --------------------------------------------------------------------------------------
# loading
# load("json")  ->  [{"name": "cycle-two", "files": {"main.tf.json": "..."}, "valid": False, ...}, ...]
# --------------------------------------------------------------------------------------

# Where minigraph differs on purpose (design.md): (kind, name, step) -> facts that replace the recorded ones.
ON_PURPOSE: Dict[Tuple[str, str, int], Facts] = {
    ("graph", "target-leaves-deposed", 1): {
        "apply_summary": "Apply complete! Resources: 1 added, 1 changed, 1 destroyed.",
        "steps": ["terraform_data.a", "terraform_data.a (destroy)", "terraform_data.b"],
        "step_edges": [
            ["terraform_data.a (destroy)", "terraform_data.b"],
            ["terraform_data.b", "terraform_data.a"],
        ],
        "events": ["terraform_data.a", "terraform_data.a (destroy)", "terraform_data.b"],
        "state": {
            "terraform_data.a": {"create_before_destroy": True},
            "terraform_data.b": {"dependencies": ["terraform_data.a"]},
            "terraform_data.c": {"dependencies": ["terraform_data.a", "terraform_data.b"]},
        },
    },
    ("bugs", "023-cbd-same-filename", 1): {
        "files": {"out/pet.txt": "fixed"}
    },  # the new object keeps its file
    ("bugs", "023-cbd-same-filename", 2): {
        "files": {"out/pet.txt": "fixed"},
        "actions": {},
        "unknown": {},
        "plan_summary": "No changes.",
        "steps": [],
    },
    ("graph", "rtb-forms", 2): {"plan_exit": 1},  # OpenTofu refuses an attribute that does not exist
    ("graph", "target-leaves-deposed", 2): {
        "actions": {"terraform_data.a": "no-op", "terraform_data.b": "no-op", "terraform_data.c": "no-op"},
        "plan_summary": "No changes. Your infrastructure matches the configuration.",
        "apply_summary": "Apply complete! Resources: 0 added, 0 changed, 0 destroyed.",
        "steps": [],
        "step_edges": [],
        "events": [],
    },
}
# The order of minigraph in case 018 is that of design.md section 4, not the one that the report asks for.
OWN_ORDER = {"018-cbd-origin-removed-with-replace"}
# Recorded with an older provider, or by terraform where OpenTofu does otherwise, or with *.tf files beside.
OTHERWISE = {
    "059-empty-separator-stable": "random 3.4 and later fail with an empty prefix",
    "rtb-create": "OpenTofu 1.12 and later replace on the creation of a named resource",
    "file-native-tf-alongside": "*.tf files are not read (D8)",
    "ref-tofu-workspace": "valid in OpenTofu 1.9 and later",
    "struct-terraform-required-version-unmet": "OpenTofu 1.12 and later do not look at it in *.tf.json",
}
BETTER_LINES = {
    "struct-array-two-bodies-one-name": 6,
    "body-array-of-two.tf.json": 8,
}  # the second body itself
# What lies outside plain references (D7): a clear refusal is as good as the recorded answer.
OUTSIDE = {
    "graph": {"failure-destroy", "failure-taint", "refs-expressions"},
    "bugs": {
        "percent-directive.tf.json",
        "trim-markers.tf.json",
        "nested-quotes.tf.json",
        "legacy-dot-index.tf.json",
        "string-literal-with-brace.tf.json",
        "provider-alias.tf.json",
        "provisioner.tf.json",
        "count.tf.json",
        "variable-with-default.tf.json",
        "data-block.tf.json",
        "deep-nesting.tf.json",
        "bad-utf8.tf.json",
        "content-missing.tf.json",
    },  # the last one: local 2.2 and later want exactly one kind of content
}


def load(kind: str, root: Optional[Path] = None) -> List[Case]:
    """Return the cases of a kind, from the fixtures or from the original layout below ``root``."""
    if root is None or kind == "providers":
        path = (root or FIXTURES) / f"{kind}.jsonl"
        return [
            read_case(kind, number, line)
            for number, line in enumerate(path.read_text(encoding="utf-8").splitlines())
        ]
    convert = {"json": json_case, "graph": graph_case, "bugs": bugs_case}[kind]
    return [convert(path) for path in sorted((root / kind).iterdir()) if (path / "expected.json").exists()]


def read_case(kind: str, number: int, line: str) -> Case:
    """Return one line of a fixture file as a case; provider cases get a name."""
    case: Case = read_json(line) if kind in ("providers", "json") else json.loads(line)
    if kind == "providers":
        case["name"] = f"{number + 1}-{case['type']}"
    return case


def pack(root: Path) -> None:
    """Write the fixtures from the original layout, with the waiting times cut to a tenth."""
    FIXTURES.mkdir(exist_ok=True)
    for kind in ("json", "graph", "bugs"):
        with open(FIXTURES / f"{kind}.jsonl", "w", encoding="utf-8", newline="\n") as file:
            for case in load(kind, root):
                case["files"] = {name: shortened(content) for name, content in case["files"].items()}
                slow = {"110": '"2000ms"', "112": '"4000ms"', "118": '"2000ms"'}.get(case["name"][:3])
                if slow:  # a signal, or two more programs, must get there in time
                    case["files"] = {
                        name: re.sub('"[56]00ms"', slow, text) for name, text in case["files"].items()
                    }
                file.write(dump_json(case) + "\n")


def shortened(content: Any) -> Any:
    """Return a configuration text with whole seconds of time_sleep as tenths."""
    if not isinstance(content, str):
        return content
    return re.sub(r'("(?:create|destroy)_duration": *")([1-9])s"', r'\g<1>\g<2>00ms"', content)


def folder_files(folder: Path) -> Dict[str, Any]:
    """Return name -> text of the files of a case; bytes that are no clean UTF-8 as {"base64": ...}."""
    found: Dict[str, Any] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and name not in ("expected.json", "diagnostic.txt"):
            data = path.read_bytes()
            try:
                found[name] = data.decode("utf-8")
            except UnicodeDecodeError:
                found[name] = {"base64": base64.b64encode(data).decode("ascii")}
    return found


def write_files(directory: str, files: Dict[str, Any], names: Optional[Dict[str, str]] = None) -> None:
    """Write the files of a case (``names``: only these, under the new name)."""
    for name, content in files.items():
        if names is not None and name not in names:
            continue
        path = Path(directory, name if names is None else names[name])
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(
            content.encode("utf-8") if isinstance(content, str) else base64.b64decode(content["base64"])
        )


def json_case(folder: Path) -> Case:
    """Return a json case with the fields that are compared."""
    expected = read_json((folder / "expected.json").read_text(encoding="utf-8"))
    case: Case = {"name": folder.name, "files": folder_files(folder)}
    for key in (
        "valid",
        "stage",
        "subset",
        "values",
        "dependencies",
        "unknown_at_plan",
        "cycles",
        "opentofu",
        "file",
    ):
        if expected.get(key) is not None:
            case[key] = expected[key]
    if expected.get("error_summary"):
        case["summary"] = expected["error_summary"]
    line = expected.get("best_line") or expected.get("line")
    if line is not None:
        case["lines"] = sorted({int(line), BETTER_LINES.get(folder.name, int(line))})
    return case


def graph_case(folder: Path) -> Case:
    """Return a graph case; the facts of a step under the names that ``take_step`` gives them."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    case: Case = {"name": folder.name, "about": expected["about"], "files": folder_files(folder), "steps": []}
    if folder.name in OUTSIDE["graph"]:
        case["subset"] = False
    for old in expected["steps"]:
        case["steps"].append(graph_step(old))
    if folder.name == "parallelism":
        case["steps"][0]["most_in_flight"] = 10
    return case


def graph_step(old: Facts) -> Facts:
    """Return one step of a graph case: what to do, and what the real engine did."""
    step: Facts = {key: old[key] for key in ("config", "command", "args", "apply_args") if key in old}
    same = (
        "resource_nodes",
        "resource_edges",
        "plan_exit",
        "after_unknown",
        "output_changes",
        "plan_summary",
        "apply_exit",
        "apply_summary",
        "state",
        "exit",
        "graph_exit",
    )
    step["facts"] = facts = {key: old[key] for key in same if key in old}
    if "actions" in old or "actions_shown_before_error" in old:
        facts["actions"] = old.get("actions", old.get("actions_shown_before_error"))
        facts["reasons"] = old.get("action_reasons", {})
    if "plan_exit" in old and "actions_shown_before_error" in old:
        facts.pop("reasons")
    if "state_outputs" in old:
        facts["outputs"] = sorted(old["state_outputs"])
    replaced = {
        name for name, action in facts.get("actions", {}).items() if action.startswith("create_before")
    }
    rename = common_names(replaced)
    if "apply_nodes" in old:
        facts["steps"] = sorted(rename(name) for name in old["apply_nodes"])
        facts["step_edges"] = sorted([rename(name), rename(need)] for name, need in old["apply_edges"])
    if "log" in old:
        facts["events"] = logged_steps(old["log"], replaced)
    if "dot" in old:
        graph = resource_or_step_graph(old["dot"])
        facts["dot_nodes"], facts["dot_edges"] = sorted(graph), sorted(map(list, reduced(graph)))
    add_errors(facts, old.get("errors", ()))
    return step


def common_names(replaced: Set[str]) -> Callable[[str], str]:
    """Return the renaming of recorded steps: the old half of a replacement planned now is "X (destroy)"."""

    def rename(name: str) -> str:
        address, _, rest = name.partition(" ")
        if not rest:
            return address
        return (
            f"{address} (destroy deposed)"
            if "deposed" in rest and address not in replaced
            else f"{address} (destroy)"
        )

    return rename


def logged_steps(log: List[List[str]], replaced: Set[str]) -> List[str]:
    """Return the steps that started, with a "!" behind those that did not end."""
    ended = [
        name.partition(" ")[0]
        for name, what in log
        if what.endswith("complete") and what.startswith("destruction")
    ]
    done = [name for name, what in log if what.endswith("complete") and not what.startswith("destruction")]
    found = []
    for name, what in log:
        address, _, deposed = name.partition(" ")
        if what in ("creating", "modifying"):
            found.append(address + ("" if address in done else "!"))
        elif what == "destroying":
            kind = " (destroy deposed)" if deposed and address not in replaced else " (destroy)"
            found.append(address + kind + ("" if address in ended else "!"))
    return sorted(found)


def resource_or_step_graph(dot: str) -> Deps:
    """Return resources and destroy steps of any drawing, under the names that they have there."""
    graph = {
        re.sub(r" \(expand\)$", "", name): {re.sub(r" \(expand\)$", "", need) for need in needs}
        for name, needs in read_dot(dot).items()
    }
    kept = [name for name in graph if STEP.match(name) and is_resource(name.partition(" ")[0])]
    bare = {
        name: re.sub(r"\((?:destroy )?deposed [0-9A-Za-z]+\)", "(destroy deposed)", name) for name in kept
    }
    return {bare[name]: {bare[need] for need in needs} for name, needs in contract(graph, kept).items()}


def add_errors(facts: Facts, errors: Iterable[Facts]) -> None:
    """Add the members of every loop and the places that the recorded errors name."""
    cycles, places = [], []
    for error in errors:
        if error["summary"].startswith("Cycle: "):
            cycles.append(sorted(strip_suffix(name) for name in error["summary"][7:].split(", ")))
        found = re.search(r"(\S+) line (\d+)", f"{error.get('at', '')} {error.get('detail', '')}")
        if found:
            places.append([found.group(1), int(found.group(2))])
    if cycles:
        facts["cycles"] = cycles
    if places:
        facts["places"] = places


def bugs_case(folder: Path) -> Case:
    """Return a bug case; configuration steps take the form of the graph cases."""
    expected = json.loads((folder / "expected.json").read_text(encoding="utf-8"))
    case: Case = {"name": folder.name, "right": expected["right"], "files": folder_files(folder), "steps": []}
    for key in ("inputs", "runs", "odd_values", "exclude_expectations"):
        if key in expected:
            case[key] = [input_case(item) for item in expected[key]] if key == "inputs" else expected[key]
    for old in expected.get("steps", ()):
        step = bugs_step(old)
        if (
            expected.get("acceptable_order_edges")
            and folder.name not in OWN_ORDER
            and old.get("plan", {}).get("exit") == 1
        ):
            step["facts"]["step_edges"] = [
                [deposed_half(a), deposed_half(b)] for a, b in expected["acceptable_order_edges"]
            ]
        if "cycles" in step["facts"] and "loop_members" in expected:
            step["facts"]["cycles"] = [expected["loop_members"]]
            step["facts"]["loops"] = expected.get("loops")
        case["steps"].append(step)
    return case


def deposed_half(name: str) -> str:
    """Return the common name of "X (destroy deposed)" where X is replaced in the same plan."""
    return name.replace(" (destroy deposed)", " (destroy)")


def input_case(old: Facts) -> Facts:
    """Return one input of a json-syntax bug case without the texts of the real errors."""
    case = {
        key: item
        for key, item in old.items()
        if key not in ("about", "errors", "plan_errors", "apply_errors", "note")
    }
    if old.get("plan_errors") or old.get("apply_errors"):
        case["fails"] = "plan" if old.get("plan_errors") else "apply"
    facts: Facts = {}
    add_errors(facts, old.get("errors", ()))
    if facts.get("places"):
        better = BETTER_LINES.get(old.get("input", ""))
        case["places"] = facts["places"] + ([["main.tf.json", better]] if better else [])
    if old.get("input") in OUTSIDE["bugs"]:
        case["subset"] = False
    return case


def bugs_step(old: Facts) -> Facts:
    """Return one step of a bug case in the form of the graph cases."""
    plan, applied = old.get("plan") or {}, old.get("apply") or {}
    step: Facts = {key: old[key] for key in ("config", "before", "run") if old.get(key)}
    step["args"] = [arg for arg in plan.get("args") or [] if arg != "-destroy"]
    destroy = "-destroy" in (plan.get("args") or [])
    step["command"] = ("destroy" if destroy else "apply") if "exit" in applied else "plan"
    facts = step["facts"] = {}
    for key in ("resource_edges", "waves", "critical_path_any_of", "files"):
        if old.get(key) is not None:
            facts[key] = old[key]
    if (old.get("validate") or {}).get("exit") is not None:
        facts["validate_exit"] = old["validate"]["exit"]
    if plan.get("exit") is not None:
        facts["plan_exit"] = plan["exit"]
        add_errors(facts, (error for error in plan.get("errors", ()) if isinstance(error, dict)))
        facts.update(bugs_plan_facts(plan))
    if "operations" in old:
        add_steps(facts, old)
    if "exit" in applied:
        facts["apply_exit"] = applied["exit"]
        if applied.get("summary"):
            facts["apply_summary"] = applied["summary"]
    if old.get("state") is not None and ("exit" in applied or old.get("run")):
        facts["state"] = bugs_state(old["state"])
    if "after_unknown_exact" in old:
        facts["after_unknown"] = old["after_unknown_exact"]
    if "outputs_in_state" in old:
        facts["outputs"] = sorted(old["outputs_in_state"])
    return step


def bugs_plan_facts(plan: Facts) -> Facts:
    """Return actions, reasons, forcing arguments and unknown attributes of a recorded bug plan."""
    facts: Facts = {"actions": {}, "reasons": {}, "replace_paths": {}, "unknown": {}}
    if plan["exit"] != 0 and not plan.get("actions"):
        return {}
    for address, entry in (plan.get("actions") or {}).items():
        facts["actions"][address] = ACTIONS[tuple(entry["actions"])]
        for old, new in (("reason", "reasons"), ("replace_paths", "replace_paths"), ("unknown", "unknown")):
            if entry.get(old):
                facts[new][address] = entry[old]
    if plan.get("summary"):
        facts["plan_summary"] = plan["summary"]
    return facts


def add_steps(facts: Facts, old: Facts) -> None:
    """Add the step graph of a recorded bug plan under common names."""
    replaced = {
        name for name, action in facts.get("actions", {}).items() if action.startswith("create_before")
    }
    rename = common_names(replaced)
    facts["steps"] = sorted(rename(name) for name in old["operations"])
    facts["step_edges"] = sorted(
        [rename(name), rename(need)] for name, need in old.get("apply_edges_after", ())
    )
    seen = [event.split() for event in (old.get("apply") or {}).get("events_seen", ())]
    if seen:
        log = [
            [
                address,
                {
                    "start": {"create": "creating", "update": "modifying", "delete": "destroying"},
                    "complete": {
                        "create": "creation complete",
                        "update": "modifications complete",
                        "delete": "destruction complete",
                    },
                }.get(kind, {}).get(verb, "errored"),
            ]
            for kind, verb, address in seen
        ]
        facts["events"] = [name for name in logged_steps(log, set())]
        facts["events"] = sorted(
            re.sub(
                r"^(\S+) \(destroy\)",
                lambda match: (
                    match.group(1)
                    + (
                        " (destroy deposed)"
                        if f"{match.group(1)} (destroy deposed)" in facts["steps"]
                        else " (destroy)"
                    )
                ),
                name,
            )
            for name in facts["events"]
        )


def bugs_state(old: Facts) -> Facts:
    """Return a recorded bug state in the form of the graph cases; None: any entry will do."""
    state: Facts = {}
    for address, entry in old.items():
        if entry.get("current"):
            state[address] = {
                key: entry[key]
                for key in ("dependencies", "create_before_destroy", "tainted")
                if entry.get(key)
            }
        if entry.get("deposed"):
            state[f"{address} (deposed)"] = None
    return state


# --------------------------------------------------------------------------------------
# json cases
# check_json(tool, case, directory)  ->  ["accepted, but the real engine refuses it (Cycle)"]
# --------------------------------------------------------------------------------------

STAGES = ("validate", "plan", "apply")


def check_json(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where the tool disagrees: acceptance, stage, place, stored values, dependencies."""
    write_files(directory, case["files"])
    stage, outcome = first_refusal(tool, directory)
    if outcome.crashed:
        return [f"{stage}: crashed: {last_line(outcome.err)}"]
    inside = case.get("subset", True)
    if stage is None:
        if not case["valid"]:
            return [f"accepted, but the real engine refuses it at {case['stage']} ({case.get('summary')})"]
        return check_stored(case, directory) + check_unknown(tool, case, directory)
    if not outcome.refused:
        return [
            f"{stage}: exit {outcome.status} without an Error line: {last_line(outcome.err or outcome.out)}"
        ]
    if case["valid"]:
        return [f"{stage}: refused, but it is valid: {error_lines(outcome.err)}"] if inside else []
    found = (
        [f"refused at {stage}, the real engine refuses it at {case['stage']} already"]
        if STAGES.index(stage) > STAGES.index(case["stage"])
        else []
    )
    return found + (
        check_place(case, outcome.err) + check_cycles(case.get("cycles"), outcome.err) if inside else []
    )


def first_refusal(tool: Any, directory: str) -> Tuple[Optional[str], Outcome]:
    """Return the first stage that ends badly, with its outcome; None where all end well."""
    outcome = Outcome(0, "", "")
    for stage in STAGES:
        extra = ["-auto-approve"] if stage == "apply" else []
        outcome = tool.run(directory, stage, "-no-color", *extra)
        if outcome.status:
            return stage, outcome
    return None, outcome


def check_place(case: Case, err: str) -> List[str]:
    """Return a sentence where the error does not name the line that it is about."""
    if not case.get("lines") or not case.get("file"):
        return []
    return (
        []
        if any(names_place(err, case["file"], line) for line in case["lines"])
        else [f"does not name {case['file']}:{case['lines'][0]} ({case.get('summary')}): {error_lines(err)}"]
    )


def names_place(err: str, file: str, line: object) -> bool:
    """Return whether the text names a line of a file, in either form."""
    return bool(re.search(rf"\bon {re.escape(file)} line {line}\b|(?<![\w.]){re.escape(file)}:{line}\b", err))


def check_cycles(
    cycles: Optional[List[List[str]]], err: str, loops: Optional[List[List[str]]] = None
) -> List[str]:
    """Return where the reported loops are not those of the configuration.

    The real engine names all members of a component; minigraph reports closed paths, so the members of
    the loops of one component must be among its members, and no component may be left out.
    """
    if not cycles:
        return []
    components = [{member_name(name) for name in cycle} for cycle in cycles]
    reported = [
        [member_name(name) for name in re.split(r" -> |, ", text)] for text in re.findall(r"Cycle: (.+)", err)
    ]
    found = [
        f"reports the loop {' '.join(loop)}, which is none"
        for loop in reported
        if not any(set(loop) <= component for component in components)
    ]
    for component in components:
        members = {name for loop in reported if set(loop) <= component for name in loop}
        if not members:
            found.append(f"does not report the loop of {', '.join(sorted(component))}")
        elif loops is None and members != component:
            found.append(f"its loops leave out {', '.join(sorted(component - members))}")
    for loop in loops or ():
        if set(loop) not in [set(path) for path in reported]:
            found.append(f"does not report the loop {' -> '.join(loop)}")
    return found


def member_name(name: str) -> str:
    """Return the name of a loop's member without what differs from run to run."""
    return re.sub(r"deposed [0-9a-f]{8}", "deposed", strip_suffix(name.strip()))


def check_stored(case: Case, directory: str) -> List[str]:
    """Return where the state file holds other values or dependencies than the real engine stored."""
    document = state_document(directory)
    values = stored_values(document, marks=False)
    found = []
    for key, value in (case.get("values") or {}).items():
        stored = values.get(key, "(nothing)")
        if stored != plain(value):
            found.append(f"stores {key} = {show(stored)}, the real engine {show(plain(value))}")
    dependencies = {
        address: instance.get("dependencies", []) for address, instance in state_instances(document)
    }
    for address, needs in (case.get("dependencies") or {}).items():
        if dependencies.get(address) != needs:
            found.append(
                f"stores dependencies of {address} {dependencies.get(address)}, the real engine {needs}"
            )
    return found


def check_unknown(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where the first plan has other unknowns than the real engine's."""
    if not case.get("unknown_at_plan"):
        return []
    Path(directory, "terraform.tfstate").unlink()
    _, document = planned(tool, directory, [])
    unknown = plan_facts(document)["after_unknown"]
    found = []
    for key, value in case["unknown_at_plan"].items():
        address, _, attribute = key.rpartition(".")
        if unknown.get(address, {}).get(attribute) != value:
            found.append(
                f"{key}: after_unknown: {unknown.get(address, {}).get(attribute)}, the real engine's {value}"
            )
    return found


def planned(tool: Any, directory: str, args: List[str]) -> Tuple[Outcome, Any]:
    """Return the outcome of plan -out=plan.bin and the plan document."""
    outcome = tool.run(directory, "plan", "-no-color", "-out=plan.bin", *args)
    if outcome.status:
        return outcome, {}
    shown = tool.run(directory, "show", "-json", "plan.bin")
    try:
        return outcome, json.loads(shown.out)
    except ValueError:
        return Outcome(shown.status or -1, shown.out, shown.err or "show -json printed no JSON"), {}


def error_lines(err: str) -> str:
    """Return the error summaries of a text in one line."""
    lines = [
        line.strip("│ ")
        for line in err.splitlines()
        if "Error: " in line or re.search(r"\bon \S+ line \d+", line)
    ]
    return " | ".join(lines)[:300] or last_line(err)


def last_line(text: str) -> str:
    """Return the last line of a text that is not blank."""
    return next((line.strip() for line in reversed(text.splitlines()) if line.strip()), "(silent)")


def show(value: Any) -> str:
    """Return a compared value in short."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True, default=str)
    return text if len(text) < 400 else text[:400] + "..."


# --------------------------------------------------------------------------------------
# graph cases and the steps of bug cases
# check_steps(tool, case, directory)  ->  ["step 2 (apply): actions: a.x is update, ..."]
# --------------------------------------------------------------------------------------


def check_steps(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where the tool disagrees on a case that takes several configurations through one directory."""
    if not case.get("subset", True):
        return check_refusal(tool, case, directory)
    found = []
    for number, step in enumerate(case["steps"]):
        step = adjusted(case, number, step) if tool.name != "terraform" else step
        kept = snapshot(directory)
        told, restore = check_step(tool, case, step, directory)
        found += [
            f"step {number + 1} ({' '.join([step['command'], *step.get('args', ())])}): {text}"
            for text in told
        ]
        if restore and number + 1 < len(case["steps"]):
            put_back(directory, kept)
    return found


def adjusted(case: Case, number: int, step: Facts) -> Facts:
    """Return the step with the facts in which minigraph differs on purpose."""
    for kind in ("graph", "bugs"):
        if (kind, case["name"], number) in ON_PURPOSE:
            return {**step, "facts": {**step["facts"], **ON_PURPOSE[kind, case["name"], number]}}
    return step


def check_refusal(tool: Any, case: Case, directory: str) -> List[str]:
    """Return a sentence where something outside plain references is neither refused clearly nor right."""
    write_files(directory, case["files"], {case["steps"][0]["config"]: "main.tf.json"})
    outcome = tool.run(directory, "validate", "-no-color")
    return (
        []
        if outcome.status == 0 or outcome.refused
        else [f"validate: neither accepted nor refused clearly: {last_line(outcome.err)}"]
    )


def snapshot(directory: str) -> Dict[str, bytes]:
    """Return the state files of a directory as they are."""
    return {path.name: path.read_bytes() for path in Path(directory).glob("terraform.tfstate*")}


def put_back(directory: str, kept: Dict[str, bytes]) -> None:
    """Restore the state files of a directory."""
    for path in Path(directory).glob("*terraform.tfstate*"):
        path.unlink()
    for name, data in kept.items():
        Path(directory, name).write_bytes(data)


def check_step(tool: Any, case: Case, step: Facts, directory: str) -> Tuple[List[str], bool]:
    """Return where one step disagrees, and whether the state must go back (the real engine stopped here)."""
    if step.get("config"):
        write_files(directory, case["files"], {step["config"]: "main.tf.json"})
    for line in step.get("before", ()):
        prepare(directory, line)
    facts = step["facts"]
    if step["command"] == "validate":
        return check_validate(tool, directory, facts), False
    if step["command"].startswith("graph"):
        return check_drawing(tool, directory, step), False
    if tool.name != "terraform" and facts.get("plan_exit") and stopped_by_false_cycle(facts):
        return check_false_cycle(tool, directory, step), True
    return compare(facts, take_step(tool, directory, step)), False


def prepare(directory: str, line: str) -> None:
    """Run a shell line before a step; the state commands of the real tool are done on the state file."""
    words = line.split()
    if words[:2] == ["terraform", "taint"]:
        edit_state(directory, lambda document: taint(document, words[2]))
    elif words[:3] == ["terraform", "state", "mv"]:
        edit_state(directory, lambda document: move(document, words[3], words[4]))
    else:
        subprocess.run(["sh", "-c", line], cwd=directory, check=True)


def edit_state(directory: str, edit: Callable[[Any], None]) -> None:
    """Rewrite the state file of a directory with an edit made to it."""
    path = Path(directory, "terraform.tfstate")
    document = json.loads(path.read_text(encoding="utf-8"))
    edit(document)
    document["serial"] += 1
    path.write_text(json.dumps(document, indent=2) + "\n", encoding="utf-8")


def taint(document: Any, address: str) -> None:
    """Mark an object as tainted."""
    for resource in document["resources"]:
        if f"{resource['type']}.{resource['name']}" == address:
            resource["instances"][0]["status"] = "tainted"


def move(document: Any, source: str, target: str) -> None:
    """Rename an object, which makes the real tool forget what depends on it."""
    for resource in document["resources"]:
        if f"{resource['type']}.{resource['name']}" == source:
            resource["name"] = target.partition(".")[2]
        for instance in resource["instances"]:
            if source in instance.get("dependencies", ()):
                del instance["dependencies"]


def check_validate(tool: Any, directory: str, facts: Facts) -> List[str]:
    """Return where validate (and the graph of the same configuration) disagrees."""
    outcome = tool.run(directory, "validate", "-no-color")
    if outcome.crashed:
        return [f"crashed: {last_line(outcome.err)}"]
    if (outcome.status != 0) != (facts.get("exit", 0) != 0):
        return [f"exit {outcome.status}, the real engine {facts.get('exit')}: {error_lines(outcome.err)}"]
    found = check_cycles(facts.get("cycles"), outcome.err)
    if outcome.status:
        return found + check_places(facts, outcome.err)
    return found + compare(
        {key: facts[key] for key in ("resource_nodes", "resource_edges") if key in facts},
        graph_facts(tool, directory),
    )


def check_places(facts: Facts, err: str) -> List[str]:
    """Return a sentence where none of the recorded places is named."""
    places = facts.get("places")
    if not places or any(names_place(err, file, line) for file, line in places):
        return []
    return [f"names none of the places {places}: {error_lines(err)}"]


def check_drawing(tool: Any, directory: str, step: Facts) -> List[str]:
    """Return where a drawing has other nodes or edges than the real engine's."""
    facts = step["facts"]
    outcome = tool.run(directory, "graph", *step.get("args", ()))
    if outcome.status != facts.get("exit", 0):
        return [f"exit {outcome.status}, the real engine {facts.get('exit', 0)}: {last_line(outcome.err)}"]
    if "dot_nodes" not in facts:
        return []
    graph = resource_or_step_graph(outcome.out)
    return compare(
        {"dot_nodes": facts["dot_nodes"], "dot_edges": facts["dot_edges"]},
        {"dot_nodes": sorted(graph), "dot_edges": sorted(map(list, reduced(graph)))},
    )


def stopped_by_false_cycle(facts: Facts) -> bool:
    """Return whether the real engine stopped with a loop of steps, which minigraph orders instead."""
    return any("(destroy" in name for cycle in facts.get("cycles", ()) for name in cycle)


def check_false_cycle(tool: Any, directory: str, step: Facts) -> List[str]:
    """Return what is wrong where the real engine gives up: hard edges, state, and a quiet next plan."""
    stored, left_behind = read_state(directory), deposed_keys(directory)
    flags = [*(["-destroy"] if step["command"] == "destroy" else []), *step.get("args", ())]
    outcome, document = planned(tool, directory, flags)
    if outcome.status:
        return [f"plan: exit {outcome.status} where a valid order exists: {error_lines(outcome.err)}"]
    facts = plan_facts(document)
    expected = {key: step["facts"][key] for key in ("actions", "resource_edges") if key in step["facts"]}
    found = compare(expected, {**facts, **graph_facts(tool, directory)})
    applied = tool.run(directory, "apply", "-no-color", "plan.bin")
    if applied.status:
        return found + [f"apply: exit {applied.status}: {error_lines(applied.err)}"]
    config = edges_to_graph((), step["facts"].get("resource_edges", ()))
    events = read_events(applied.out, left_behind)
    found += broken_orders(events, hard_edges(facts["actions"], config, stored, step["command"] == "destroy"))
    found += broken_orders(events, edges_to_graph((), step["facts"].get("step_edges", ())))
    if step["command"] == "destroy":
        return found + ([f"left in state: {sorted(read_state(directory))}"] if read_state(directory) else [])
    again = tool.run(directory, "plan", "-no-color", "-detailed-exitcode")
    return found + (
        [f"the next plan is not empty: exit {again.status} {last_line(again.out)}"] if again.status else []
    )


def graph_facts(tool: Any, directory: str) -> Facts:
    """Return the resources and the reduced edges that graph draws."""
    graph = resource_graph(tool.run(directory, "graph").out)
    return {"resource_nodes": sorted(graph), "resource_edges": sorted(map(list, reduced(graph)))}


def take_step(tool: Any, directory: str, step: Facts) -> Facts:
    """Return what the tool does in one step, as far as the recorded facts ask for it."""
    wanted = step["facts"]
    found: Facts = {}
    if "validate_exit" in wanted:
        outcome = tool.run(directory, "validate", "-no-color")
        found.update(validate_exit=outcome.status, err=outcome.err)
    if "resource_edges" in wanted or "resource_nodes" in wanted:
        found.update(graph_facts(tool, directory))
    if "waves" in wanted and tool.name != "terraform":
        found.update(order_facts(tool, directory))
    left_behind = deposed_keys(directory)
    flags = [*(["-destroy"] if step["command"] == "destroy" else []), *step.get("args", ())]
    outcome, document = planned(tool, directory, flags)
    found.update(plan_exit=outcome.status, plan_summary=first_match(SUMMARY, outcome.out), err=outcome.err)
    if outcome.status:
        return found
    found.update(plan_facts(document))
    found["files"] = written_files(directory)
    if "steps" in wanted:
        graph = step_graph(tool.run(directory, "graph", "-type=apply", "-plan=plan.bin").out, left_behind)
        found.update(steps=sorted(graph), step_edges=sorted(map(list, reduced(graph))))
    if "apply_exit" in wanted:
        found.update(applied_facts(tool, directory, step, left_behind))
    return found


def applied_facts(tool: Any, directory: str, step: Facts, left_behind: Dict[str, Set[str]]) -> Facts:
    """Return what applying the saved plan did."""
    outcome = tool.run(directory, "apply", "-no-color", *step.get("apply_args", ()), "plan.bin")
    events = read_events(outcome.out, left_behind)
    return {
        "apply_exit": outcome.status,
        "apply_summary": first_match(COMPLETE, outcome.out),
        "apply_err": outcome.err,
        "events": sorted(
            name + ("" if (name, "end") in events else "!") for name, kind in events if kind == "start"
        ),
        "log": events,
        "state": read_state(directory),
        "most_in_flight": most_in_flight(events),
        "outputs": sorted(state_document(directory).get("outputs", {})),
        "files": written_files(directory),
    }


def order_facts(tool: Any, directory: str) -> Facts:
    """Return the waves and the critical path that order prints."""
    outcome = tool.run(directory, "order", "-no-color")
    waves = [
        sorted(re.split(r",?\s+", text.strip()))
        for text in re.findall(r"^\s*wave \d+:\s*(.*)$", outcome.out, re.M)
    ]
    path = re.search(r"critical path[^:]*:\s*(.*)", outcome.out)
    return {
        "configured": configured(directory),
        "waves": waves,
        "critical_path": re.split(r" -> ", path.group(1).strip()) if path else [],
        "order_err": outcome.err,
    }


def written_files(directory: str) -> Dict[str, str]:
    """Return the files that a run wrote, ids of the state as <ADDRESS.id>."""
    names = {
        instance["attributes"]["id"]: f"<{address}.id>"
        for address, instance in state_instances(state_document(directory))
        if not instance.get("deposed")
        and len(str(instance["attributes"].get("id"))) > 5
        and not address.startswith("local_")
    }
    found = {}
    for path in sorted(Path(directory).rglob("*")):
        name = path.relative_to(directory).as_posix()
        if path.is_file() and "/" in name:
            found[renamed(name, names)] = renamed(path.read_bytes().decode("utf-8", "replace"), names)
    return found


def configured(directory: str) -> Set[str]:
    """Return the addresses in main.tf.json (plain objects at every level)."""
    document = json.loads(Path(directory, "main.tf.json").read_text(encoding="utf-8"))
    return {f"{kind}.{name}" for kind, bodies in document.get("resource", {}).items() for name in bodies}


def first_match(pattern: "re.Pattern[str]", text: str) -> Optional[str]:
    """Return the first match of a pattern in a text."""
    found = pattern.search(text)
    return found.group(1) if found else None


def compare(expected: Facts, found: Facts) -> List[str]:
    """Return a sentence for every recorded fact that was found to be otherwise."""
    told = []
    early = found.get("validate_exit") == 1 and expected.get("plan_exit") == 1  # refusing sooner is fine
    for key in ("validate_exit", "plan_exit"):
        if key in expected and expected[key] != found.get(key) and not (key == "validate_exit" and early):
            told.append(
                f"{key}: {found.get(key)}, the real engine {expected[key]}: "
                + error_lines(found.get("err", ""))
            )
    if told or expected.get("plan_exit"):
        return (
            told
            + check_cycles(expected.get("cycles"), found.get("err", ""), expected.get("loops"))
            + ([] if told else check_places(expected, found.get("err", "")))
        )
    for key, value in expected.items():
        if (
            key == "waves" and "waves" in found
        ):  # the real engine's graph has what is only in the state as well
            value = [
                names
                for names in ([name for name in wave if name in found["configured"]] for wave in value)
                if names
            ]
        if key == "critical_path_any_of":
            value = [path for path in value if set(path) <= found.get("configured", set(path))] or [[]]
            if found.get("critical_path", value[0]) not in value:
                told.append(f"critical path {found['critical_path']}, expected one of {value}")
        elif key in COMPARED and not (key == "waves" and key not in found):
            told += compare_fact(key, value, found.get(key))
    if "log" in found and "step_edges" in expected:
        told += broken_orders(found["log"], edges_to_graph(expected.get("steps", ()), expected["step_edges"]))
    if found.get("apply_err", "").count("Traceback"):
        told.append(f"apply crashed: {last_line(found['apply_err'])}")
    return told


COMPARED = (
    "resource_nodes",
    "resource_edges",
    "actions",
    "reasons",
    "replace_paths",
    "after_unknown",
    "unknown",
    "waves",
    "output_changes",
    "plan_summary",
    "steps",
    "step_edges",
    "apply_exit",
    "apply_summary",
    "events",
    "state",
    "outputs",
    "files",
    "most_in_flight",
    "dot_nodes",
    "dot_edges",
)


def compare_fact(key: str, expected: Any, found: Any) -> List[str]:
    """Return a sentence for each entry of one fact that differs."""
    if key == "plan_summary":
        if expected is None:
            return []
        expected = {"outputs only": "Changes to Outputs:"}.get(expected, expected)
        expected = "No changes." if expected.startswith("No changes.") else expected
    if key == "actions" and "no-op" not in expected.values():
        found = {name: action for name, action in (found or {}).items() if action != "no-op"}
    if key == "state":
        found = {
            name: (entry if expected.get(name, entry) is not None else None)
            for name, entry in (found or {}).items()
        }
    if expected == found or json.loads(json.dumps(expected)) == found:
        return []
    if isinstance(expected, dict) and isinstance(found, dict):
        return [
            f"{key}: {name} is {show(found.get(name, '(nothing)'))}, "
            f"the real engine's {show(expected.get(name, '(nothing)'))}"
            for name in sorted({*expected, *found})
            if expected.get(name, "(nothing)") != found.get(name, "(nothing)")
        ]
    if isinstance(expected, list) and isinstance(found, list) and key != "waves":
        more, fewer = (
            [item for item in found if item not in expected],
            [item for item in expected if item not in found],
        )
        return [f"{key}: more: {show(more)}, missing: {show(fewer)}"]
    return [f"{key}: {show(found)}, the real engine {show(expected)}"]


# --------------------------------------------------------------------------------------
# bug cases that are not just configurations
# check_bugs(tool, case, directory)  ->  ["bom.tf.json: accepted, but the real engine refuses it"]
# --------------------------------------------------------------------------------------


def check_bugs(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where the tool disagrees on a bug case."""
    number = case["name"][:3]
    if number in SPECIAL:
        return [] if tool.name == "terraform" else SPECIAL[number](tool, case, directory)
    if "inputs" in case:
        return [
            f"{item['input']}: {text}"
            for item in case["inputs"]
            for text in check_input(tool, case, item, directory)
        ]
    return check_steps(tool, case, directory)


def check_input(tool: Any, case: Case, item: Facts, directory: str) -> List[str]:
    """Return where the tool disagrees on one configuration of a json-syntax bug case."""
    place = tempfile.mkdtemp(dir=directory)
    write_files(place, case["files"], {item["input"]: "main.tf.json"})
    inside, stage, outcome = item.get("subset", True), *first_refusal(tool, place)
    if outcome.crashed:
        return [f"crashed: {last_line(outcome.err)}"]
    good = item["valid"] and "fails" not in item
    if stage is None and not good:
        return ["accepted, but the real engine refuses it"]
    if stage is not None:
        if good:
            return (
                []
                if outcome.refused and not inside
                else [f"refused at {stage}, but it is valid: {error_lines(outcome.err)}"]
            )
        return [] if outcome.refused and not inside else check_places(item, outcome.err)
    wanted = {"resource_edges": item["resource_edges"]}
    if "files_after_apply" in item:
        wanted["files"] = item["files_after_apply"]
    found = compare(wanted, {**graph_facts(tool, place), "files": written_files(place)})
    values = stored_values(state_document(place))
    return found + [
        f"output {name} is {show(values.get('output.' + name))}, the real engine's {show(plain(value))}"
        for name, value in item.get("outputs", {}).items()
        if values.get(f"output.{name}") != plain(value)
    ]


def check_interrupt(tool: Any, case: Case, directory: str) -> List[str]:
    """Return what is wrong after an interrupt: exit status, what is saved, what the next plan wants."""
    found = []
    cue = {"110": "time_sleep.late: Creation complete", "118": ": Destroying..."}[case["name"][:3]]
    for number, step in enumerate(case["steps"]):
        if step.get("config"):
            write_files(directory, case["files"], {step["config"]: "main.tf.json"})
        if "SIGINT" not in step.get("run", ""):
            found += [
                f"step {number + 1}: {text}"
                for text in compare(step["facts"], take_step(tool, directory, step))
            ]
            continue
        wait_for_next_second()
        status, log = interrupted(directory, cue)
        if status != 1 or "Traceback" in log:
            found.append(f"step {number + 1}: exit {status}, expected 1: {last_line(log)}")
        found += [
            f"step {number + 1}: {text}"
            for text in compare_fact("state", step["facts"]["state"], read_state(directory))
        ]
    return found


def wait_for_next_second() -> None:
    """Wait until the clock shows another second: ids of time_sleep have no finer resolution."""
    time.sleep(1.02 - time.time() % 1)


def interrupted(directory: str, cue: str) -> Tuple[int, str]:
    """Return exit status and log of an apply that is interrupted when a line with the cue appears."""
    process = program().start(directory, "apply", "-no-color", "-auto-approve")
    lines = []
    assert process.stdout is not None
    for line in process.stdout:
        lines.append(line)
        if cue in line:
            process.send_signal(signal.SIGINT)
            cue = "\0"
    process.stdout.close()
    return process.wait(), "".join(lines)


def check_two_at_once(tool: Any, case: Case, directory: str) -> List[str]:
    """Return what is wrong when a second apply and a plan start while an apply is running."""
    write_files(directory, case["files"], {case["steps"][0]["config"]: "main.tf.json"})
    first = program().start(directory, "apply", "-no-color", "-auto-approve")
    assert first.stdout is not None
    for line in first.stdout:
        if "Creating..." in line:
            break
    found = []
    beside = {command: program().start(directory, command, "-no-color") for command in ("apply", "plan")}
    for command, process in beside.items():
        text = process.communicate()[0]
        missing = [word for word in ("lock", "Who:", "OperationTypeApply", "Created:") if word not in text]
        if process.returncode != 1 or missing:
            found.append(
                f"{command} beside a running apply: exit {process.returncode}, does not say {missing}"
            )
    waiting = program().run(directory, "plan", "-no-color", "-lock-timeout=20s")
    if waiting.status:
        found.append(f"plan -lock-timeout=20s: exit {waiting.status}: {error_lines(waiting.err)}")
    first.communicate()
    if first.wait():
        found.append(f"the first apply: exit {first.returncode}")
    return found


def check_damaged_states(tool: Any, case: Case, directory: str) -> List[str]:
    """Return which damaged state files are read otherwise than by the real engine, or written over."""
    found = []
    config = next(name for name in case["files"] if name.endswith(".tf.json"))
    for item in case["inputs"]:
        place = tempfile.mkdtemp(dir=directory)
        write_files(place, case["files"], {config: "main.tf.json"})
        tool.run(place, "apply", "-no-color", "-auto-approve")  # the files that the states speak of
        write_files(place, case["files"], {f"states/{item['state']}": "terraform.tfstate"})
        before = Path(place, "terraform.tfstate").read_bytes()
        outcome = tool.run(place, "plan", "-no-color")
        applied = tool.run(place, "apply", "-no-color", "-auto-approve")
        if outcome.crashed or applied.crashed:
            found.append(f"{item['state']}: crashed: {last_line(outcome.err + applied.err)}")
        elif outcome.status and (not outcome.refused or "terraform.tfstate" not in outcome.err):
            found.append(f"{item['state']}: refused without naming the file: {error_lines(outcome.err)}")
        elif item["plan_exit"] and not outcome.status and item["state"] not in MAY_READ:
            found.append(f"{item['state']}: read without complaint ({first_match(SUMMARY, outcome.out)})")
        elif outcome.status and Path(place, "terraform.tfstate").read_bytes() != before:
            found.append(f"{item['state']}: refused, yet the file was changed")
        elif not item["plan_exit"] and outcome.status and item["state"] not in MAY_REFUSE:
            found.append(f"{item['state']}: refused, the real engine reads it: {error_lines(outcome.err)}")
        elif not item["plan_exit"] and not outcome.status:
            found += [
                f"{item['state']}: {text}"
                for text in compare_fact("plan_summary", item["summary"], first_match(SUMMARY, outcome.out))
            ]
    return found


MAY_READ = (
    "unknown-provider.tfstate",
)  # what minigraph does not know it carries along (design.md section 5)
MAY_REFUSE = (
    "zero-bytes.tfstate",
    "version-3.tfstate",
    "no-instances.tfstate",
)  # "never taken as empty" is better still


def check_parallelism(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where the cap does not cap, or an odd value is not refused."""
    found = []
    for run in case["runs"]:
        place = tempfile.mkdtemp(dir=directory)
        write_files(place, case["files"], {"step1.tf.json": "main.tf.json"})
        outcome = tool.run(place, "apply", "-no-color", "-auto-approve", f"-parallelism={run['parallelism']}")
        most = most_in_flight(
            [event for event in read_events(outcome.out, {}) if event[0].startswith("time_sleep.")]
        )
        if outcome.status != run["exit"] or most != min(4, run["parallelism"]):
            found.append(f"-parallelism={run['parallelism']}: exit {outcome.status}, {most} at once")
    for odd in case["odd_values"]:
        outcome = tool.run(directory, "plan", "-no-color", f"-parallelism={odd['parallelism']}")
        refused = outcome.status == 1 and "parallelism" in outcome.err
        if odd["exit"] == 1 and not refused:
            found.append(
                f"-parallelism={odd['parallelism']}: exit {outcome.status}: {last_line(outcome.err)}"
            )
    return found


def check_no_barrier(tool: Any, case: Case, directory: str) -> List[str]:
    """Return a sentence where b2 does not start before long is done."""
    write_files(directory, case["files"], {"step1.tf.json": "main.tf.json"})
    events = read_events(tool.run(directory, "apply", "-no-color", "-auto-approve").out, {})
    place = {event: number for number, event in enumerate(events)}
    if ("time_sleep.b2", "start") not in place or ("time_sleep.long", "end") not in place:
        return [f"events missing: {events}"]
    return (
        []
        if place["time_sleep.b2", "start"] < place["time_sleep.long", "end"]
        else ["b2 waited for the whole first wave"]
    )


def check_exclude(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where -exclude plans something else than the accepted design says."""
    found = []
    config = next(name for name in sorted(case["files"]) if name.endswith(".tf.json"))
    write_files(directory, case["files"], {config: "main.tf.json"})
    for flag, expected in case["exclude_expectations"].items():
        outcome, document = planned(tool, directory, [flag])
        actions = sorted(
            name for name, action in plan_facts(document)["actions"].items() if action != "no-op"
        )
        if outcome.status or actions != sorted(expected["planned"]):
            found.append(
                f"{flag}: exit {outcome.status}, plans {actions}, expected {sorted(expected['planned'])}"
            )
    both = tool.run(
        directory, "plan", "-no-color", "-target=terraform_data.mid", "-exclude=terraform_data.side"
    )
    return found + ([] if both.refused else [f"-target with -exclude: exit {both.status}"])


def check_typo(tool: Any, case: Case, directory: str) -> List[str]:
    """Return a sentence where an address that matches nothing is neither passed over nor refused by name."""
    step = case["steps"][-1]
    for earlier in case["steps"][:-1]:
        check_step(tool, case, earlier, directory)
    write_files(directory, case["files"], {"step1.tf.json": "main.tf.json"})
    outcome = tool.run(directory, "plan", "-no-color", *step["args"])
    address = step["args"][0].partition("=")[2]
    if outcome.crashed:
        return [f"crashed: {last_line(outcome.err)}"]
    if outcome.status == 0:
        return compare_fact("plan_summary", "No changes.", first_match(SUMMARY, outcome.out))
    return (
        []
        if outcome.refused and address in outcome.err
        else [f"{step['args'][0]}: exit {outcome.status} without naming it"]
    )


def check_saved_plan(tool: Any, case: Case, directory: str) -> List[str]:
    """Return a sentence where a file that is still there is reported as destroyed and forgotten."""
    first, second, last = case["steps"]
    found = check_step(tool, case, first, directory)[0] + check_step(tool, case, second, directory)[0]
    for line in last["before"]:
        prepare(directory, line)
    outcome = tool.run(directory, "apply", "-no-color", "plan.bin")
    kept = "local_file.v (deposed)" in read_state(directory)
    if outcome.crashed or (outcome.status == 1 and not kept):
        found.append(f"exit {outcome.status}: {last_line(outcome.err)}, deposed object kept: {kept}")
    return found


def check_depends_on_text(tool: Any, case: Case, directory: str) -> List[str]:
    """Return a sentence where "${...}" in depends_on is not refused at its line."""
    write_files(directory, case["files"], {"step1.tf.json": "main.tf.json"})
    outcome = tool.run(directory, "validate", "-no-color")
    if not outcome.refused:
        return [f"exit {outcome.status}: {last_line(outcome.err)}"]
    return check_places({"places": [["main.tf.json", 10]]}, outcome.err)


SPECIAL: Dict[str, Callable[[Any, Case, str], List[str]]] = {
    "029": check_typo,
    "034": check_depends_on_text,
    "044": check_typo,
    "047": check_exclude,
    "110": check_interrupt,
    "112": check_two_at_once,
    "113": check_damaged_states,
    "115": check_parallelism,
    "116": check_no_barrier,
    "118": check_interrupt,
    "149": check_saved_plan,
}

# --------------------------------------------------------------------------------------
# provider cases, seen through the command line
# check_provider(tool, case, directory)  ->  ["stores id = ..., the real provider ..."]
# --------------------------------------------------------------------------------------


def check_provider(tool: Any, case: Case, directory: str) -> List[str]:
    """Return where one resource with these arguments fares otherwise than with the real provider."""
    write_files(
        directory,
        {
            name: (text if isinstance(text, str) else {"base64": text["b64"]})
            for name, text in case.get("given_files", {}).items()
        },
    )
    body = {"resource": {case["type"]: {"t": case["args"]}}}
    Path(directory, "main.tf.json").write_text(dump_json(body), encoding="utf-8")
    stage, outcome = (
        first_refusal(tool, directory)
        if "validate only" not in str(case.get("note"))
        else only_validated(tool, directory)
    )
    if outcome.crashed:
        return [f"crashed: {last_line(outcome.err)}"]
    if case["outcome"] == "error":
        return check_provider_error(case, directory, stage, outcome)
    if stage:
        return [f"refused at {stage}, but it is fine: {error_lines(outcome.err)}"]
    found = check_attributes(case.get("state_attributes"), directory) + check_modes(
        case.get("files_umask022"), directory
    )
    if case.get("second_plan") == "No changes":
        again = tool.run(directory, "plan", "-no-color", "-detailed-exitcode")
        found += [f"the second plan is not empty: {first_match(SUMMARY, again.out)}"] if again.status else []
    return found


def only_validated(tool: Any, directory: str) -> Tuple[Optional[str], Outcome]:
    """Return the outcome of validate as ``first_refusal`` does."""
    outcome = tool.run(directory, "validate", "-no-color")
    return ("validate" if outcome.status else None), outcome


def dump_json(value: Any) -> str:
    """Return a value as JSON text, numbers as they were written."""
    if isinstance(value, dict):
        return "{" + ",".join(f"{json.dumps(key)}:{dump_json(item)}" for key, item in value.items()) + "}"
    if isinstance(value, list):
        return "[" + ",".join(map(dump_json, value)) + "]"
    return str(value) if isinstance(value, Number) else json.dumps(value)


def check_provider_error(case: Case, directory: str, stage: Optional[str], outcome: Outcome) -> List[str]:
    """Return where an error is missing, late, or worded otherwise."""
    if stage is None:
        return [f"accepted, the real provider says {case['error_summary']} at {case['phase']}"]
    text = " ".join(outcome.err.replace("│", " ").split())
    found = []
    if STAGES.index(stage) > STAGES.index(case["phase"]):
        found.append(f"refused at {stage}, the real provider at {case['phase']}")
    for part in (case["error_summary"], case["error_contains"]):
        if case["error_summary"] == "Extraneous JSON object property" and "is not expected here." in text:
            continue  # the lesson's sentence (D1)
        if " ".join(str(part).split()) not in text:
            found.append(f"does not say {part!r}: {text[:300]}")
    if case.get("tainted_state_attributes") is not None:
        found += check_attributes(case["tainted_state_attributes"], directory)
    return found


def check_attributes(expected: Any, directory: str) -> List[str]:
    """Return which attributes are stored otherwise (those that we do not have at all are left out)."""
    found = []
    instances = list(state_instances(state_document(directory)))
    if expected is None:
        return []
    if len(instances) != 1:
        return [f"{len(instances)} objects in state, expected one"]
    attributes = instances[0][1]["attributes"]
    for name, value in expected.items():
        stored = plain(attributes.get(name, "(nothing)"))
        pattern = value.get("$regex") if isinstance(value, dict) else None
        if not (re.search(pattern, str(stored)) if pattern else stored == plain(value)):
            found.append(f"stores {name} = {show(stored)}, the real provider {show(value)}")
    return found


def check_modes(expected: Any, directory: str) -> List[str]:
    """Return which files have another mode or content than those of the real provider."""
    found = []
    for name, facts in (expected or {}).items():
        path = Path(directory, name)
        if not path.exists():
            found.append(f"{name} is missing")
            continue
        mode = format(path.stat().st_mode & 0o7777, "04o")
        if facts.get("mode") and mode != facts["mode"]:
            found.append(f"{name} has mode {mode}, the real provider's {facts['mode']}")
        if path.is_file() and "hex" in facts and path.read_bytes().hex() != facts["hex"]:
            found.append(
                f"{name} holds {path.read_bytes().hex()[:80]}, the real provider's {facts['hex'][:80]}"
            )
    return found


# --------------------------------------------------------------------------------------
# the command line
# --------------------------------------------------------------------------------------

CHECKS: Dict[str, Callable[[Any, Case, str], List[str]]] = {
    "json": check_json,
    "graph": check_steps,
    "bugs": check_bugs,
    "providers": check_provider,
}


def check(kind: str, case: Case, tool: Any, keep: Optional[str] = None) -> List[str]:
    """Return where the tool disagrees on one case, tried in a directory of its own."""
    if case["name"] in OTHERWISE and tool.name != "terraform":
        return []
    directory = scratch("case-")
    umask = os.umask(0o022)
    try:
        found = CHECKS[kind](tool, case, directory)
        if found and keep:
            shutil.copytree(directory, os.path.join(keep, f"{kind}-{case['name']}"), dirs_exist_ok=True)
        return found
    finally:
        os.umask(umask)
        shutil.rmtree(directory, ignore_errors=True)


def needs_plugins(case: Case) -> bool:
    """Return whether a case uses a type that the real tool does not have built in."""
    return bool(
        re.search(r"local_file|random_pet|time_sleep", json.dumps(case.get("files") or case.get("type")))
    )


def main(argv: List[str]) -> int:
    """Run the cases that the command line names; return 1 where any disagrees."""
    options = {"--from": "", "--tool": "minigraph", "--keep": "", "--pack": ""}
    words = []
    rest = list(argv)
    while rest:
        word = rest.pop(0)
        name, _, text = word.partition("=")
        if name in options:
            options[name] = text or (rest.pop(0) if rest else "")
        else:
            words.append(word)
    if options["--pack"]:
        pack(Path(options["--pack"]))
        return 0
    tools: Dict[str, Callable[[], Any]] = {"minigraph": Minigraph, "program": program}
    tool = tools.get(options["--tool"], lambda: Program(options["--tool"], [options["--tool"]]))()
    kinds = [word for word in words if word in KINDS] or list(KINDS)
    names = [word for word in words if word not in KINDS]
    bad = 0
    for kind in kinds:
        bad += run_kind(kind, names, tool, options)
    return 1 if bad else 0


def run_kind(kind: str, names: List[str], tool: Any, options: Dict[str, str]) -> int:
    """Run the cases of one kind, print the disagreements and a summary; return how many disagree."""
    bad = total = 0
    start = time.monotonic()
    for case in load(kind, Path(options["--from"]) if options["--from"] else None):
        if names and not any(case["name"] == name or case["name"].startswith(name) for name in names):
            continue
        if tool.name == "terraform" and needs_plugins(case):
            continue
        total += 1
        try:
            found = check(kind, case, tool, options["--keep"] or None)
        except Exception:
            found = ["the check itself failed: " + " ".join(traceback.format_exc().split("\n")[-4:]).strip()]
        if found:
            bad += 1
            print(f"{kind}/{case['name']}")
            for text in found:
                print(f"    {text}")
    print(f"{kind}: {total - bad} of {total} agree ({time.monotonic() - start:.1f} s)", flush=True)
    return bad


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
