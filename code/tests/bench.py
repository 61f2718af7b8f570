#!/usr/bin/env python3
"""Measure minigraph on big stacks, as whole processes, and print tables.

    python3 code/tests/bench.py                            every shape at 1,000 and 10,000, with ratios to terraform
    python3 code/tests/bench.py --sizes 10000,100000 --shapes random,chain --runs 1
    python3 code/tests/bench.py --walk --reduction --sleeps --startup     these parts alone

Stacks hold ``terraform_data`` only and refer to each other by ``id``, whose length does not grow along a chain.
A number is the median of the runs; every run starts in an empty directory. "growth" compares with the size before
it in the same table; beside "cpu" one sees how busy the machine was with other things. Where tofu or terraform is on
PATH it runs on the same stacks, up to --terraform-limit resources.
The targets are those of the project; each one missed is named at the end, and the exit status is then 1.
"""
from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Set, Tuple

CODE = Path(__file__).resolve().parent.parent
MAIN = CODE / "main.py"
DEMO = CODE / "tests" / "fixtures" / "demo"

Deps = Dict[str, Set[str]]
COMMANDS = ("validate", "order", "graph", "plan", "apply", "plan again", "destroy")
SPEEDUPS = {"graph": 5.0, "plan": 10.0, "apply": 60.0, "destroy": 200.0}  # random stack of 1,000, times terraform
SECONDS = {10_000: 4.0, 100_000: 45.0}  # random stack, every command
MEBIBYTES = {100_000: 1024.0}
GROWTH = 13.0  # every shape, for ten times the resources
WALK_MICROSECONDS = 60.0
SLEEP_EXCESS = 0.03
STARTUP_RATIO = 3.0

# --------------------------------------------------------------------------------------
# stacks
# diamond_ladder(4)  ->  {"r0": set(), "r1": {"r0"}, "r2": {"r0"}, "r3": {"r1", "r2"}}
# --------------------------------------------------------------------------------------


def wide(size: int) -> Deps:
    """Return a stack in which nothing needs anything."""
    return {f"r{i}": set() for i in range(size)}


def chain(size: int) -> Deps:
    """Return a stack in which every resource needs the one before it."""
    return {f"r{i}": {f"r{i - 1}"} if i else set() for i in range(size)}


def random_stack(size: int) -> Deps:
    """Return a stack whose resources each need 0 to 3 of the 200 before them; the same one for the same size."""
    draw = random.Random(size)
    return {f"r{i}": {f"r{draw.randrange(max(0, i - 200), i)}" for _ in range(draw.randint(0, 3))} if i else set()
            for i in range(size)}


def layered(size: int) -> Deps:
    """Return layers of 100 (of 20 below 400 resources); each resource needs 20 of the layer before it."""
    draw, width = random.Random(size), 100 if size >= 400 else 20
    deps: Deps = {}
    for i in range(size):
        start = (i // width - 1) * width
        deps[f"r{i}"] = {f"r{start + n}" for n in draw.sample(range(width), 20)} if start >= 0 else set()
    return deps


def diamond_ladder(size: int) -> Deps:
    """Return diamonds that stand on each other: two to the power of size/3 different paths lead through them."""
    return {f"r{i}": ({f"r{i - 2}", f"r{i - 1}"} if i % 3 == 0 else {f"r{i - i % 3}"}) if i else set()
            for i in range(size)}


SHAPES: Dict[str, Callable[[int], Deps]] = {
    "wide": wide, "chain": chain, "random": random_stack, "layered": layered, "ladder": diamond_ladder}


def configuration(deps: Deps) -> Dict[str, Any]:
    """Return the graph as a configuration of terraform_data resources."""
    return {"resource": {"terraform_data": {
        name: {"input": " ".join([name] + [f"${{terraform_data.{need}.id}}" for need in sorted(needs)])}
        for name, needs in deps.items()}}}


def write_stack(directory: Path, shape: str, size: int) -> None:
    """Write a stack from a child process: its memory must not count as that of a command started later."""
    child = os.fork()
    if child == 0:
        status = 1
        try:
            (directory / "main.tf.json").write_text(json.dumps(configuration(SHAPES[shape](size)), indent=1))
            status = 0
        finally:
            os._exit(status)
    if os.waitpid(child, 0)[1]:
        raise SystemExit(f"could not write the {shape} stack of {size}")


# --------------------------------------------------------------------------------------
# whole processes
# measure([python3, main.py, "order"], directory)  ->  Cost(seconds=0.11, processor=0.1, mebibytes=21.0)
# --------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """What one process took: wall-clock seconds, processor seconds of all its threads, peak resident memory."""

    seconds: float
    processor: float
    mebibytes: float


def environment() -> Dict[str, str]:
    """Return the environment for the commands: no version check, no settings of the user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith(("TF_", "PYTHONHASHSEED"))}
    return {**kept, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "NO_COLOR": "1"}


def measure(command: Sequence[str], directory: Path, allowed: Tuple[int, ...] = (0,)) -> Cost:
    """Run a command with its output in a file, as a redirected run would, and return what it took."""
    log = directory / "log.txt"
    with open(log, "wb") as output, open(os.devnull, "rb") as nothing:
        redirect = [(os.POSIX_SPAWN_DUP2, nothing.fileno(), 0), (os.POSIX_SPAWN_DUP2, output.fileno(), 1),
                    (os.POSIX_SPAWN_DUP2, output.fileno(), 2)]
        started = time.perf_counter()
        process = os.posix_spawn(command[0], list(command), environment(), file_actions=redirect)
        _, raw_status, usage = os.wait4(process, 0)
        seconds = time.perf_counter() - started
    status = os.WEXITSTATUS(raw_status) if os.WIFEXITED(raw_status) else -os.WTERMSIG(raw_status)
    if status not in allowed:
        tail = log.read_text(errors="replace")[-1500:]
        raise SystemExit(f"\n{' '.join(command)}\nended with status {status}; its last words:\n{tail}")
    unit = 1 << 20 if sys.platform == "darwin" else 1 << 10  # ru_maxrss: bytes there, KiB elsewhere
    return Cost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss / unit)


def minigraph_command(directory: Path, name: str) -> List[str]:
    """Return the command line for one row of the table."""
    return [sys.executable, str(MAIN), f"-chdir={directory}", *name.replace("again", "").split()]


def terraform_command(tool: str, directory: Path, name: str) -> List[str]:
    """Return the command of the real tool for one row of the table."""
    flags = {"apply": ["-auto-approve", "-no-color"], "destroy": ["-auto-approve", "-no-color"],
             "graph": [], "validate": ["-no-color"]}
    word = name.split()[0]
    return [tool, f"-chdir={directory}", word, *flags.get(word, ["-no-color"])]


def medians(costs: List[Dict[str, Cost]]) -> Dict[str, Cost]:
    """Return, for each command, the median seconds and the highest memory of several runs."""
    return {name: Cost(statistics.median(run[name].seconds for run in costs),
                       statistics.median(run[name].processor for run in costs),
                       max(run[name].mebibytes for run in costs)) for name in costs[0]}


def run_all(shape: str, size: int, runs: int, commands: Sequence[str],
            line: Callable[[Path, str], List[str]]) -> Dict[str, Cost]:
    """Run the commands in order, each run in a directory of its own, and return the medians."""
    costs = []
    for _ in range(runs):
        with tempfile.TemporaryDirectory(prefix="minigraph-bench-") as name:
            directory = Path(name)
            write_stack(directory, shape, size)
            costs.append({command: measure(line(directory, command), directory) for command in commands})
    return medians(costs)


# --------------------------------------------------------------------------------------
# the table of commands
# random 1,000 | plan 0.31 s  48 MiB | growth - | terraform 2.50 s, 8.1 times as long
# --------------------------------------------------------------------------------------


def print_table(header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
    """Print rows under a header: the first column to the left, all others to the right."""
    widths = [max(len(row[i]) for row in [header, *rows]) for i in range(len(header))]
    for row in [header, ["-" * width for width in widths], *rows]:
        cells = [cell.ljust(width) if i == 0 else cell.rjust(width)
                 for i, (cell, width) in enumerate(zip(row, widths))]
        print("  ".join(cells).rstrip(), flush=True)


def bench_commands(options: argparse.Namespace) -> List[str]:
    """Print one table for each shape and size and return the targets that were missed."""
    tool = None if options.no_terraform else shutil.which("tofu") or shutil.which("terraform")
    missed: List[str] = []
    for shape in options.shapes:
        before: Dict[str, Cost] = {}
        size_before = 0
        for size in options.sizes:
            ours = run_all(shape, size, options.runs, COMMANDS, minigraph_command)
            theirs = real_costs(tool, shape, size, options)
            print(f"\n{shape}, {size:,} resources (median of {options.runs})")
            print_table(("command", "seconds", "cpu", "MiB", "growth", "real tool", "ratio"),
                        [row(name, ours[name], before.get(name), theirs.get(name)) for name in COMMANDS])
            missed += missed_targets(shape, size, ours, before, size_before, theirs)
            before, size_before = ours, size
    return missed


def real_costs(tool: Optional[str], shape: str, size: int, options: argparse.Namespace) -> Dict[str, Cost]:
    """Return what the real tool takes on the same stack, or nothing where it is absent or the stack too big."""
    if tool is None or size > options.terraform_limit:
        return {}
    commands = [name for name in COMMANDS if name != "order"]
    return run_all(shape, size, options.terraform_runs, commands,
                   lambda directory, name: terraform_command(tool, directory, name))


def row(name: str, ours: Cost, before: Optional[Cost], theirs: Optional[Cost]) -> Tuple[str, ...]:
    """Return one line of the table."""
    return (name, f"{ours.seconds:.2f}", f"{ours.processor:.2f}", f"{ours.mebibytes:.0f}",
            f"{ours.seconds / before.seconds:.1f}" if before else "-",
            f"{theirs.seconds:.2f}" if theirs else "-",
            f"{theirs.seconds / ours.seconds:.1f}" if theirs else "-")


def missed_targets(shape: str, size: int, ours: Dict[str, Cost], before: Dict[str, Cost], size_before: int,
                   theirs: Dict[str, Cost]) -> List[str]:
    """Return a sentence for each target that these figures miss."""
    found = []
    for name, cost in ours.items():
        what = f"{shape} {size:,} {name}"
        if shape == "random" and cost.seconds > SECONDS.get(size, cost.seconds):
            found.append(f"{what}: {cost.seconds:.1f} s, the target is {SECONDS[size]:.0f} s")
        if shape == "random" and cost.mebibytes > MEBIBYTES.get(size, cost.mebibytes):
            found.append(f"{what}: {cost.mebibytes:.0f} MiB, the target is {MEBIBYTES[size]:.0f} MiB")
        if name in before and size_before >= 10_000:  # below that the start of the interpreter hides the growth
            growth = cost.seconds / before[name].seconds
            if growth > GROWTH * size / size_before / 10:
                found.append(f"{what}: {growth:.1f} times {size_before:,}, the target is {GROWTH:.0f} for tenfold")
        if shape == "random" and size == 1000 and name in SPEEDUPS and name in theirs:
            ratio = theirs[name].seconds / cost.seconds
            if ratio < SPEEDUPS[name]:
                found.append(f"{what}: {ratio:.1f} times faster, the target is {SPEEDUPS[name]:.0f}")
    return found


# --------------------------------------------------------------------------------------
# parts alone
# the walk, the reduction, sleeps, the start of the program
# --------------------------------------------------------------------------------------


def load_main() -> Any:
    """Return code/main.py as a module."""
    sys.path.insert(0, str(CODE))
    import main
    return main


def timed(work: Callable[[], Any], runs: int) -> float:
    """Return the median seconds of a call."""
    return statistics.median(_timings(work, runs))


def _timings(work: Callable[[], Any], runs: int) -> Iterator[float]:
    for _ in range(runs):
        started = time.perf_counter()
        work()
        yield time.perf_counter() - started


def bench_walk(options: argparse.Namespace) -> List[str]:
    """Print what the walk adds to a bare pool of threads that runs as many calls, and return missed targets."""
    main, missed, rows = load_main(), [], []
    size = options.sizes[-1] if options.sizes_given else 20_000

    def visit(node: str) -> None:
        """Do nothing, as a node without work."""

    def bare() -> None:
        with ThreadPoolExecutor(10) as pool:
            for future in [pool.submit(visit, node) for node in nodes]:
                future.result()

    for shape, build in SHAPES.items():
        deps = build(size)
        nodes = list(deps)
        walked = timed(lambda deps=deps: main.walk(deps, visit, parallelism=10), options.runs)
        pool = timed(bare, options.runs)
        added = (walked - pool) / size * 1e6
        rows.append((shape, f"{size / walked:,.0f}", f"{size / pool:,.0f}", f"{added:.1f}"))
        if added > WALK_MICROSECONDS:
            missed.append(f"walk, {shape}: adds {added:.0f} µs a node, the target is {WALK_MICROSECONDS:.0f}")
    print(f"\nthe walk, {size:,} nodes without work, 10 workers (median of {options.runs})")
    print_table(("shape", "nodes/s", "bare pool/s", "added µs/node"), rows)
    return missed


def bench_reduction(options: argparse.Namespace) -> List[str]:
    """Print the transitive reduction beside networkx where that is installed and the graph small enough."""
    main, rows = load_main(), []
    try:
        import networkx
    except ImportError:
        networkx = None
        print("\n(networkx is not installed: the reduction alone, without a comparison)")
    for shape, build in SHAPES.items():
        for size in options.sizes:
            deps = build(size)
            ours = timed(lambda deps=deps: main.transitive_reduction(deps), options.runs)
            theirs = None
            if networkx is not None and size <= options.networkx_limit:
                graph = networkx.DiGraph((node, need) for node, needs in deps.items() for need in needs)
                theirs = timed(lambda graph=graph: networkx.transitive_reduction(graph), 1)
                edges = {(node, need) for node, needs in main.transitive_reduction(deps).items() for need in needs}
                assert edges == set(networkx.transitive_reduction(graph).edges), f"{shape} {size}: other edges"
            rows.append((f"{shape} {size:,}", f"{ours:.3f}", f"{theirs:.3f}" if theirs else "-",
                         f"{theirs / ours:.0f}" if theirs else "-"))
    print(f"\ntransitive reduction, seconds (median of {options.runs}; same edges where both ran)")
    print_table(("graph", "minigraph", "networkx", "ratio"), rows)
    return []


def sleep_stack(count: int) -> Tuple[Dict[str, Any], Deps, Dict[str, float]]:
    """Return a random stack of sleeps of 50 to 500 ms, its graph, and the seconds of each."""
    draw, deps = random.Random(200), random_stack(count)
    seconds = {name: draw.randint(50, 500) / 1000 for name in deps}
    body = {name: {"create_duration": f"{round(seconds[name] * 1000)}ms",
                   "depends_on": [f"time_sleep.{need}" for need in sorted(needs)]} for name, needs in deps.items()}
    return {"resource": {"time_sleep": body}}, deps, seconds


def longest_chain(deps: Deps, seconds: Dict[str, float]) -> float:
    """Return the longest sum of seconds along a path; the nodes stand in an order of the graph already."""
    ends: Dict[str, float] = {}
    for node, needs in deps.items():
        ends[node] = seconds[node] + max((ends[need] for need in needs), default=0.0)
    return max(ends.values())


def bench_sleeps(options: argparse.Namespace) -> List[str]:
    """Print how close a whole apply of 200 sleeps comes to the least possible time, at four sizes of the pool."""
    stack, deps, seconds = sleep_stack(200)
    chain_seconds, missed, rows = longest_chain(deps, seconds), [], []
    for workers in (64, 10, 4, 1):
        bound = max(chain_seconds, sum(seconds.values()) / workers)
        with tempfile.TemporaryDirectory(prefix="minigraph-bench-") as name:
            directory = Path(name)
            (directory / "main.tf.json").write_text(json.dumps(stack))
            start = statistics.median(measure(minigraph_command(directory, "validate"), directory).seconds for _ in range(5))
            took = measure(minigraph_command(directory, f"apply -parallelism={workers}"), directory).seconds
        rows.append((str(workers), f"{bound:.2f}", f"{took:.2f}", f"{(took / bound - 1) * 100:.1f} %", f"{start:.2f}",
                     f"{((took - start) / bound - 1) * 100:.1f} %"))
        if took > bound * (1 + SLEEP_EXCESS):
            missed.append(f"200 sleeps, {workers} workers: {(took / bound - 1) * 100:.1f} % over the bound, "
                          f"the target is {SLEEP_EXCESS * 100:.0f} %")
    print(f"\n200 sleeps of 50 to 500 ms; longest chain {chain_seconds:.2f} s, work {sum(seconds.values()):.2f} s")
    print_table(("workers", "least s", "apply s", "over", "of it start-up s", "over without it"), rows)
    return missed


def bench_startup(options: argparse.Namespace) -> List[str]:
    """Print the seconds of ``validate`` on the demo beside those of an interpreter that does nothing."""
    runs = max(21, options.runs)
    with tempfile.TemporaryDirectory(prefix="minigraph-bench-") as name:
        directory = Path(name)
        shutil.copy(DEMO / "main.tf.json", directory)
        pairs = [(measure([sys.executable, "-c", "pass"], directory).seconds,
                  measure(minigraph_command(directory, "validate"), directory).seconds) for _ in range(runs)]
    bare, ours = (statistics.median(pair[i] for pair in pairs) for i in (0, 1))
    print(f"\nstart-up (median of {runs})")
    print_table(("process", "ms", "ratio"), [("python3 -c pass", f"{bare * 1000:.0f}", "1.0"),
                                             ("validate on the demo", f"{ours * 1000:.0f}", f"{ours / bare:.1f}")])
    if ours > bare * STARTUP_RATIO:
        return [f"start-up: {ours / bare:.1f} times a bare interpreter, the target is {STARTUP_RATIO:.0f}"]
    return []


# --------------------------------------------------------------------------------------
# the command line
# --------------------------------------------------------------------------------------

PARTS: Dict[str, Callable[[argparse.Namespace], List[str]]] = {
    "walk": bench_walk, "reduction": bench_reduction, "sleeps": bench_sleeps, "startup": bench_startup}


def read_options(arguments: Optional[Sequence[str]]) -> argparse.Namespace:
    """Return the options, sizes as numbers and shapes as names that exist."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--sizes", default="", help="comma list (default 1000,10000)")
    parser.add_argument("--shapes", default=",".join(SHAPES), help=f"comma list of {', '.join(SHAPES)}")
    parser.add_argument("--runs", type=int, default=3, help="runs of minigraph for each median (default 3)")
    parser.add_argument("--no-terraform", action="store_true", help="never run the real tool")
    parser.add_argument("--terraform-runs", type=int, default=1, help="runs of the real tool (default 1)")
    parser.add_argument("--terraform-limit", type=int, default=1000, help="its biggest stack (default 1000)")
    parser.add_argument("--networkx-limit", type=int, default=3000, help="its biggest graph (default 3000)")
    for part, bench in PARTS.items():
        parser.add_argument(f"--{part}", action="store_true", help=(bench.__doc__ or "").split("\n")[0])
    options = parser.parse_args(arguments)
    options.sizes_given = bool(options.sizes)
    options.sizes = sorted(int(size) for size in (options.sizes or "1000,10000").split(","))
    options.shapes = options.shapes.split(",")
    unknown = [shape for shape in options.shapes if shape not in SHAPES]
    if unknown:
        parser.error(f"no shape is named {', '.join(unknown)}; there are {', '.join(SHAPES)}")
    return options


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run what was asked for, print the tables, and return 1 where a target was missed."""
    options = read_options(arguments)
    asked = [bench for part, bench in PARTS.items() if getattr(options, part)] or [bench_commands]
    missed = [sentence for bench in asked for sentence in bench(options)]
    print("\nEvery target that these figures speak of was met." if not missed else "\nMissed:")
    for sentence in missed:
        print(f"- {sentence}")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
