#!/usr/bin/env python3
"""Feed minigraph damaged files and check that it answers with a clear error or a correct result, never a traceback.

    python3 code/tests/fuzz.py --count 20000 --seed 7      the long form, on all processors
    python3 code/tests/fuzz.py --only 7/1234               one input again, with what it printed

An input is a directory in which one file was damaged: configuration, state, journal or saved plan; cut off, bits
flipped, pieces lost, doubled or swapped, not UTF-8, wrong types, huge, nested deeply, keys renamed or repeated. One
command runs on it, in this process, through ``main.main([...])``. Then:

- no exception came out, the status is 0, 1 or 2, and status 1 comes with a text that begins with "Error:";
- a command that only reads changed no byte; one that changes things changed none if it refused the input;
- nothing outside the directory was opened for writing, made or removed (an audit hook refuses it).
"""
from __future__ import annotations

import argparse
import contextlib
import copy
import io
import json
import multiprocessing
import os
import random
import signal
import sys
import tempfile
import time
import traceback
import zipfile
from pathlib import Path
from typing import Any, Callable, Dict, Iterator, List, NamedTuple, Optional, Sequence, Tuple

CODE = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(CODE))
sys.path.insert(0, str(Path(__file__).resolve().parent))
import crash  # noqa: E402

STATE, JOURNAL, CONFIG, PLAN = crash.STATE, crash.JOURNAL, "main.tf.json", "plan.out"
SECONDS = 20  # an input that takes longer counts as a failure

# --------------------------------------------------------------------------------------
# the sound files
# samples()  ->  {"state": {"main.tf.json": b"...", "terraform.tfstate": b"..."}, "journal": {...}, ...}
# --------------------------------------------------------------------------------------

Files = Dict[str, bytes]

STACK = {
    "locals": {"dir": "${path.module}/out", "all": {"a": ["${terraform_data.d.output}", 1, True, None], "é": "x"}},
    "resource": {
        "local_file": {
            "config": {"filename": "${local.dir}/config.txt", "content": "release=${terraform_data.d.output}\n"},
            "versioned": {"filename": "${local.dir}/v1.txt", "content": "v1", "lifecycle": {
                "create_before_destroy": True, "ignore_changes": ["directory_permission"]}}},
        "random_pet": {"name": {"length": 2, "keepers": {"a": "1", "b": "${local_file.versioned.id}"}}},
        "terraform_data": {
            "d": {"input": "${random_pet.name.id}"},
            "shapes": {"input": {"n": 1.5, "big": 123456789012345678901234567890, "l": [1, [], {}, None]},
                       "triggers_replace": ["${random_pet.name.separator}"], "depends_on": ["time_sleep.s"],
                       "lifecycle": {"replace_triggered_by": ["terraform_data.d"]}}},
        "time_sleep": {"s": {"create_duration": "0s", "triggers": {"t": "${terraform_data.d.id}"}}}},
    "output": {"all": {"value": "${local.all}"}, "secret": {"value": "${terraform_data.d.id}", "sensitive": True}}}

SAME_EVERY_TIME = """
import itertools
numbers = itertools.count(1)
os.urandom = lambda size: (next(numbers) * 0x9E3779B97F4A7C15).to_bytes(16, "big")[-size:].rjust(size, b"\\1")
time.time = lambda: 1800000000.0
"""
DIE_AT_SECOND = """
provider = main.PROVIDERS["terraform_data"]
create_now, made = provider.create, []
def create_and_die(planned, runtime):
    made.append(1)
    if len(made) == 2:
        os.kill(os.getpid(), signal.SIGKILL)
    return create_now(planned, runtime)
provider.create = create_and_die
"""


def samples() -> Dict[str, Files]:
    """Return, for each kind of damaged file, a sound directory that holds one, made by minigraph itself."""
    made: Dict[str, Files] = {}
    with tempfile.TemporaryDirectory(prefix="minigraph-fuzz-") as name:
        directory = Path(name)
        (directory / CONFIG).write_text(json.dumps(STACK, indent=2, ensure_ascii=False))
        made["config"] = crash.snapshot(directory)
        crash.run(directory, "apply", "-parallelism=1", patch=SAME_EVERY_TIME + DIE_AT_SECOND)
        (directory / crash.LOCK_INFO).unlink()
        made["journal"] = crash.snapshot(directory)
        applied = crash.run(directory, "apply", "-parallelism=1", patch=SAME_EVERY_TIME)
        made["state"] = crash.snapshot(directory)
        changed = json.dumps(STACK, indent=2).replace("v1", "v2").replace('"length": 2', '"length": 3')
        (directory / CONFIG).write_text(changed)
        planned = crash.run(directory, "plan", f"-out={directory / PLAN}", patch=SAME_EVERY_TIME)
        made["plan"] = crash.snapshot(directory)
    if JOURNAL not in made["journal"] or STATE not in made["state"] or PLAN not in made["plan"]:
        raise SystemExit(f"the sound files could not be made: {applied} {planned}")
    return made


DAMAGED = {"config": CONFIG, "state": STATE, "journal": JOURNAL, "plan": PLAN}
COMMANDS: Dict[str, List[List[str]]] = {
    "config": [["validate"], ["validate", "-json"], ["order"], ["graph"], ["graph", "-draw-cycles"], ["plan"],
               ["plan", "-json"], ["apply"], ["plan", "-out=new.out"]],
    "state": [["plan"], ["plan", "-refresh=false"], ["plan", "-destroy"], ["apply"], ["destroy"], ["show"],
              ["show", "-json"], ["output"], ["output", "-json"], ["state", "list"], ["order", "-destroy"],
              ["graph", "-type=apply"], ["plan", "-json"]],
    "journal": [["plan"], ["apply"], ["destroy"], ["show"], ["show", "-json"], ["state", "list"], ["output"]],
    "plan": [["apply", PLAN], ["show", PLAN], ["show", "-json", PLAN], ["graph", f"-plan={PLAN}"]]}
CHANGING = {"apply", "destroy"}

# --------------------------------------------------------------------------------------
# damage
# damage(random.Random(1), b'{"version": 4}')  ->  ("cut off", b'{"vers')
# --------------------------------------------------------------------------------------

Damage = Tuple[str, bytes]
ODD_BYTES = (b"\xff\xfe", b"\x00", b"\xc3", b"\xed\xa0\x80", b"\xef\xbb\xbf", b"\\ud800", b"\n\n", b"{", b"]", b'"',
             b"${", b"%{", b"1e999999999", b"-", b"//", b"\xe2\x80\xa8")
ODD_VALUES: Tuple[Any, ...] = (
    None, True, False, 0, -1, 4, 5, 1.5, 2 ** 64, -2 ** 70, "", " ", "x", "${", "${a}", "${local.dir}",
    "${terraform_data.d.id}", "\ud800", "\x00", "é", "a" * 300, "/", ".", "..", "out", "0", "-1", "10ms", "tainted",
    [], {}, [None], [[]], {"a": 1}, {"": ""}, {"value": 1, "type": "number"}, {"value": 1, "type": "string"},
    ["tuple", []], ["object", {"a": "number"}], [{"type": "get_attr", "value": "id"}], "terraform_data.d",
    ["terraform_data.d"], "local_file.versioned", "v1.txt")


def damage(draw: random.Random, data: bytes) -> Damage:
    """Return a damaged copy and the name of the damage: of its bytes, or of its values where it is JSON or a zip."""
    if draw.random() < 0.45:
        name = draw.choice(sorted(BYTE_DAMAGE))
        return name, BYTE_DAMAGE[name](draw, data)
    if data.startswith(b"PK"):
        return _damage_member(draw, data)
    lines = data.split(b"\n")
    if data.count(b"\n") > 1 and not data.lstrip().startswith(b"{\n") and len(lines) > 2:
        return _damage_line(draw, lines)
    return _damage_values(draw, data)


def _cut(draw: random.Random, data: bytes) -> bytes:
    return data[:draw.randrange(len(data) + 1)]


def _flip(draw: random.Random, data: bytes) -> bytes:
    flipped = bytearray(data)
    for _ in range(draw.choice((1, 1, 2, 8)) if data else 0):
        flipped[draw.randrange(len(flipped))] ^= 1 << draw.randrange(8)
    return bytes(flipped)


def _lose(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    return data[:start] + data[start + draw.randint(1, 40):]


def _double(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    end = start + draw.randint(1, 200)
    return data[:end] + data[start:end] + data[end:]


def _insert(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    return data[:start] + draw.choice(ODD_BYTES) + data[start:]


def _swap(draw: random.Random, data: bytes) -> bytes:
    first, second, third = sorted(draw.randrange(len(data) + 1) for _ in range(3))
    return data[:first] + data[second:third] + data[first:second] + data[third:]


def _zero(draw: random.Random, data: bytes) -> bytes:
    start = draw.randrange(len(data) + 1)
    size = draw.choice((1, 16, 512))
    return data[:start] + b"\x00" * len(data[start:start + size]) + data[start + size:]


def _recode(draw: random.Random, data: bytes) -> bytes:
    text = data.decode("utf-8", "replace")
    return draw.choice((text.encode("utf-16"), text.encode("latin-1", "replace"), b"\xef\xbb\xbf" + data,
                        data.replace(b"\n", b"\r\n"), data * 2, b"", b"\n", b"null", b"[]", b"{}", b'"x"', b"4"))


def _nest(draw: random.Random, data: bytes) -> bytes:
    deep = draw.choice((100, 900, 3_000, 200_000))
    opening, closing = draw.choice(((b"[", b"]"), (b'{"a":', b"}"), (b'[{"resource":', b"}]")))
    nested = opening * deep + b"1" + closing * draw.choice((deep, 0))
    colon = data.find(b":", draw.randrange(len(data) + 1))
    return nested if colon < 0 else data[:colon + 1] + nested + b"," + data[colon + 1:].lstrip()


def _swell(draw: random.Random, data: bytes) -> bytes:
    quote = data.find(b'"', draw.randrange(len(data) + 1)) + 1
    return data[:quote] + draw.choice((b"a", b"\\u00e9", b"0", b" ", b"${", b"$")) * 300_000 + data[quote:]


BYTE_DAMAGE: Dict[str, Callable[[random.Random, bytes], bytes]] = {
    "cut off": _cut, "bits flipped": _flip, "piece lost": _lose, "piece doubled": _double, "odd bytes": _insert,
    "pieces swapped": _swap, "zeros": _zero, "recoded": _recode, "nested deeply": _nest, "huge": _swell}


def _damage_line(draw: random.Random, lines: List[bytes]) -> Damage:
    """Damage a file of lines: one of them, or their order."""
    at = draw.randrange(len(lines) - 1)
    kind = draw.choice(("lost", "doubled", "swapped", "values", "values", "values"))
    if kind == "lost":
        del lines[at]
    elif kind == "doubled":
        lines.insert(draw.randrange(len(lines)), lines[at])
    elif kind == "swapped":
        other = draw.randrange(len(lines) - 1)
        lines[at], lines[other] = lines[other], lines[at]
    else:
        name, lines[at] = _damage_values(draw, lines[at])
        return f"line {at}: {name}", b"\n".join(lines)
    return f"line {at} {kind}", b"\n".join(lines)


def _damage_member(draw: random.Random, data: bytes) -> Damage:
    """Damage one member of a zip file and write it back with a right checksum."""
    with zipfile.ZipFile(io.BytesIO(data)) as archive:
        members = {name: archive.read(name) for name in archive.namelist()}
    victim = draw.choice(sorted(members))
    name, members[victim] = damage(draw, members[victim])
    if draw.random() < 0.1:
        name = "lost"
        del members[victim]
    written = io.BytesIO()
    with zipfile.ZipFile(written, "w") as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    return f"{victim}: {name}", written.getvalue()


def _damage_values(draw: random.Random, data: bytes) -> Damage:
    """Damage values of a JSON text: other types, other keys, more or less of them."""
    try:
        root = json.loads(data)
    except ValueError:
        return "bits flipped", _flip(draw, data)
    names = []
    for _ in range(draw.choice((1, 1, 1, 2, 4))):
        holders = [value for value in _containers(root) if value]
        if not holders:
            return "bits flipped", _flip(draw, data)
        names.append(_damage_value(draw, draw.choice(holders), holders))
    return ", ".join(names), json.dumps(root, indent=draw.choice((None, 2))).encode("utf-8", "surrogatepass")


def _containers(value: Any) -> Iterator[Any]:
    """Return every list and object inside a value."""
    waiting = [value]
    while waiting:
        value = waiting.pop()
        if isinstance(value, (dict, list)):
            yield value
            waiting.extend(value.values() if isinstance(value, dict) else value)


def _damage_value(draw: random.Random, holder: Any, holders: List[Any]) -> str:
    """Change one place of a list or object and return what was done."""
    at = draw.choice(sorted(holder)) if isinstance(holder, dict) else draw.randrange(len(holder))
    kind = draw.choice(("other value", "other value", "removed", "renamed", "value from elsewhere", "doubled"))
    if kind == "removed":
        del holder[at]
    elif kind == "value from elsewhere":
        other = draw.choice(holders)
        holder[at] = copy.deepcopy(draw.choice(list(other.values()) if isinstance(other, dict) else other))
    elif kind == "renamed" and isinstance(holder, dict):
        holder[draw.choice(("x", "", "id", "a b", str(at) + "s", "//", "count", "lifecycle"))] = holder.pop(at)
    elif kind == "doubled" and isinstance(holder, list):
        holder.append(copy.deepcopy(holder[at]))
    else:
        holder[at] = copy.deepcopy(draw.choice(ODD_VALUES))
        return f"{at!r} is {holder[at]!r:.60}"
    return f"{at!r} {kind}"


# --------------------------------------------------------------------------------------
# one input
# --------------------------------------------------------------------------------------


class Input(NamedTuple):
    """A damaged directory and the command that runs on it."""

    name: str
    kind: str
    damage: str
    command: List[str]
    files: Files


def make_input(sound: Dict[str, Files], name: str) -> Input:
    """Return the input of this name ("SEED/NUMBER"), always the same one."""
    draw = random.Random(name)
    kind = draw.choice(sorted(DAMAGED))
    command = draw.choice(COMMANDS[kind])
    files = dict(sound[kind])
    what, files[DAMAGED[kind]] = damage(draw, files[DAMAGED[kind]])
    return Input(name, kind, what, command, files)


class Fence:
    """An audit hook that refuses every change outside one directory while it is up."""

    def __init__(self) -> None:
        self.directory: Optional[str] = None
        self.hooked = False

    def put_up(self, directory: Path) -> None:
        """Allow changes below this directory only."""
        if not self.hooked:
            self.hooked = True
            sys.addaudithook(self.check)
        self.directory = str(directory)

    def check(self, event: str, arguments: Tuple[Any, ...]) -> None:
        """Refuse an event that would change something outside."""
        if self.directory is None:
            return
        if event == "open":
            path, mode, flags = arguments
            writes = bool(flags & (os.O_WRONLY | os.O_RDWR | os.O_CREAT)) if isinstance(flags, int) else "r" != mode
            changed = [path] if writes and isinstance(path, (str, bytes)) else []
        elif event in ("os.remove", "os.mkdir", "os.rmdir", "os.chmod", "os.truncate"):
            changed = [arguments[0]]
        elif event in ("os.rename", "os.link", "os.symlink"):
            changed = list(arguments[:2])
        else:
            return
        for path in changed:
            absolute = os.path.abspath(os.fsdecode(path)) if isinstance(path, (str, bytes)) else ""
            if absolute and not (absolute + "/").startswith((self.directory + "/", "/dev/null/")):
                raise PermissionError(13, "Permission denied", path)


FENCE = Fence()


class TooSlow(BaseException):
    """An input took longer than the limit."""


def _alarm(number: int, frame: Any) -> None:
    raise TooSlow()


class Answer(NamedTuple):
    """What minigraph made of an input."""

    status: int
    stdout: str
    stderr: str
    crash: str  # a traceback, or ""
    before: Files
    after: Files


def answer(main: Any, given: Input) -> Answer:
    """Run the command on the input and return everything that it did."""
    back = os.getcwd()
    with tempfile.TemporaryDirectory(prefix="minigraph-fuzz-") as name:
        directory = Path(name).resolve()
        for file, content in given.files.items():
            (directory / file).parent.mkdir(parents=True, exist_ok=True)
            (directory / file).write_bytes(content)
        before = crash.snapshot(directory)
        stdout, stderr = _captured(), _captured()
        status, trace = -1, ""
        signal.signal(signal.SIGALRM, _alarm)
        signal.alarm(SECONDS)
        FENCE.put_up(directory)
        try:
            with contextlib.redirect_stdout(stdout), contextlib.redirect_stderr(stderr):
                status = main.main([f"-chdir={directory}", *given.command])
        except TooSlow:
            trace = f"{traceback.format_exc()}\ntook more than {SECONDS} s"
        except BaseException:  # SystemExit and KeyboardInterrupt are not answers either
            trace = traceback.format_exc()
        finally:
            signal.alarm(0)
            FENCE.directory = None
            os.chdir(back)
        return Answer(status, _text(stdout), _text(stderr), trace, before, crash.snapshot(directory))


def _captured() -> io.TextIOWrapper:
    return io.TextIOWrapper(io.BytesIO(), encoding="utf-8", errors="surrogateescape", newline="")


def _text(stream: io.TextIOWrapper) -> str:
    stream.flush()
    buffer = stream.buffer
    assert isinstance(buffer, io.BytesIO)
    return buffer.getvalue().decode("utf-8", "surrogateescape")


def faults(given: Input, got: Answer) -> List[str]:
    """Return what is wrong with an answer, one sentence each."""
    if got.crash:
        return [got.crash.strip().split("\n")[-1]]
    found = []
    if got.status not in (0, 1, 2):
        found.append(f"status {got.status}")
    if "Traceback (most recent call last)" in got.stdout + got.stderr:
        found.append("a traceback is shown")
    shown = got.stdout if "-json" in given.command else got.stderr
    if got.status == 1 and "Error: " not in got.stderr and "error" not in shown:
        found.append("status 1 without an error text")
    if got.status == 0 and "Error: " in got.stderr:
        found.append("an error text with status 0")
    changed = crash.differing(got.before, got.after)
    if given.command[0] not in CHANGING:
        changed = [name for name in changed if name != "new.out"]
        if changed:
            found.append(f"{given.command[0]} changed {changed}")
    elif got.status == 1 and changed and not _did_something(got.stdout + got.stderr):
        found.append(f"refused, and yet changed {changed}")
    if STATE in changed and got.status == 0 and _broken_state(got.after):
        found.append("the state that was written is not version 4 JSON")
    return found


def _did_something(shown: str) -> bool:
    """Return whether the log shows that a step ran or that an earlier run was recovered."""
    return any(word in shown for word in (": Creating...", ": Destroying...", ": Modifying...", "Recovered"))


def _broken_state(files: Files) -> bool:
    try:
        state = json.loads(files.get(STATE, b"").strip() or b'{"version": 4}')
    except ValueError:
        return True
    return not isinstance(state, dict) or state.get("version") != 4


# --------------------------------------------------------------------------------------
# many inputs
# --------------------------------------------------------------------------------------


def check_range(sound: Dict[str, Files], seed: int, numbers: Sequence[int]) -> List[str]:
    """Run these inputs and return a line for each that is answered wrongly."""
    import main
    lines = []
    for number in numbers:
        given = make_input(sound, f"{seed}/{number}")
        for fault in faults(given, answer(main, given)):
            lines.append(f"{given.name} {' '.join(given.command)} [{given.kind}: {given.damage}]: {fault}")
    return lines


def _job(work: Tuple[Dict[str, Files], int, List[int]]) -> Tuple[int, List[str]]:
    return len(work[2]), check_range(*work)


def run_many(count: int, seed: int, jobs: int) -> List[str]:
    """Run so many inputs on several processes, printing faults as they come; return them."""
    sound = samples()
    work = [(sound, seed, list(range(start, min(start + 50, count)))) for start in range(0, count, 50)]
    done, found = 0, []
    with multiprocessing.Pool(jobs) as pool:
        for number, lines in pool.imap_unordered(_job, work):
            done += number
            found += lines
            for line in lines:
                print(line, flush=True)
            if done % 2000 < 50:
                print(f"({done:,} of {count:,})", file=sys.stderr, flush=True)
    return found


def show_one(name: str) -> int:
    """Run one input again, print everything about it, and keep its directory."""
    import main
    given = make_input(samples(), name)
    got = answer(main, given)
    directory = crash.keep(given.files)
    print(f"{given.name}: {given.kind}, {given.damage}\nminigraph -chdir={directory} {' '.join(given.command)}")
    print(f"status {got.status}\n--- stdout ---\n{got.stdout}\n--- stderr ---\n{got.stderr}\n{got.crash}")
    for fault in faults(given, got):
        print(f"FAULT: {fault}")
    return 1 if faults(given, got) else 0


def main(arguments: Optional[Sequence[str]] = None) -> int:
    """Run the long form, or one input, and return 1 where an answer was wrong."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--count", type=int, default=20_000, help="inputs (default 20000)")
    parser.add_argument("--seed", type=int, default=int(time.time()), help="printed, so that a run can be repeated")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 2, help="processes (default: one a processor)")
    parser.add_argument("--only", metavar="SEED/NUMBER", help="one input again, in full")
    options = parser.parse_args(arguments)
    if options.only:
        return show_one(options.only)
    started = time.perf_counter()
    found = run_many(options.count, options.seed, options.jobs)
    print(f"seed {options.seed}: {options.count:,} inputs, {len(found)} faults, {time.perf_counter() - started:.0f} s")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
