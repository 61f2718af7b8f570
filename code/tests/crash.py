#!/usr/bin/env python3
"""Kill minigraph with SIGKILL at random moments, many times, and check that nothing is ever lost.

    python3 code/tests/crash.py --count 500 --seed 7       500 kills; prints the seed and what was found
    python3 code/tests/crash.py --applies 50               50 applies of one directory, started at once

A campaign owns one directory. It applies or destroys a mixed stack (files, short sleeps, replacements of both kinds,
resources that come and go, references that turn round), kills the process after a random time or a random line of
its log, sometimes kills what recovers from that as well, and after each kill checks:

- ``show -json`` works, changes no byte, and knows every file on disk and every object that the log reported as made;
- the state file is version 4 JSON, or its journal is beside it because the kill hit a rewrite;
- the next apply converges to "No changes", the next destroy leaves no file and an empty state;
- on stacks of terraform_data, terraform (where it is on PATH) lists the same objects and plans no change.

Half of the runs rewrite the state slowly, through a replaced ``main.write_state_bytes``, so that kills hit rewrites.
"""
from __future__ import annotations

import argparse
import hashlib
import json
import multiprocessing
import os
import random
import re
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import traceback
from pathlib import Path
from typing import Any, Dict, List, NamedTuple, Optional, Sequence, Set, Tuple

import cases

CODE = Path(__file__).resolve().parent.parent
STATE = "terraform.tfstate"
JOURNAL = ".terraform.tfstate.journal"
LOCK_INFO = ".terraform.tfstate.lock.info"
LOSSES_SHOWN = 5  # after so many campaigns that lost something a long run ends
ERROR_LIMIT = 60.0  # seconds after which a command that was not killed counts as hanging

# --------------------------------------------------------------------------------------
# processes
# run(directory, "apply", kill=Moment(line=3))  ->  Ended(status=-9, stdout="...", stderr="", seconds=0.4)
# --------------------------------------------------------------------------------------

BOOT = """
import os, signal, sys, time
sys.path.insert(0, sys.argv[1])
import main
{patch}
sys.exit(main.main(sys.argv[2:]))
"""
SLOW_WRITE = """
if not hasattr(main, "write_state_bytes"):
    raise SystemExit("main.write_state_bytes is gone: crash.py cannot slow down the rewrite of the state")
def write_slowly(fd, data):
    os.lseek(fd, 0, os.SEEK_SET)
    os.ftruncate(fd, 0)
    size = len(data) // 10 + 1
    for start in range(0, len(data), size):
        os.write(fd, data[start:start + size])
        time.sleep({pause} / 10)
main.write_state_bytes = write_slowly
"""
SLOW_CREATE = """
provider = main.PROVIDERS["terraform_data"]
create_now = provider.create
def create_slowly(planned, runtime):
    time.sleep({pause})
    return create_now(planned, runtime)
provider.create = create_slowly
"""


class Moment(NamedTuple):
    """When to kill: ``seconds`` after the start, or after this ``line`` of the log and then so many seconds."""

    seconds: float
    line: int = 0


class Ended(NamedTuple):
    """How a process ended (negative: by this signal), what it wrote, how long it took."""

    status: int
    stdout: str
    stderr: str
    seconds: float


def environment() -> Dict[str, str]:
    """Return the environment for children, without settings of the user."""
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
    return {**kept, "CHECKPOINT_DISABLE": "1", "TF_IN_AUTOMATION": "1", "GOGC": "off"}


def start(directory: Path, *arguments: str, patch: str = "", **options: Any) -> "subprocess.Popen[str]":
    """Start minigraph in a new interpreter, after ``patch`` has changed the imported module."""
    code = os.path.dirname(cases.compiled(CODE / "main.py"))
    command = [sys.executable, "-S", "-c", BOOT.format(patch=patch), code, f"-chdir={directory}", *arguments]
    settings: Dict[str, Any] = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "stdin": subprocess.DEVNULL,
                                "text": True, "env": environment(), **options}
    return subprocess.Popen(command, **settings)


def run(directory: Path, *arguments: str, kill: Optional[Moment] = None, patch: str = "") -> Ended:
    """Run minigraph in a forked process to its end, or to the moment of the kill; a fork spares it the start-up."""
    started = time.perf_counter()
    read_end, write_end = os.pipe()
    with tempfile.TemporaryFile() as errors:
        sys.stdout.flush()
        child = os.fork()
        if not child:
            os.close(read_end)
            _become_minigraph(write_end, errors.fileno(), patch, [f"-chdir={directory}", *arguments])
        os.close(write_end)
        stdout = _watch(child, read_end, kill or Moment(ERROR_LIMIT))
        status = os.waitpid(child, 0)[1]
        errors.seek(0)
        stderr = errors.read()
    code = os.WEXITSTATUS(status) if os.WIFEXITED(status) else -os.WTERMSIG(status)
    return Ended(code, stdout.decode(errors="replace"), stderr.decode(errors="replace"), time.perf_counter() - started)


def _become_minigraph(stdout: int, stderr: int, patch: str, arguments: List[str]) -> None:
    """Go on as a minigraph process, in a child that ends here."""
    status: Any = 70
    try:
        for target, source in ((0, os.open(os.devnull, os.O_RDONLY)), (1, stdout), (2, stderr)):
            os.dup2(source, target)
        os.close(stdout)
        sys.stdout, sys.stderr = (open(number, "w", encoding="utf-8", closefd=False) for number in (1, 2))
        os.environ.clear()
        os.environ.update(environment())
        main = load_main()
        exec(patch, {"main": main, "os": os, "signal": signal, "time": time})
        status = main.main(arguments)
        sys.stdout.flush()
    except SystemExit as ended:
        status = ended.code
    except BaseException:
        traceback.print_exc()
    finally:
        sys.stderr.flush()
        os._exit(status if isinstance(status, int) else 1)


def load_main() -> Any:
    """Return code/main.py as a module."""
    if str(CODE) not in sys.path:
        sys.path.insert(0, str(CODE))
    import main
    return main


def _watch(child: int, pipe: int, kill: Moment) -> bytes:
    """Return all that the child writes; kill it at the moment, if it lives that long."""
    read, left = b"", ERROR_LIMIT if kill.line else kill.seconds
    deadline, waiting = time.perf_counter() + left, bool(kill.line)
    while True:
        if waiting and read.count(b"\n") >= kill.line:
            deadline, waiting = time.perf_counter() + kill.seconds, False
        ready = select.select([pipe], [], [], max(0.0, deadline - time.perf_counter()))[0]
        if not ready:
            os.kill(child, signal.SIGKILL)
            deadline = time.perf_counter() + ERROR_LIMIT
            continue
        piece = os.read(pipe, 65536)
        if not piece:
            os.close(pipe)
            return read
        read += piece


# --------------------------------------------------------------------------------------
# stacks that change
# mixed_stack(random.Random(1), 3, 14)  ->  {"resource": {"local_file": {...}, "time_sleep": {...}, ...}}
# --------------------------------------------------------------------------------------

KINDS = ("local_file", "local_file", "terraform_data", "time_sleep", "random_pet")
Tags = Dict[str, Tuple[str, int]]  # name of a file resource -> what it said last, the generation that first said it


def mixed_stack(draw: random.Random, generation: int, size: int, tags: Tags, only_data: bool = False) -> Dict[str, Any]:
    """Return the next generation of a stack: about a fifth is missing, about half of the rest differs from the last.

    The order in which resources may need each other is drawn anew in one generation of three, so that references
    turn round. Names keep their type and their create_before_destroy setting.
    """
    names = [f"n{i}" for i in range(size) if draw.random() < 0.8]
    if draw.random() < 0.33:
        draw.shuffle(names)
    resources: Dict[str, Dict[str, Any]] = {}
    for position, name in enumerate(names):
        others = [other for other in names[:position] if only_data or not _is_fixed(other)]
        drawn = draw.sample(others, min(len(others), draw.randint(0, 2)))
        needs = [f"{_kind(other, only_data)}.{other}" for other in drawn]
        body = _body(draw, _kind(name, only_data), name, needs, generation, tags)
        if int(name[1:]) % 3 == 0 and (only_data or not _is_fixed(name)):
            body["lifecycle"] = {"create_before_destroy": True}
        resources.setdefault(_kind(name, only_data), {})[name] = body
    return {"resource": resources, "output": {"names": {"value": sorted(names)}}}


def _kind(name: str, only_data: bool) -> str:
    return "terraform_data" if only_data else KINDS[int(name[1:]) % len(KINDS)]


def _is_fixed(name: str) -> bool:
    """Return whether this file keeps its name when its content changes: no copy may ever stand beside it,
    so it is never create_before_destroy and nothing needs it."""
    return int(name[1:]) % len(KINDS) == 1


def _body(draw: random.Random, kind: str, name: str, needs: List[str], generation: int, tags: Tags) -> Dict[str, Any]:
    """Return the arguments of one resource."""
    version = generation if draw.random() < 0.5 else 0
    text = " ".join([f"v{version}"] + [f"${{{need}.id}}" for need in needs])
    if kind == "local_file":
        return _file_body(name, text, needs, generation, tags)
    if kind == "terraform_data":
        return {"input": text, "triggers_replace": version % 2}
    if kind == "time_sleep":
        return {"create_duration": f"{draw.randint(5, 60)}ms", "destroy_duration": f"{draw.randint(1, 30)}ms",
                "triggers": {"text": text}}
    return {"keepers": {"text": text}}


def _file_body(name: str, text: str, needs: List[str], generation: int, tags: Tags) -> Dict[str, Any]:
    """Return the arguments of a file. Old and new copy of one that may have both never share a file name: it says
    when its text changed last and only holds ids that a replacement always changes."""
    if _is_fixed(name):
        return {"filename": f"${{path.module}}/out/{name}.txt", "content": text + "\n"}
    fresh = [need for need in needs if need.startswith(("terraform_data.", "random_pet."))]
    text = " ".join(text.split(" ")[:1] + [f"${{{need}.id}}" for need in fresh])
    if tags.get(name, ("", 0))[0] != text:
        tags[name] = (text, generation)
    return {"filename": f"${{path.module}}/out/{name} {tags[name][1]} {text}.txt", "content": text + "\n",
            "depends_on": [need for need in needs if need not in fresh]}


# --------------------------------------------------------------------------------------
# checks
# --------------------------------------------------------------------------------------


class Loss(AssertionError):
    """Something was lost, changed by a command that only reads, or did not converge."""


def expect(condition: object, message: str, *ended: Ended) -> None:
    """Raise Loss with the message and what the processes said."""
    if not condition:
        said = "".join(f"\n  status {e.status}; {e.stdout[-700:]!r}; stderr {e.stderr[-700:]!r}" for e in ended)
        raise Loss(message + said)


def snapshot(directory: Path) -> Dict[str, bytes]:
    """Return every file below the directory with its content."""
    return {str(path.relative_to(directory)): path.read_bytes()
            for path in sorted(directory.rglob("*")) if path.is_file()}


def differing(before: Dict[str, bytes], after: Dict[str, bytes]) -> List[str]:
    """Return the files that were made, changed or removed between two snapshots."""
    return sorted(name for name in before.keys() | after.keys() if before.get(name) != after.get(name))


def made_files(directory: Path) -> Set[str]:
    """Return the files that runs made, as normalised paths below the directory."""
    return {f"out/{path.name}" for path in (directory / "out").glob("*")}


def known_objects(directory: Path) -> List[Dict[str, Any]]:
    """Return every object that minigraph knows of, deposed ones included, and check that looking changes nothing."""
    before = snapshot(directory)
    shown = run(directory, "show", "-json")
    expect(shown.status == 0 and "Traceback" not in shown.stderr, "show -json fails", shown)
    after = snapshot(directory)
    expect(before == after, f"show changed {differing(before, after)}")
    values = json.loads(shown.stdout).get("values") or {}
    objects: List[Dict[str, Any]] = values.get("root_module", {}).get("resources", [])
    return objects


def known_files(objects: Sequence[Dict[str, Any]]) -> Set[str]:
    """Return the file names that the known objects stand for."""
    return {os.path.normpath(o["values"]["filename"]) for o in objects if o["type"] == "local_file"}


def raw_state(directory: Path) -> Optional[Dict[str, Any]]:
    """Return the state file if it is whole: a version 4 document, or {} for an absent or empty file."""
    path = directory / STATE
    if not path.exists() or not path.stat().st_size:
        return {}
    try:
        state = json.loads(path.read_bytes())
    except ValueError:
        return None
    return state if isinstance(state, dict) and state.get("version") == 4 else None


STEP = re.compile(r"^(\S+?)(?: \(deposed object (\w+)\))?: (Creating\.\.\.|Creation complete|Destroying\.\.\.)"
                  r"(?:.*\[id=(.*)\])?")


def reported_objects(log: str) -> Set[Tuple[str, str]]:
    """Return (address, id) of what the log reports as created and not as being destroyed later."""
    alive: Set[Tuple[str, str]] = set()
    for line in log.split("\n"):
        found = STEP.match(line)
        if found and found.group(3) == "Creation complete":
            alive.add((found.group(1), found.group(4)))
        elif found and found.group(3) == "Destroying...":
            alive.discard((found.group(1), found.group(4)))
    return alive


def check_after_kill(directory: Path, log: str) -> None:
    """Check that every file and every reported object is known, before anything else runs."""
    whole = raw_state(directory)
    expect(whole is not None or (directory / JOURNAL).exists(), "the state is cut short and has no journal")
    objects = known_objects(directory)
    lost = made_files(directory) - known_files(objects)
    expect(not lost, f"files on disk that nothing knows: {sorted(lost)}")
    ids = {(o["address"], str(o["values"]["id"])) for o in objects}
    missing = {pair for pair in reported_objects(log) if pair not in ids}
    expect(not missing, f"reported as created and not known: {sorted(missing)}")


def check_converges(directory: Path, only_data: bool) -> None:
    """Check that an apply succeeds, that nothing is left to do, and that state and disk agree."""
    applied = run(directory, "apply")
    expect(applied.status == 0 and "Error" not in applied.stderr, "the following apply fails", applied)
    planned = run(directory, "plan", "-detailed-exitcode")
    expect(planned.status == 0 and "No changes." in planned.stdout, "the plan after it still wants changes", applied,
           planned)
    check_whole(directory)
    if only_data:
        check_with_terraform(directory)


def check_whole(directory: Path) -> None:
    """Check a directory at rest: state valid, no journal, no lock, files exactly those of the state."""
    state = raw_state(directory)
    expect(state is not None, "the state at rest is not version 4 JSON")
    expect(not (directory / JOURNAL).exists(), "the journal outlived a finished run")
    expect(not (directory / LOCK_INFO).exists(), "the lock file outlived a finished run")
    objects = known_objects(directory)
    expect(made_files(directory) == known_files(objects),
           f"disk and state differ: {sorted(made_files(directory) ^ known_files(objects))}")
    for item in objects:
        if item["type"] == "local_file":
            digest = hashlib.sha1((directory / item["values"]["filename"]).read_bytes()).hexdigest()
            expect(digest == item["values"]["id"], f"{item['address']}: content and id differ")


def check_with_terraform(directory: Path) -> None:
    """Check that the real tool reads the state: the same addresses, and no change to make."""
    tool = shutil.which("tofu") or shutil.which("terraform")
    if tool is None:
        return
    listed = _tool(tool, directory, "state", "list")
    ours = sorted({o["address"] for o in known_objects(directory)})
    expect(sorted(listed.stdout.split()) == ours or not ours, "the real tool lists other objects", listed)
    planned = _tool(tool, directory, "plan", "-detailed-exitcode", "-no-color", "-input=false")
    expect(planned.status == 0, "the real tool wants changes", planned)


def _tool(tool: str, directory: Path, *arguments: str) -> Ended:
    done = subprocess.run([tool, f"-chdir={directory}", *arguments], capture_output=True, text=True,
                          env=environment(), stdin=subprocess.DEVNULL)
    return Ended(done.returncode, done.stdout, done.stderr, 0.0)


def check_destroys(directory: Path) -> None:
    """Check that a destroy succeeds and leaves neither file nor object."""
    destroyed = run(directory, "destroy")
    expect(destroyed.status == 0 and "Error" not in destroyed.stderr, "the following destroy fails", destroyed)
    state = raw_state(directory)
    expect(state is not None and not state.get("resources"), "the state is not empty after destroy", destroyed)
    expect(not made_files(directory), f"files outlived destroy: {sorted(made_files(directory))}", destroyed)
    expect(not (directory / JOURNAL).exists(), "the journal outlived destroy", destroyed)


# --------------------------------------------------------------------------------------
# campaigns
# --------------------------------------------------------------------------------------


class Campaign:
    """One directory and the kills that it goes through; the seed decides everything but the scheduler."""

    def __init__(self, directory: Path, seed: str, size: int = 14, only_data: bool = False) -> None:
        self.directory, self.size, self.only_data = directory, size, only_data
        self.draw = random.Random(seed)
        self.generation = 0
        self.tags: Tags = {}
        self.kills = 0
        self.cut_rewrites = 0  # kills that left half a state file
        self.usual = 0.8  # seconds that a whole run takes, learnt from those that ended by themselves
        self.evidence: Dict[str, bytes] = {}  # the directory as the last kill left it
        self.history: List[str] = []

    def next_generation(self) -> None:
        """Write the next configuration."""
        self.generation += 1
        stack = mixed_stack(self.draw, self.generation, self.size, self.tags, self.only_data)
        (self.directory / "main.tf.json").write_text(json.dumps(stack, indent=1))

    def killed(self, command: str) -> bool:
        """Run a command, kill it, check what is left; return whether the kill came in time."""
        pause = self.draw.choice((0.0, 0.0, 0.1, 0.4))
        early = self.draw.random() < 0.5
        moment = (Moment(self.draw.uniform(0, 0.02) + self.draw.choice((0, pause)), self.draw.randint(1, 40)) if early
                  else Moment(self.draw.uniform(0.05, self.usual + pause)))
        ended = run(self.directory, command, kill=moment, patch=SLOW_WRITE.format(pause=pause) if pause else "")
        self.evidence = snapshot(self.directory)
        self.history.append(f"{command} generation {self.generation}, {moment}, slow write {pause}: {ended.status}")
        if ended.status != -signal.SIGKILL:
            expect(ended.status == 0 and "Error" not in ended.stderr, f"{command} fails by itself", ended)
            self.usual = 0.7 * self.usual + 0.3 * ended.seconds
            return False
        self.kills += 1
        self.cut_rewrites += raw_state(self.directory) is None
        expect("Traceback" not in ended.stderr, "a traceback before the kill", ended)
        try:
            check_after_kill(self.directory, ended.stdout)
        except Loss as loss:
            raise Loss(f"{loss}\n  the log of the killed run: {ended.stdout[-1500:]!r}") from loss
        return True

    def round(self) -> None:
        """Kill one command, sometimes the one after it, and then mend, clean up or simply go on."""
        if self.draw.random() < 0.7 or not known_objects(self.directory):
            self.next_generation()
            command = "apply"
        else:
            command = "destroy"
        while self.killed(command) and self.draw.random() < 0.3:
            command = self.draw.choice(("apply", "destroy"))
        follow = self.draw.random()
        if follow < 0.55:
            check_converges(self.directory, self.only_data)
        elif follow < 0.75:
            check_destroys(self.directory)

    def finish(self) -> None:
        """Mend what the last kill left, and take everything down."""
        check_converges(self.directory, self.only_data)
        check_destroys(self.directory)


def campaign(seed: str, kills: int, size: int = 14, only_data: bool = False) -> Campaign:
    """Run rounds until there were so many kills; where something is lost, keep the evidence and say where."""
    with tempfile.TemporaryDirectory(prefix="minigraph-crash-", dir=cases.memory()) as name:
        done = Campaign(Path(name), seed, size, only_data)
        done.next_generation()
        try:
            while done.kills < kills:
                done.round()
            done.finish()
        except Loss as loss:
            raise Loss(f"seed {seed}: {loss}\n  runs: " + "; ".join(done.history[-4:])
                       + f"\n  the directory as the kill left it: {keep(done.evidence)}") from None
    return done


def keep(files: Dict[str, bytes]) -> str:
    """Write the files into a new directory and return its path."""
    directory = Path(tempfile.mkdtemp(prefix="minigraph-evidence-"))
    for name, content in files.items():
        (directory / name).parent.mkdir(parents=True, exist_ok=True)
        (directory / name).write_bytes(content)
    return str(directory)


def campaigns(seed: int, count: int, jobs: int, per_campaign: int = 10,
              size: int = 14) -> Tuple[List[Campaign], List[str]]:
    """Run campaigns side by side until there were ``count`` kills; return them and what was lost."""
    number = max(1, (count + per_campaign - 1) // per_campaign)
    work = [(f"{seed}/{i}", min(per_campaign, count - i * per_campaign), 60 if i % 8 == 2 else size, i % 8 == 2)
            for i in range(number)]
    done, losses = [], []
    load_main()
    with multiprocessing.get_context("fork").Pool(jobs) as pool:
        for finished, loss in pool.imap_unordered(_job, work, chunksize=1):
            if finished is not None:
                done.append(finished)
            else:
                losses.append(loss)
            if len(losses) == LOSSES_SHOWN:
                print("(stopped: so many losses are enough to work on)", file=sys.stderr)
                break
    return done, losses


def _job(work: Tuple[str, int, int, bool]) -> Tuple[Optional[Campaign], str]:
    """Run one campaign; return it, or what it lost."""
    try:
        return campaign(*work), ""
    except Loss as loss:
        print(f"\nLOST: {loss}", file=sys.stderr, flush=True)
        return None, str(loss)


# --------------------------------------------------------------------------------------
# many at once
# --------------------------------------------------------------------------------------


def many_applies(directory: Path, count: int) -> Dict[str, int]:
    """Start so many applies of one directory at once; return how they ended, after checking that the state is one."""
    stack = mixed_stack(random.Random(50), 1, 14, {})
    (directory / "main.tf.json").write_text(json.dumps(stack, indent=1))
    processes = [start(directory, "apply") for _ in range(count)]
    ended = [(*process.communicate(), process.returncode) for process in processes]
    tally = {"applied": 0, "locked out": 0}
    for stdout, stderr, status in ended:
        seen = Ended(status, stdout, stderr, 0.0)
        expect("Traceback" not in stderr, "a traceback", seen)
        expect(status == 0 or "Error acquiring the state lock" in stderr, "neither applied nor locked out", seen)
        tally["applied" if status == 0 else "locked out"] += 1
    expect(tally["applied"], "none of the applies got through")
    check_converges(directory, False)
    check_destroys(directory)
    return tally


# --------------------------------------------------------------------------------------
# the command line
# --------------------------------------------------------------------------------------


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the long form, print what it did, and return 1 where something was lost."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=500, help="kills (default 500)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="printed, so that a run can be repeated")
    parser.add_argument("--jobs", type=int, default=(os.cpu_count() or 2) * 2, help="campaigns side by side")
    parser.add_argument("--size", type=int, default=14, help="resources in a stack (default 14)")
    parser.add_argument("--applies", type=int, help="instead: so many applies of one directory at once")
    options = parser.parse_args(arguments)
    if options.applies:
        with tempfile.TemporaryDirectory(prefix="minigraph-crash-") as name:
            print(many_applies(Path(name), options.applies))
        return 0
    started = time.perf_counter()
    done, losses = campaigns(options.seed, options.count, options.jobs, size=options.size)
    print(f"seed {options.seed}: {sum(c.kills for c in done)} kills in {len(done)} campaigns, "
          f"{sum(c.cut_rewrites for c in done)} of them in the middle of a rewrite of the state, "
          f"{len(losses)} campaigns with a loss, {time.perf_counter() - started:.0f} s")
    return 1 if losses else 0


if __name__ == "__main__":
    sys.exit(main())
