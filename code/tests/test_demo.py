"""The lesson's walk, command by command, with the outcomes that it states; then the ways to go wrong."""
from __future__ import annotations

import contextlib
import io
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading
import unittest
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Set, Tuple
from unittest import mock

import cases
from support import CODE, FIXTURES, main, temporary_directory, write

TOOL = shutil.which("tofu") or shutil.which("terraform")


class Said(NamedTuple):
    """What a command printed and its exit status."""

    out: str
    err: str
    status: int


def run(directory: str, *words: str) -> Said:
    """Run a command on a directory, in this process."""
    out, err = io.StringIO(), io.StringIO()
    with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
        status = main.main([f"-chdir={directory}", *words])
    return Said(out.getvalue(), err.getvalue(), status)


def copied(name: str, to: str) -> str:
    """Copy a fixture into a directory and return it."""
    for path in (FIXTURES / name).glob("*.json"):
        shutil.copy(path, to)
    return to


def edit(directory: str, old: str, new: str) -> None:
    """Replace a text in main.tf.json, as the lesson's sed does."""
    path = Path(directory) / "main.tf.json"
    assert old in path.read_text()
    path.write_text(path.read_text().replace(old, new))


def files(directory: str) -> Set[str]:
    """Return the files below a directory."""
    return {os.path.relpath(os.path.join(where, name), directory) for where, _, names in os.walk(directory) for name in names}


def started(log: str) -> List[str]:
    """Return the steps of a log in the order in which they started."""
    found = re.findall(r"^(\w+\.\w+)( \(deposed object \w+\))?: (Creating|Modifying|Destroying)\.\.\.", log, re.MULTILINE)
    return [address + (" (deposed)" if deposed else " (destroy)" if verb == "Destroying" else "")
            for address, deposed, verb in found]


def block(plan: str, address: str) -> str:
    """Return the block of one resource in the text of a plan."""
    return re.findall(rf"^  # {address} [^\n]*\n.*?^    \}}$", plan, re.MULTILINE | re.DOTALL)[0]


class Sleepless(main.Provider):
    """time_sleep without its sleep: adds up what was asked for, and counts how many sleep at once.

    With ``together`` a sleep ends only when that many sleep at the same time.
    """

    def __init__(self, together: int = 1) -> None:
        self.seconds, self.now, self.most = 0.0, 0, 0
        self.lock, self.barrier = threading.Lock(), threading.Barrier(together, timeout=20)

    def create(self, planned: Dict[str, Any], runtime: Any) -> Dict[str, Any]:
        with self.lock:
            self.now += 1
            self.most = max(self.most, self.now)
            self.seconds += main.parse_duration(planned["create_duration"])
        self.barrier.wait()
        with self.lock:
            self.now -= 1
        return {**planned, "id": "2026-01-01T00:00:00Z"}


class TheWalk(unittest.TestCase):
    """Step 8 of the lesson, on the demo as it is."""

    said: Dict[str, Said] = {}

    @classmethod
    def setUpClass(cls) -> None:
        with temporary_directory() as directory:
            copied("demo", directory)
            for command in ("validate", "order", "graph", "plan"):
                cls.said[command] = run(directory, command)
            cls.alone, cls.together = Sleepless(), Sleepless(4)
            with mock.patch.dict(main.PROVIDERS, time_sleep=cls.alone):
                cls.said["apply one by one"] = run(directory, "apply", "-parallelism=1")
            cls.said["order -destroy"] = run(directory, "order", "-destroy")
            cls.said["destroy"] = run(directory, "destroy")
            cls.left = files(directory)
            with mock.patch.dict(main.PROVIDERS, time_sleep=cls.together):
                cls.said["apply"] = run(directory, "apply")
            edit(directory, "/v1.txt", "/v2.txt")
            cls.said["plan after sed"] = run(directory, "plan")
            cls.said["graph -type=apply"] = run(directory, "graph", "-type=apply")
            cls.said["apply after sed"] = run(directory, "apply")
            cls.said["plan at the end"] = run(directory, "plan")
            cls.made = files(directory)
            cls.pointer = (Path(directory) / "out" / "pointer.txt").read_text()

    def test_every_command_succeeds_and_complains_of_nothing(self) -> None:
        self.assertEqual({name: (said.status, said.err) for name, said in self.said.items()},
                         {name: (0, "") for name in self.said})

    def test_validate(self) -> None:
        self.assertEqual(self.said["validate"].out, "Success! The configuration is valid.\n")

    def test_order_has_six_nodes_in_wave_one_and_a_critical_path_of_four_steps(self) -> None:
        self.assertEqual(self.said["order"].out, (
            "wave 1: local_file.versioned, random_pet.name, time_sleep.warm_a, time_sleep.warm_b, time_sleep.warm_c,"
            " time_sleep.warm_d\n"
            "wave 2: local_file.pointer, terraform_data.release\n"
            "wave 3: local_file.config\n"
            "wave 4: local_file.index\n"
            "critical path (4 steps): random_pet.name -> terraform_data.release -> local_file.config -> local_file.index\n"))

    def test_graph_dashes_the_two_depends_on_edges_and_leaves_out_what_a_path_implies(self) -> None:
        self.assertEqual(re.findall(r'^  "(\S+)" -> "(\S+)"(.*);', self.said["graph"].out, re.MULTILINE), [
            ("local_file.config", "terraform_data.release", ""),
            ("local_file.index", "local_file.config", ""),
            ("local_file.index", "time_sleep.warm_a", ' [style = "dashed"]'),
            ("local_file.index", "time_sleep.warm_b", ' [style = "dashed"]'),
            ("local_file.pointer", "local_file.versioned", ""),
            ("terraform_data.release", "random_pet.name", "")])

    def test_plan_knows_the_content_of_index_and_not_that_of_config(self) -> None:
        plan = self.said["plan"].out
        self.assertIn("      + content              = (known after apply)\n", block(plan, "local_file.config"))
        self.assertIn("      + content              = <<-EOT\n            see ./out/config.txt\n        EOT\n",
                      block(plan, "local_file.index"))
        self.assertIn("\nPlan: 10 to add, 0 to change, 0 to destroy.\n", plan)

    def test_with_one_worker_the_sleeps_are_four_seconds_one_after_the_other(self) -> None:
        self.assertEqual((self.alone.seconds, self.alone.most), (4.0, 1))
        lines = re.findall(r"^(\S+): (Creating|Creation complete)", self.said["apply one by one"].out, re.MULTILINE)
        self.assertEqual([one[0] for one in lines[::2]], [two[0] for two in lines[1::2]])

    def test_by_default_the_four_sleeps_run_at_once_so_that_they_are_one_second(self) -> None:
        self.assertEqual((self.together.seconds, self.together.most), (4.0, 4))

    def test_both_applies_end_with_the_counts_and_the_output(self) -> None:
        for name in ("apply one by one", "apply"):
            self.assertRegex(self.said[name].out, (
                r"\n\nApply complete! Resources: 10 added, 0 changed, 0 destroyed\.\n\n"
                r'Outputs:\n\nrelease = "[a-z]+-[a-z]+"\n$'))

    def test_destroy_starts_with_what_nothing_needs(self) -> None:
        self.assertEqual(started(self.said["destroy"].out)[:4], [
            "local_file.index (destroy)", "local_file.pointer (destroy)", "time_sleep.warm_c (destroy)",
            "time_sleep.warm_d (destroy)"])

    def test_destroy_ends_with_the_pet_at_the_end_of_the_longest_chain(self) -> None:
        steps = started(self.said["destroy"].out)
        chain = [f"{address} (destroy)" for address in
                 ("local_file.index", "local_file.config", "terraform_data.release", "random_pet.name")]
        self.assertEqual([step for step in steps if step in chain], chain)
        waves = re.findall(r"^wave \d: (.*)$", self.said["order -destroy"].out, re.MULTILINE)
        self.assertEqual((len(waves), waves[-1]), (4, "random_pet.name (destroy)"))
        self.assertTrue(self.said["destroy"].out.endswith("\nDestroy complete! Resources: 10 destroyed.\n"))

    def test_destroy_leaves_the_configuration_and_the_state_files(self) -> None:
        self.assertEqual(self.left, {"main.tf.json", "terraform.tfstate", "terraform.tfstate.backup"})

    def test_after_the_edit_versioned_is_created_first_and_pointer_is_destroyed_first(self) -> None:
        plan = self.said["plan after sed"].out
        self.assertIn('\n+/- resource "local_file" "versioned" {\n', block(plan, "local_file.versioned"))
        self.assertIn('\n-/+ resource "local_file" "pointer" {\n', block(plan, "local_file.pointer"))
        self.assertIn('"./out/v1.txt" -> "./out/v2.txt" # forces replacement', block(plan, "local_file.versioned"))
        self.assertIn("\nPlan: 2 to add, 0 to change, 2 to destroy.\n", plan)

    def test_the_apply_graph_holds_the_old_object_until_the_pointer_has_moved(self) -> None:
        self.assertIn('  "local_file.versioned (destroy)" -> "local_file.pointer";\n', self.said["graph -type=apply"].out)

    def test_the_last_apply_creates_the_new_file_replaces_the_pointer_and_removes_the_deposed_object_last(self) -> None:
        self.assertEqual(started(self.said["apply after sed"].out), [
            "local_file.pointer (destroy)", "local_file.versioned", "local_file.pointer", "local_file.versioned (deposed)"])
        self.assertEqual({name for name in self.made if name.startswith("out/v")}, {"out/v2.txt"})
        self.assertEqual(self.pointer, "current=./out/v2.txt\n")

    def test_nothing_is_left_to_do(self) -> None:
        self.assertIn("\nNo changes. Your infrastructure matches the configuration.\n", self.said["plan at the end"].out)


class BreakingItOnPurpose(unittest.TestCase):
    """The two loops of the lesson."""

    LOOP = (
        "\nError: Cycle: terraform_data.a -> terraform_data.c -> terraform_data.b -> terraform_data.a\n\n"
        'terraform_data.a needs terraform_data.c: input = "${terraform_data.c.output}" (main.tf.json:3)\n'
        'terraform_data.c needs terraform_data.b: input = "${terraform_data.b.output}" (main.tf.json:5)\n'
        'terraform_data.b needs terraform_data.a: input = "${terraform_data.a.output}" (main.tf.json:4)\n\n'
        "No order exists: each of these needs the next one first. Break it at one\n"
        "edge: let both sides read a common local value, or split a resource in two.\n"
        "depends_on cannot help, it only adds edges.\n")

    def test_the_fixture_is_refused_with_its_path_and_causes_and_without_d(self) -> None:
        for command in ("validate", "order", "graph", "plan", "apply"):
            with tempfile.TemporaryDirectory() as directory:
                said = run(copied("cycle", directory), command)
                self.assertEqual((said.out, said.err, said.status), ("", self.LOOP, 1), command)
                self.assertEqual(files(directory), {"main.tf.json"}, command)
        self.assertNotIn("terraform_data.d", self.LOOP)

    def test_release_that_reads_index_closes_a_loop_through_config(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            edit(copied("demo", directory), "${random_pet.name.id}", "${local_file.index.id}")
            said = run(directory, "validate")
        self.assertEqual(said.status, 1)
        self.assertIn("Error: Cycle: local_file.config -> terraform_data.release -> local_file.index -> local_file.config\n",
                      said.err)


class NothingButAClearError(unittest.TestCase):
    """What cannot be read or understood: one error, exit status 1, no traceback, nothing written."""

    def refused(self, files_given: Dict[str, Any], words: Tuple[str, ...], says: str) -> None:
        """Run a command as a process and check how it is refused."""
        with tempfile.TemporaryDirectory() as directory:
            for name, content in files_given.items():
                write(directory, name, content)
            before = files(directory)
            done = subprocess.run([*cases.program().command, *words], cwd=directory, stdout=subprocess.PIPE,
                                  stderr=subprocess.PIPE, universal_newlines=True, encoding="utf-8")
            self.assertEqual((done.returncode, done.stdout), (1, ""), words)
            self.assertIn(says, done.stderr)
            self.assertNotIn("Traceback", done.stderr)
            self.assertEqual(files(directory), before)

    def test_an_unknown_file_or_directory(self) -> None:
        self.refused({}, ("apply", "nope.plan"), "nope.plan: no such file or directory")
        self.refused({}, ("-chdir=nope", "plan"), "nope: no such file or directory")

    def test_an_unreadable_file(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            os.mkdir(os.path.join(directory, "main.tf.json"))  # root may read any file, but no directory as one
            os.symlink("nowhere", os.path.join(directory, "other.tf.json"))
            said = run(directory, "apply")
        self.assertEqual((said.out, said.status), ("", 1))
        self.assertIn("other.tf.json", said.err)

    def test_invalid_json_names_file_and_line(self) -> None:
        self.refused({"main.tf.json": '{\n  "locals": {"a": 1,}\n}\n'}, ("apply",),
                     "Error: Trailing comma in object\n\n  on main.tf.json line 2:\n")

    def test_an_empty_directory(self) -> None:
        for command in ("validate", "order", "graph", "plan", "apply"):
            with tempfile.TemporaryDirectory() as directory:
                said = run(directory, command)
                self.assertEqual([], os.listdir(directory))
            self.assertEqual((said.out, said.status), ("", 1), command)
            self.assertIn("Error: No configuration files\n", said.err)

    def test_an_unknown_command_or_option(self) -> None:
        self.refused({}, ("aply",), 'minigraph has no command named "aply". Did you mean "apply"?')
        self.refused({}, ("apply", "-auto-aprove"), 'Did you mean "-auto-approve"?')

    def test_validate_says_when_there_were_warnings(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            write(directory, "main.tf.json", {"locals": {"a": 1}})
            write(directory, "more.tf", "")
            said = run(directory, "validate")
        self.assertTrue(said.out.endswith(
            "Success! The configuration is valid, but there were some validation warnings\nas shown above.\n"), said.out)


class SameBytesEveryRun(unittest.TestCase):
    """No output depends on the order of a hash table."""

    def test_order_graph_plan_and_loops_under_two_hash_seeds(self) -> None:
        with tempfile.TemporaryDirectory() as directory:
            demo = shutil.copytree(FIXTURES / "demo", os.path.join(directory, "demo"))
            calls = [[f"-chdir={demo}", "order"], [f"-chdir={demo}", "graph", "--full"], [f"-chdir={demo}", "plan"],
                     [f"-chdir={FIXTURES / 'cycle-eight'}", "graph", "-draw-cycles"]]
            code = os.path.dirname(cases.compiled(CODE / "main.py"))
            script = f"import sys; sys.path.insert(0, {code!r}); import main\nfor words in {calls!r}: main.main(words)\n"
            outputs = [subprocess.run([sys.executable, "-S", "-c", script], env={**os.environ, "PYTHONHASHSEED": seed},
                                      stdout=subprocess.PIPE, stderr=subprocess.PIPE) for seed in ("1", "2")]
        self.assertEqual(outputs[0].stdout, outputs[1].stdout)
        self.assertEqual(outputs[0].stderr, outputs[1].stderr)
        self.assertEqual(outputs[0].stderr.count(b"Error: Cycle: "), 2)


@unittest.skipUnless(TOOL, "neither tofu nor terraform is on PATH")
class StateSharedWithTheRealTool(unittest.TestCase):
    """Either tool finds nothing to do after the other's apply."""

    STACK = {"resource": {"terraform_data": {
        "a": {"input": {"list": [1, 2.5, "x", True, None]}},
        "b": {"input": "from ${terraform_data.a.id}", "triggers_replace": ["${terraform_data.a.output}"]},
        "c": {"depends_on": ["terraform_data.b"], "lifecycle": {"create_before_destroy": True}}}},
        "output": {"a": {"value": "${terraform_data.a.output}"}}}

    @staticmethod
    @contextlib.contextmanager
    def stack() -> Iterator[str]:
        """Yield a directory with the stack."""
        with temporary_directory() as directory:
            write(directory, "main.tf.json", StateSharedWithTheRealTool.STACK)
            yield directory

    def real(self, directory: str, *words: str) -> str:
        """Run the real tool and return what it prints."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
        done = subprocess.run([str(TOOL), *words], cwd=directory, env={**kept, "CHECKPOINT_DISABLE": "1"},
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, encoding="utf-8")
        self.assertEqual(done.returncode, 0, done.stdout)
        return done.stdout

    def test_the_real_tool_sees_no_changes_after_our_apply(self) -> None:
        with self.stack() as directory:
            self.assertEqual(run(directory, "apply").status, 0)
            self.assertIn("No changes.", self.real(directory, "plan", "-no-color", "-input=false"))

    def test_minigraph_sees_no_changes_after_the_real_apply(self) -> None:
        with self.stack() as directory:
            self.real(directory, "apply", "-no-color", "-input=false", "-auto-approve")
            said = run(directory, "plan", "-detailed-exitcode")
            self.assertIn("No changes.", said.out)
            self.assertEqual(said.status, 0)


if __name__ == "__main__":
    unittest.main()
