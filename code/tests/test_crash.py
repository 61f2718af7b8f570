"""Kills, interrupts, full disks and contention: nothing is lost, nothing is half written, no traceback is shown."""
from __future__ import annotations

import errno
import json
import os
import resource
import shutil
import signal
import subprocess
import sys
import time
import unittest
from pathlib import Path
from typing import Any, Dict, List

sys.path.insert(0, str(Path(__file__).resolve().parent))
import cases
import crash
import support

import main

REAL_TOOL = shutil.which("tofu") or shutil.which("terraform")
FILES_THEN_SLEEP = {"resource": {
    "local_file": {name: {"filename": f"${{path.module}}/out/{name}.txt", "content": name} for name in "abc"},
    "time_sleep": {"long": {"create_duration": "30s", "depends_on": [f"local_file.{name}" for name in "abc"]}},
    "terraform_data": {"after": {"input": "${time_sleep.long.id}"}}}}
DATA = {"resource": {"terraform_data": {"a": {"input": "one"}, "b": {"input": "${terraform_data.a.id}"}}}}


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: Any) -> unittest.TestSuite:
    """Run beside the other files' specs."""
    return support.beside(tests, lanes=2)


class InDirectory(unittest.TestCase):
    """A temporary directory for each test, and words for what every test looks at."""

    def setUp(self) -> None:
        holder = support.temporary_directory()
        self.addCleanup(holder.cleanup)
        self.directory = Path(holder.name)

    def write(self, stack: Dict[str, Any]) -> None:
        """Write the configuration."""
        (self.directory / "main.tf.json").write_text(json.dumps(stack))

    def started(self, *arguments: str, until: str, **options: Any) -> "subprocess.Popen[str]":
        """Start minigraph and return once a line of its log holds the text; what it printed so far is in ``seen``."""
        process = crash.start(self.directory, *arguments, **options)
        self.addCleanup(self.end, process)
        assert process.stdout is not None
        self.seen = ""
        while until not in self.seen:
            piece = os.read(process.stdout.fileno(), 4096).decode()
            if not piece:
                self.fail(f"ended before {until!r}: {self.seen}{process.communicate()}")
            self.seen += piece
        return process

    def end(self, process: "subprocess.Popen[str]") -> None:
        """End a process that a test has left running, and close its pipes."""
        process.kill()
        process.communicate()

    def ended(self, process: "subprocess.Popen[str]", within: float = 10.0) -> crash.Ended:
        """Return how the process ends; it must within so many seconds."""
        started = time.perf_counter()
        stdout, stderr = process.communicate(timeout=within)
        return crash.Ended(process.returncode, self.seen + (stdout or ""), stderr or "", time.perf_counter() - started)

    def addresses(self) -> List[str]:
        """Return the addresses of all known objects, sorted."""
        return sorted(item["address"] for item in crash.known_objects(self.directory))

    def assert_nothing_lost(self) -> None:
        """Every file on disk is known, and the lock is free: the next plan runs."""
        lost = crash.made_files(self.directory) - crash.known_files(crash.known_objects(self.directory))
        self.assertEqual(set(), lost)
        planned = crash.run(self.directory, "plan")
        self.assertEqual(0, planned.status, planned)


class KillNine(unittest.TestCase):
    """After SIGKILL at any moment the next command knows every object that exists."""

    def test_a_dozen_kills_lose_nothing(self) -> None:
        """The quick form of ``crash.py --count 500``: two mixed stacks and one that terraform reads as well."""
        done, losses = crash.campaigns(seed=20, count=12, jobs=3, per_campaign=4, size=10)
        self.assertEqual([], losses)
        self.assertGreaterEqual(sum(campaign.kills for campaign in done), 12)

    def test_a_kill_in_the_middle_of_a_rewrite_loses_nothing(self) -> None:
        """The state file is cut short then; journal and backup of the old bytes bring it back."""
        self.assertTrue(any(self.kill_in_rewrite(seconds) for seconds in (0.1, 0.25, 0.4, 0.7, 1.2, 2)),
                        "no kill hit a rewrite: the injection does not work")

    def kill_in_rewrite(self, seconds: float) -> bool:
        """Kill an apply while it rewrites the state slowly; return whether the kill left half a file."""
        with support.temporary_directory() as name:
            directory = Path(name)
            stack = {"resource": {"local_file": {
                f"f{i}": {"filename": f"out/f{i}.txt", "content": f"{i}"} for i in range(8)}}}
            (directory / "main.tf.json").write_text(json.dumps(stack))
            crash.run(directory, "apply")
            (directory / "main.tf.json").write_text(json.dumps(stack).replace('"content": "', '"content": "new '))
            killed = crash.run(directory, "apply", kill=crash.Moment(seconds, line=8),
                               patch=crash.SLOW_WRITE.format(pause=0.8))
            cut = crash.raw_state(directory) is None
            crash.check_after_kill(directory, killed.stdout)
            crash.check_converges(directory, False)
            crash.check_destroys(directory)
            return cut


class DamagedJournal(InDirectory):
    """A journal that no run of ours wrote is refused or read, never a traceback."""

    def test_its_checksum_of_the_state_is_of_another_kind(self) -> None:
        self.write(DATA)
        base = main.state_bytes(main.State("l", 1)).decode()
        head = {"minigraph_journal": 1, "lineage": "l", "serial": 1, "state": {"a": []}, "base": len(base)}
        (self.directory / crash.JOURNAL).write_text(json.dumps(head) + "\n" + base)
        ended = crash.run(self.directory, "show")
        self.assertEqual((0, False), (ended.status, "Traceback" in ended.stderr), ended)


class KillBetween(InDirectory):
    """The worst moments, hit on purpose: an empty state file, an old journal that makes room for a new one."""

    TRUNCATE_AND_DIE = """
def truncate_and_die(fd, data):
    os.ftruncate(fd, 0)
    os.kill(os.getpid(), signal.SIGKILL)
main.write_state_bytes = truncate_and_die
"""
    DIE_AT_JOURNAL = """
write_now = os.write
def write_or_die(fd, data):
    if os.readlink(f"/proc/self/fd/{fd}").endswith(%r):
        os.kill(os.getpid(), signal.SIGKILL)
    return write_now(fd, data)
os.write = write_or_die
"""
    STACK = {"resource": {"local_file": {name: {"filename": f"out/{name}.txt", "content": name} for name in "abc"}}}
    ALL = ["local_file.a", "local_file.b", "local_file.c"]

    def killed(self, *arguments: str, patch: str) -> None:
        """Run a command that kills itself, and check that it did."""
        ended = crash.run(self.directory, *arguments, patch=patch)
        self.assertEqual(-signal.SIGKILL, ended.status, ended)

    def test_an_emptied_state_file_never_loses_objects(self) -> None:
        """Every command that rewrites the state, whether it has steps to run or not."""
        longer = {**self.STACK, "output": {"new": {"value": "x"}}}
        flagged = {"resource": {"local_file": {
            name: {**body, "depends_on": ["local_file.a"] if name == "b" else []}
            for name, body in self.STACK["resource"]["local_file"].items()}}}
        added = {"resource": {**self.STACK["resource"], "terraform_data": {"new": {}}}}
        for name, stack, command in (("a step", added, "apply"), ("an output alone", longer, "apply"),
                                     ("recorded dependencies alone", flagged, "apply"),
                                     ("taint", self.STACK, "taint local_file.b"),
                                     ("refresh", self.STACK, "apply -refresh-only")):
            with self.subTest(name):
                self.write(self.STACK)
                self.assertEqual(0, crash.run(self.directory, "apply").status)
                if name == "refresh":
                    (self.directory / "out" / "c.txt").unlink()
                self.write(stack)
                self.killed(*command.split(), patch=self.TRUNCATE_AND_DIE)
                known = [address for address in self.addresses() if address.startswith("local_file.")]
                self.assertEqual(self.ALL[:2] if name == "refresh" else self.ALL, known)
                crash.check_converges(self.directory, False)

    def test_a_recovery_that_dies_as_it_begins_its_own_journal(self) -> None:
        """The old journal holds the only word on three files until the new one is whole."""
        if not os.path.exists("/proc/self/fd"):
            self.skipTest("needs /proc to tell the journal's descriptor")
        self.write(self.STACK)
        self.killed("apply", patch=self.TRUNCATE_AND_DIE)
        self.assertEqual(self.ALL, self.addresses())
        self.write({"resource": {**self.STACK["resource"], "terraform_data": {"new": {}}}})
        self.killed("apply", patch=self.DIE_AT_JOURNAL % crash.JOURNAL)
        self.assertEqual(self.ALL, self.addresses())
        crash.check_converges(self.directory, False)
        crash.check_destroys(self.directory)


class OneInterrupt(InDirectory):
    """The first SIGINT or SIGTERM starts nothing new, stops sleeps, saves, releases the lock and exits 1."""

    def interrupted(self, number: int) -> crash.Ended:
        """Interrupt an apply in a sleep of 30 seconds and return how it ends."""
        self.write(FILES_THEN_SLEEP)
        process = self.started("apply", until="time_sleep.long: Creating...")
        process.send_signal(number)
        return self.ended(process)

    def assert_stopped_cleanly(self, ended: crash.Ended) -> None:
        """The finished files are saved, the cut-off sleep and what waited for it are not there."""
        self.assertEqual(1, ended.status, ended)
        self.assertLess(ended.seconds, 5)
        self.assertNotIn("Traceback", ended.stderr)
        self.assertIn("Interrupt received.", ended.stdout)
        self.assertIn("Gracefully shutting down...", ended.stdout)
        self.assertNotIn("Apply complete!", ended.stdout)
        self.assertNotIn("terraform_data.after: Creating", ended.stdout)
        self.assertEqual(["local_file.a", "local_file.b", "local_file.c"], self.addresses())
        crash.check_whole(self.directory)
        self.assert_nothing_lost()

    def test_sigint_once(self) -> None:
        """SIGINT during an apply."""
        self.assert_stopped_cleanly(self.interrupted(signal.SIGINT))

    def test_sigterm_once(self) -> None:
        """SIGTERM is the same."""
        self.assert_stopped_cleanly(self.interrupted(signal.SIGTERM))

    def test_a_destroy_that_sleeps_keeps_the_object(self) -> None:
        """A time_sleep whose destroy is cut off stays in the state."""
        self.write({"resource": {"time_sleep": {"long": {"destroy_duration": "30s"}}}})
        self.assertEqual(0, crash.run(self.directory, "apply").status)
        process = self.started("destroy", until="time_sleep.long: Destroying...")
        process.send_signal(signal.SIGINT)
        ended = self.ended(process)
        self.assertEqual(1, ended.status, ended)
        self.assertLess(ended.seconds, 5)
        self.assertEqual(["time_sleep.long"], self.addresses())
        crash.check_whole(self.directory)


class TwoInterrupts(InDirectory):
    """The second SIGINT leaves at once with 130; the journal keeps what was done and what was under way."""

    def test_the_second_one_does_not_wait(self) -> None:
        """The step under way cannot be stopped and would take 30 seconds."""
        self.write({"resource": {
            "local_file": {"a": {"filename": "out/a.txt", "content": "a"}},
            "terraform_data": {"slow": {"input": "${local_file.a.id}"}}}})
        process = self.started("apply", until="terraform_data.slow: Creating...",
                               patch=crash.SLOW_CREATE.format(pause=30))
        process.send_signal(signal.SIGINT)
        assert process.stdout is not None
        while "Interrupt received." not in self.seen:
            self.seen += os.read(process.stdout.fileno(), 4096).decode()
        process.send_signal(signal.SIGINT)
        ended = self.ended(process)
        self.assertEqual(130, ended.status, ended)
        self.assertLess(ended.seconds, 5)
        self.assertIn("Two interrupts received.", ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)
        self.assert_nothing_lost()
        crash.check_converges(self.directory, False)


class OtherEnds(InDirectory):
    """Hang-up, closed output, full output."""

    def test_sighup_kills_and_loses_nothing(self) -> None:
        """SIGHUP keeps its default action; the next command knows what was finished."""
        self.write(FILES_THEN_SLEEP)
        process = self.started("apply", until="time_sleep.long: Creating...")
        process.send_signal(signal.SIGHUP)
        self.assertEqual(-signal.SIGHUP, self.ended(process).status)
        self.assertEqual(["local_file.a", "local_file.b", "local_file.c"], self.addresses())
        self.assert_nothing_lost()

    def test_a_closed_pipe_ends_with_141_and_a_whole_state(self) -> None:
        """As in ``minigraph apply | head -1``."""
        self.write(DATA)
        for command in ("graph", "plan", "apply"):
            read_end, write_end = os.pipe()
            os.close(read_end)
            process = crash.start(self.directory, command, stdout=write_end)
            os.close(write_end)
            stderr = process.communicate(timeout=20)[1]
            self.assertIn(process.returncode, (141, -signal.SIGPIPE), (command, stderr))
            self.assertNotIn("Traceback", stderr)
            self.assertNotIn("BrokenPipeError", stderr)
        self.assert_nothing_lost()

    def test_output_that_cannot_be_written_does_not_stop_the_work(self) -> None:
        """With stdout at /dev/full the real tool does its work and exits 0; so does minigraph."""
        if not os.path.exists("/dev/full"):
            self.skipTest("no /dev/full on this system")
        self.write(DATA)
        with open("/dev/full", "w") as full:
            process = crash.start(self.directory, "apply", stdout=full)
            stderr = process.communicate(timeout=20)[1]
        self.assertNotIn("Traceback", stderr)
        self.assertEqual(0, process.returncode, stderr)
        self.assertEqual(["terraform_data.a", "terraform_data.b"], self.addresses())


class NoRoom(InDirectory):
    """Where state or journal cannot be written, the run stops with an error and what exists stays known."""

    def stack(self, version: str) -> Dict[str, Any]:
        """Return 30 files in a row, so that the disk fills up in the middle."""
        return {"resource": {"local_file": {f"f{i}": {
            "filename": f"${{path.module}}/out/{version}-f{i}.txt", "content": "x",
            "depends_on": [f"local_file.f{i - 1}"] if i else []} for i in range(30)}}}

    def assert_refused(self, ended: crash.Ended) -> None:
        """A clear error and no traceback."""
        self.assertEqual(1, ended.status, ended)
        self.assertIn("Error:", ended.stderr)
        self.assertNotIn("Traceback", ended.stderr)

    def test_a_file_size_limit_that_hits_the_journal(self) -> None:
        """Every write past 6,000 bytes of one file fails, as on a full disk."""
        self.write(self.stack("one"))
        limit = (6000, resource.getrlimit(resource.RLIMIT_FSIZE)[1])
        patch = f"import resource; resource.setrlimit(resource.RLIMIT_FSIZE, {limit})"
        self.assert_refused(crash.run(self.directory, "apply", patch=patch))
        self.assert_nothing_lost()
        crash.check_converges(self.directory, False)

    def test_a_full_tmpfs(self) -> None:
        """A file system of 64 KiB fills up during the apply."""
        full = self.directory / "full"
        full.mkdir()
        if not _mounts(["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(full)]):
            self.skipTest("mounting a tmpfs needs root and mount")
        self.addCleanup(subprocess.run, ["umount", "-l", str(full)], capture_output=True)
        many = {"resource": {"terraform_data": {f"d{i}": {"input": "x" * 400} for i in range(100)}}}
        (self.directory / "many.tf.json").write_text(json.dumps(many))
        os.symlink(self.directory / "many.tf.json", full / "main.tf.json")
        self.assert_refused(crash.run(full, "apply"))
        shown = crash.run(full, "show", "-json")
        self.assertEqual(0, shown.status, shown)
        self.assertIn("terraform_data.d", shown.stdout)

    def test_a_state_that_turns_unwritable_in_the_middle(self) -> None:
        """The lock was taken, the steps run, then no rewrite succeeds: the journal keeps what was done."""
        self.write(self.stack("one"))
        patch = ("main.WRITE_EVERY = 600\n"
                 "def refuse(fd, data):\n"
                 f"    raise OSError({errno.EIO}, 'Input/output error')\n"
                 "main.write_state_bytes = refuse")
        ended = crash.run(self.directory, "apply", patch=patch)
        self.assert_refused(ended)
        self.assertIn("nput/output error", ended.stderr)
        self.assertEqual(30, len(crash.made_files(self.directory)))
        self.assert_nothing_lost()
        crash.check_converges(self.directory, False)

    def test_a_read_only_directory(self) -> None:
        """Nothing is made, and the error names the file."""
        self.write(DATA)
        if not self.made_read_only():
            self.skipTest("as root only chattr +i makes a directory read-only, and it is not allowed here")
        before = crash.snapshot(self.directory)
        for command in ("apply", "destroy"):
            ended = crash.run(self.directory, command)
            self.assert_refused(ended)
            self.assertIn("terraform.tfstate", ended.stderr)
        self.assertEqual(before, crash.snapshot(self.directory))
        self.assertEqual(0, crash.run(self.directory, "validate").status)

    def made_read_only(self) -> bool:
        """Make the directory read-only, for root too, until the test ends."""
        if os.getuid():
            self.directory.chmod(0o555)
            self.addCleanup(self.directory.chmod, 0o755)
            return True
        self.addCleanup(subprocess.run, ["chattr", "-i", str(self.directory)], capture_output=True)
        return _mounts(["chattr", "+i", str(self.directory)])


def _mounts(command: List[str]) -> bool:
    """Return whether the command exists and succeeds."""
    return bool(shutil.which(command[0])) and subprocess.run(command, capture_output=True).returncode == 0


class OddPlaces(InDirectory):
    """State, journal, backup and streams that are not what they should be."""

    def test_a_closed_stream_does_not_become_the_state_file(self) -> None:
        """The state would be file 1, and the log would go into it."""
        self.write(DATA)
        for closed in ("1>&-", "2>&-", "0<&- 1>&- 2>&-"):
            words = f'exec "$0" "$@" {closed}'
            done = subprocess.run(["sh", "-c", words, *cases.program().command, "apply"],
                                  cwd=self.directory, capture_output=True, text=True)
            self.assertEqual((0, ""), (done.returncode, done.stderr))
            crash.check_whole(self.directory)
        self.assertEqual(["terraform_data.a", "terraform_data.b"], self.addresses())

    def test_the_locale_does_not_matter(self) -> None:
        self.write({"output": {"name": {"value": "\u00e9"}}})
        command = [*cases.program().command, "apply"]
        done = subprocess.run(command, cwd=self.directory, capture_output=True, env={"PYTHONIOENCODING": "ascii"})
        self.assertIn('name = "\u00e9"', done.stdout.decode())
        self.assertEqual((0, b""), (done.returncode, done.stderr))

    def test_a_plan_leaves_a_link_to_a_state_that_is_not_there_yet(self) -> None:
        self.write(DATA)
        (self.directory / "terraform.tfstate").symlink_to("real")
        crash.run(self.directory, "plan")
        self.assertEqual("real", os.readlink(self.directory / "terraform.tfstate"))
        self.assertFalse((self.directory / "real").exists())

    def test_a_state_that_goes_during_the_run_is_in_the_journal(self) -> None:
        self.write(DATA)
        for change in ("os.unlink(path)", "open(path + 'x', 'w').close(); os.replace(path + 'x', path)"):
            with self.subTest(change):
                patch = f"""
path = {str(self.directory / "terraform.tfstate")!r}
real = main.TerraformData.create
def create(*given):
    if os.path.exists(path): {change}
    return real(*given)
main.TerraformData.create = create
"""
                ended = crash.run(self.directory, "apply", patch=patch)
                self.assertEqual(1, ended.status, ended)
                self.assertIn("removed or replaced during the run", " ".join(ended.stderr.split()))
                self.assertEqual(["terraform_data.a", "terraform_data.b"], self.addresses())
                self.assertEqual(0, crash.run(self.directory, "destroy").status)
                (self.directory / "terraform.tfstate").unlink()

    def test_a_journal_that_goes_during_the_run_does_not_matter(self) -> None:
        self.write(DATA)
        patch = f"""
real = main.TerraformData.create
def create(*given):
    main.remove_quietly({str(self.directory / crash.JOURNAL)!r})
    return real(*given)
main.TerraformData.create = create
"""
        self.assertEqual((0, ""), crash.run(self.directory, "apply", patch=patch)[::2])

    def test_neither_plan_nor_backup_goes_over_the_state(self) -> None:
        self.write(DATA)
        crash.run(self.directory, "apply")
        before = crash.snapshot(self.directory)
        for words in (("plan", "-out=./terraform.tfstate"), ("destroy", "-backup=terraform.tfstate"),
                      ("taint", "-backup=terraform.tfstate", "terraform_data.a")):
            ended = crash.run(self.directory, *words)
            self.assertEqual(1, ended.status, ended)
            self.assertIn("is the state file", ended.stderr)
        self.assertEqual(before, crash.snapshot(self.directory))

    def test_a_fifo_as_journal_or_backup_is_refused_at_once(self) -> None:
        for name, command in ((crash.JOURNAL, "show"), ("terraform.tfstate.backup", "apply")):
            self.write(DATA)
            os.mkfifo(self.directory / name)
            ended = crash.run(self.directory, command)
            self.assertEqual(1, ended.status, ended)
            (self.directory / name).unlink()


class MovedOn(InDirectory):
    """Another tool writes the state between the kill and the recovery."""

    V1 = {"resource": {"local_file": {"v": {"filename": "out/v1.txt", "content": "1",
                                            "lifecycle": {"create_before_destroy": True}}}, "terraform_data": {"x": {}}}}
    V2 = {"resource": {"local_file": {"v": {"filename": "out/v2.txt", "content": "2",
                                            "lifecycle": {"create_before_destroy": True}}}, "terraform_data": {"x": {}}}}
    DIE_AT_DELETE = "main.LocalFile.delete = lambda *given: os.kill(os.getpid(), signal.SIGKILL)"

    def test_a_replacement_that_the_other_does_not_know_is_kept_as_deposed(self) -> None:
        """Its serial is the least that it can be, and its word on the rest holds."""
        path = self.directory / "terraform.tfstate"
        self.write(self.V1)
        crash.run(self.directory, "apply")
        self.write(self.V2)
        before = json.loads(path.read_text())
        crash.run(self.directory, "apply", patch=self.DIE_AT_DELETE)
        before["serial"] += 1
        del before["resources"][1]
        path.write_text(json.dumps(before))
        shown = crash.run(self.directory, "plan", "-destroy", "-out=p")
        self.assertIn("local_file.v (deposed object", shown.stdout)
        self.assertNotIn("terraform_data.x", shown.stdout)
        self.assertEqual(0, crash.run(self.directory, "apply", "p").status)
        self.assertEqual(set(), crash.made_files(self.directory))


class Contention(InDirectory):
    """The state has one user at a time, whichever tool it is."""

    HOLD = """
create_now = main.TerraformData.create
def create_when_told(*given):
    while not os.path.exists(%r):
        time.sleep(0.01)
    return create_now(*given)
main.TerraformData.create = create_when_told
"""

    def holder(self) -> "subprocess.Popen[str]":
        """Start an apply that holds the lock until it is told to go on."""
        self.write(DATA)
        self.go_on = self.directory / "go-on"
        return self.started("apply", until="terraform_data.a: Creating...", patch=self.HOLD % str(self.go_on))

    def assert_locked_out(self, stderr: str, operation: str = "OperationTypeApply") -> None:
        """The error says who holds the lock, since when and for what."""
        self.assertIn("Error acquiring the state lock", stderr)
        self.assertIn("Lock Info:", stderr)
        self.assertRegex(stderr, r"ID: +[0-9a-f]{8}-[0-9a-f]{4}-")
        self.assertRegex(stderr, rf"Operation: +{operation}")
        self.assertRegex(stderr, r"Who: +\S+@\S+")

    def test_the_second_apply_is_told_who_holds_the_lock(self) -> None:
        """And the first one is not disturbed."""
        first = self.holder()
        second = crash.run(self.directory, "apply")
        self.assertEqual(1, second.status, second)
        self.assert_locked_out(second.stderr)
        self.go_on.touch()
        self.assertEqual(0, self.ended(first).status)
        crash.check_converges(self.directory, False)

    def test_lock_timeout_waits(self) -> None:
        """The second apply goes on when the first one has ended, and finds nothing to do."""
        first = self.holder()
        waiting = self.started("apply", "-lock-timeout=20s", until="Acquiring state lock. This may take a few moments...")
        self.go_on.touch()
        second = self.ended(waiting)
        self.assertEqual(0, second.status, second)
        self.assertIn("0 added, 0 changed, 0 destroyed", second.stdout)
        self.assertEqual(0, self.ended(first).status)

    def test_lock_timeout_ends(self) -> None:
        """A timeout that is too short ends with the error."""
        self.holder()
        second = crash.run(self.directory, "apply", "-lock-timeout=500ms")
        self.assertEqual(1, second.status, second)
        self.assert_locked_out(second.stderr)

    def test_a_stale_lock_file_does_not_matter(self) -> None:
        """Only the lock on the state file counts; the text beside it is information."""
        self.write(DATA)
        (self.directory / crash.LOCK_INFO).write_text('{"ID":"x"}')
        self.assertEqual(0, crash.run(self.directory, "apply").status)

    def test_many_applies_at_once_leave_one_state(self) -> None:
        """Five here; ``crash.py --applies 50`` is the long form."""
        self.assertEqual(5, sum(crash.many_applies(self.directory, 5).values()))

    @unittest.skipUnless(REAL_TOOL, "neither tofu nor terraform is on PATH")
    def test_minigraph_locks_the_real_tool_out(self) -> None:
        """The real tool reads our lock and shows our details."""
        assert REAL_TOOL
        first = self.holder()
        second = crash._tool(REAL_TOOL, self.directory, "plan", "-no-color")
        self.assertEqual(1, second.status, second)
        self.assert_locked_out(second.stderr)
        self.go_on.touch()
        self.assertEqual(0, self.ended(first).status)
        self.assertEqual(0, crash._tool(REAL_TOOL, self.directory, "plan", "-detailed-exitcode").status)

    @unittest.skipUnless(REAL_TOOL, "neither tofu nor terraform is on PATH")
    def test_the_real_tool_locks_minigraph_out(self) -> None:
        """A local-exec of the real tool holds the lock; it works from a directory of its own on the same state."""
        assert REAL_TOOL
        self.write(DATA)
        with support.temporary_directory() as other:
            slow = {**DATA["resource"]["terraform_data"], "c": {
                "provisioner": {"local-exec": {"command": "sleep 1"}}}}
            (Path(other) / "main.tf.json").write_text(json.dumps({"resource": {"terraform_data": slow}}))
            command = [REAL_TOOL, f"-chdir={other}", "apply", "-auto-approve", "-no-color",
                       f"-state={self.directory / crash.STATE}"]
            holder = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                                      env=crash.environment())
            self.addCleanup(self.end, holder)
            assert holder.stdout is not None
            for line in holder.stdout:
                if "Provisioning with 'local-exec'" in line:
                    break
            ours = crash.run(self.directory, "plan")
            self.assertEqual(1, ours.status, ours)
            self.assert_locked_out(ours.stderr)
            waiting = crash.run(self.directory, "apply", "-lock-timeout=20s")
            self.assertEqual(0, waiting.status, waiting)
            self.assertEqual(0, holder.wait(timeout=20))
        crash.check_converges(self.directory, True)


class Example(unittest.TestCase):
    """Ends of every kind, for the specs below; one of them takes its whole process with it."""

    def a_succeeds(self) -> None:
        pass

    def b_fails(self) -> None:
        self.fail("the sum is wrong")

    def c_fails_in_a_part(self) -> None:
        with self.subTest("half"):
            self.fail("the half is wrong")

    def d_breaks(self) -> None:
        raise OSError("no such disk")

    def e_is_skipped(self) -> None:
        self.skipTest("no disk at all")

    def f_dies(self) -> None:
        os._exit(0)

    def g_comes_after_a_death(self) -> None:
        pass


class SpecsBesideOthers(unittest.TestCase):
    """A spec that runs in a process of its own, beside others, ends here as it ends there."""

    def test_each_end_is_told(self) -> None:
        names = sorted(name for name in vars(Example) if name[1] == "_" and name[0] != "_")
        result = unittest.TestResult()
        support.beside(unittest.TestSuite(map(Example, names))).run(result)
        told = [(spec.id().rpartition(".")[2], text.strip().rpartition("\n")[2]) for spec, text in result.failures]
        self.assertEqual([("b_fails", "AssertionError: the sum is wrong"),
                          ("c_fails_in_a_part", "AssertionError: the half is wrong"),
                          ("d_breaks", "OSError: no such disk"),
                          ("f_dies", "its process ended without a word"),
                          ("g_comes_after_a_death", "its process ended without a word")],
                         told)
        self.assertEqual(["no disk at all"], [reason for _, reason in result.skipped])
        self.assertEqual((7, []), (result.testsRun, result.errors))

    def test_two_lanes_give_each_spec_its_own_end(self) -> None:
        names = ["a_succeeds", "b_fails", "e_is_skipped", "d_breaks", "a_succeeds"]
        result = unittest.TestResult()
        support.beside(unittest.TestSuite(map(Example, names)), lanes=2).run(result)
        self.assertEqual(["b_fails", "d_breaks"], [spec.id().rpartition(".")[2] for spec, _ in result.failures])
        self.assertEqual((5, 1), (result.testsRun, len(result.skipped)))


if __name__ == "__main__":
    unittest.main()
