"""Applying: the log byte for byte, what a failure leaves, deposed objects, outputs, the files that stay behind."""
from __future__ import annotations

import contextlib
import fcntl
import io
import os
import re
import threading
import unittest
from typing import Any, Dict, List, NamedTuple, Optional, Set
from unittest import mock

from support import temporary_directory, write

import main
from main import Attributes, Instance, LocalFile, PlanOptions, Runtime, State, StepError

Stack = Dict[str, Any]
FIRST = {"create_before_destroy": True}


class Ended(NamedTuple):
    """How a command ended."""

    status: int
    stdout: str
    stderr: str

    @property
    def log(self) -> List[str]:
        """Return the log lines of the steps, ids and keys replaced by their kinds."""
        lines = re.findall(r"^\w+\.\S+(?: \(deposed object [0-9a-f]{8}\))?: (?!Refreshing).*", self.stdout, re.MULTILINE)
        return [re.sub(r"\[id=[^],]*", "[id=ID", re.sub(r"object [0-9a-f]{8}", "object KEY", line)) for line in lines]


class Flaky(LocalFile):
    """A local_file that fails to create or to delete the files with these contents, each once."""

    def __init__(self, create: str = "", delete: str = "", made: bool = False) -> None:
        self.bad_create, self.bad_delete, self.made = create, delete, made

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Fail once for the content; with ``made`` the file is there all the same."""
        if planned["content"] == self.bad_create:
            self.bad_create = ""
            raise StepError("Create broke", "", super().create(planned, runtime) if self.made else None)
        return super().create(planned, runtime)

    def delete(self, prior: Attributes, runtime: Runtime) -> None:
        """Fail once for the content."""
        if prior["content"] == self.bad_delete:
            self.bad_delete = ""
            raise StepError("Delete broke")
        super().delete(prior, runtime)


class InDirectory(unittest.TestCase):
    """A temporary directory, a clock that stands still, and main.main in this process."""

    def setUp(self) -> None:
        holder = temporary_directory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name
        patch = mock.patch("time.time", lambda: 1_000_000_000.0)
        patch.start()
        self.addCleanup(patch.stop)

    def run_main(self, *arguments: str) -> Ended:
        """Run a command in the directory."""
        out, err = io.StringIO(), io.StringIO()
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            status = main.main([f"-chdir={self.directory}", *arguments])
        return Ended(status, out.getvalue(), err.getvalue())

    def apply(self, stack: Optional[Stack] = None, *arguments: str, provider: Optional[LocalFile] = None) -> Ended:
        """Write a stack and apply it, with another local_file provider if there is one."""
        if stack is not None:
            write(self.directory, "main.tf.json", stack)
        with mock.patch.dict(main.PROVIDERS, {"local_file": provider} if provider else {}):
            return self.run_main("apply", *arguments)

    def state(self) -> State:
        """Return the state as the file has it."""
        with open(os.path.join(self.directory, "terraform.tfstate"), encoding="utf-8") as file:
            return main.read_state(file.read(), "terraform.tfstate")

    def objects(self) -> Dict[str, str]:
        """Return the objects in the state: "", "tainted", and "deposed" ones behind a plus sign."""
        state, found = self.state(), {}
        for address in sorted({*state.objects, *state.deposed}):
            current = state.objects.get(address)
            found[address.partition(".")[2]] = ("gone" if current is None else "tainted" * current.tainted) + (
                "+deposed" * len(state.deposed.get(address, {})))
        return found

    def files(self) -> Dict[str, str]:
        """Return the files of the directory that objects are, with their contents."""
        found = {}
        for name in os.listdir(self.directory):
            if name.endswith(".txt"):
                with open(os.path.join(self.directory, name), encoding="utf-8") as file:
                    found[name] = file.read()
        return found


def data(**resources: Any) -> Stack:
    """Return a stack of terraform_data."""
    return {"resource": {"terraform_data": resources}}


def file(content: str, filename: str = "", **others: Any) -> Dict[str, Any]:
    """Return a local_file with its content, by default in a file of that name."""
    return {"filename": f"${{path.module}}/{filename or content}.txt", "content": content, **others}


def files(**resources: Any) -> Stack:
    """Return a stack of local_file."""
    return {"resource": {"local_file": resources}}


class Log(InDirectory):
    """The lines are those of the real tool, byte for byte, and the summary stands below them."""

    CHAIN = {**data(a={"input": 1}, b={"input": "${terraform_data.a.output}"}), "output": {"o": {"value": "x"}}}

    def test_creates_and_the_summary_with_outputs(self) -> None:
        ended = self.apply(self.CHAIN)
        a, b = (self.state().objects[f"terraform_data.{name}"].attributes["id"] for name in "ab")
        self.assertEqual((0, "", f"""\
terraform_data.a: Creating...
terraform_data.a: Creation complete after 0s [id={a}]
terraform_data.b: Creating...
terraform_data.b: Creation complete after 0s [id={b}]

Apply complete! Resources: 2 added, 0 changed, 0 destroyed.

Outputs:

o = "x"
"""), (ended.status, ended.stderr, ended.stdout[ended.stdout.index("terraform_data.a: Creating"):]))

    def test_updates(self) -> None:
        self.apply(data(a={"input": 1}))
        ended = self.apply(data(a={"input": 2}))
        self.assertEqual(["terraform_data.a: Modifying... [id=ID]", "terraform_data.a: Modifications complete after 0s [id=ID]"],
                         ended.log)
        self.assertIn("\n\nApply complete! Resources: 0 added, 1 changed, 0 destroyed.\n", ended.stdout)

    def test_a_destroy_first_replacement(self) -> None:
        self.apply(data(a={"triggers_replace": 1}))
        ended = self.apply(data(a={"triggers_replace": 2}))
        self.assertEqual(["terraform_data.a: Destroying... [id=ID]", "terraform_data.a: Destruction complete after 0s",
                          "terraform_data.a: Creating...", "terraform_data.a: Creation complete after 0s [id=ID]"], ended.log)
        self.assertIn("\n\nApply complete! Resources: 1 added, 0 changed, 1 destroyed.\n", ended.stdout)

    def test_a_create_first_replacement_whose_last_line_is_not_marked(self) -> None:
        self.apply(data(a={"triggers_replace": 1, "lifecycle": FIRST}))
        self.assertEqual(["terraform_data.a: Creating...", "terraform_data.a: Creation complete after 0s [id=ID]",
                          "terraform_data.a (deposed object KEY): Destroying... [id=ID]",
                          "terraform_data.a: Destruction complete after 0s"],
                         self.apply(data(a={"triggers_replace": 2, "lifecycle": FIRST})).log)

    def test_a_destroy_and_its_summary(self) -> None:
        self.apply(self.CHAIN)
        a, b = (self.state().objects[f"terraform_data.{name}"].attributes["id"] for name in "ab")
        ended = self.run_main("destroy")
        self.assertEqual(f"""\
terraform_data.b: Destroying... [id={b}]
terraform_data.b: Destruction complete after 0s
terraform_data.a: Destroying... [id={a}]
terraform_data.a: Destruction complete after 0s

Destroy complete! Resources: 2 destroyed.
""", ended.stdout[ended.stdout.index("terraform_data.b: Destroying"):])

    def test_objects_are_refreshed_first_deposed_ones_too(self) -> None:
        self.apply(files(v=file("one", lifecycle=FIRST)))
        self.apply(files(v=file("two", lifecycle=FIRST)), provider=Flaky(delete="one"))
        lines = [line for line in self.run_main("plan").stdout.splitlines() if "Refreshing" in line]
        key, = self.state().deposed["local_file.v"]
        self.assertEqual([f"local_file.v{marker}: Refreshing state... [id={main.sha1_of(content)}]" for marker, content in (
            ("", b"two"), (f" (deposed object {key})", b"one"))], lines)

    def test_nothing_to_do_has_a_summary_of_noughts(self) -> None:
        self.apply(self.CHAIN)
        self.assertIn("No changes. Your infrastructure matches the configuration.\n", self.apply().stdout)
        self.assertIn("\nApply complete! Resources: 0 added, 0 changed, 0 destroyed.\n", self.apply().stdout)


class StillRunning(InDirectory):
    """Every ten seconds a running step is told of."""

    def lines(self, verb: str, stack: Stack, prior: Optional[Stack] = None) -> List[str]:
        """Return the log of a run whose step takes 20 seconds by its own clock and none by any other."""
        if prior is not None:
            self.apply(prior)
        write(self.directory, "main.tf.json", stack)
        told, done = io.StringIO(), threading.Event()
        view = main.View()

        def emit(kind: str, **what: Any) -> None:
            with contextlib.redirect_stdout(told):
                view.emit(kind, **what)
            if what.get("elapsed") == 20:
                done.set()
        seconds = [0.0]

        def clock() -> float:
            seconds[0] += 0 if done.is_set() else 1
            return seconds[0]
        file = main.StateFile(os.path.join(self.directory, "terraform.tfstate"), "test")
        self.addCleanup(file.close)
        runtime = Runtime(lambda asked: self.assertTrue(done.wait(10)), lambda: 0.0, self.directory)
        config = main.load_config(self.directory)
        plan = main.make_plan(config, main.read_state(file.read().decode(), ""), PlanOptions(verb),
                              lambda address, key, instance: instance.attributes)
        apply = main.Apply(plan, file, runtime, emit, main.Stop())
        apply.clock, apply.started, apply.last_write = clock, 0.0, 0.0
        tick = apply.tick
        apply.tick = lambda: min(0.0, tick() or 0.0)  # type: ignore[method-assign]  # its seconds are not those of the walk
        self.assertEqual([], apply.run(1).errors)
        return told.getvalue().splitlines()

    def test_a_create(self) -> None:
        self.assertEqual(["time_sleep.s: Creating...", "time_sleep.s: Still creating... [10s elapsed]",
                          "time_sleep.s: Still creating... [20s elapsed]",
                          "time_sleep.s: Creation complete after 0s [id=1970-01-01T00:00:00Z]"],
                         self.lines("normal", {"resource": {"time_sleep": {"s": {"create_duration": "20s"}}}}))

    def test_a_destroy(self) -> None:
        stack = {"resource": {"time_sleep": {"s": {"destroy_duration": "20s"}}}}
        made = "2001-09-09T01:46:40Z"
        self.assertEqual([f"time_sleep.s: Destroying... [id={made}]",
                          f"time_sleep.s: Still destroying... [id={made}, 10s elapsed]",
                          f"time_sleep.s: Still destroying... [id={made}, 20s elapsed]",
                          "time_sleep.s: Destruction complete after 0s"], self.lines("destroy", stack, prior=stack))

    def test_the_words_for_long_times_and_long_ids(self) -> None:
        entry, long = main.Entry("start", "x", "local_file.a", "update"), "a" * 50 + "b" * 50
        self.assertEqual([f"local_file.a: Still modifying... [id={'a' * 38}...{'b' * 39}, 1m0s elapsed]",
                          "local_file.a: Still modifying... [id=short, 1h0m10s elapsed]"],
                         [main.progress_line("apply_progress", entry, long, 60),
                          main.progress_line("apply_progress", entry, "short", 3610)])

    def test_the_time_of_a_step_is_the_difference_of_rounded_times(self) -> None:
        view, out = main.View(), io.StringIO()
        times = iter((10.49, 10.51))
        view.now = lambda: next(times)
        entry = main.Entry("start", "terraform_data.a", "terraform_data.a", "create")
        with contextlib.redirect_stdout(out):
            view.emit("apply_start", entry=entry, instance=Instance("terraform_data", {"id": "i"}))
            view.emit("apply_complete", entry=entry, instance=Instance("terraform_data", {"id": "i"}))
        self.assertEqual("terraform_data.a: Creating...\nterraform_data.a: Creation complete after 1s [id=i]\n", out.getvalue())


class PartialApply(InDirectory):
    """A failure skips what waits for it; the rest is done and recorded, and the next apply goes on."""

    STACK = {**files(bad=file("bad"), after=file("after", depends_on=["local_file.bad"]), other=file("other")),
             "output": {"known": {"value": "k"}, "path": {"value": "${local_file.bad.filename}"},
                        "unknown": {"value": "${local_file.bad.id}"}}}

    def test_what_is_independent_is_done_and_in_the_state(self) -> None:
        ended = self.apply(self.STACK, provider=Flaky(create="bad"))
        self.assertEqual((1, {"other": ""}, {"other.txt": "other"}), (ended.status, self.objects(), self.files()))
        self.assertNotIn("Apply complete!", ended.stdout)

    def test_the_error_comes_with_its_place_and_what_became_of_the_steps(self) -> None:
        ended = self.apply(self.STACK, provider=Flaky(create="bad"))
        self.assertEqual("""
Error: Create broke

  with local_file.bad,
  on main.tf.json line 4, in resource.local_file:
   4:       "bad": {


The run did not complete: 1 completed, 1 failed, 1 skipped.
  completed: local_file.other
  failed: local_file.bad
  skipped: local_file.after (because local_file.bad failed)
What was done is in the state; run the same command again to go on.
""", ended.stderr)

    def test_outputs_that_can_be_evaluated_are_stored(self) -> None:
        self.apply(self.STACK, provider=Flaky(create="bad"))
        self.assertEqual({"known": "k", "path": "./bad.txt"}, {name: item.value for name, item in self.state().outputs.items()})

    def test_the_next_apply_does_the_rest(self) -> None:
        self.apply(self.STACK, provider=Flaky(create="bad"))
        self.assertIn("Resources: 2 added, 0 changed, 0 destroyed.", self.apply().stdout)

    def test_a_failed_destroy_keeps_the_object_and_what_it_needs_and_drops_the_outputs(self) -> None:
        self.apply(self.STACK)
        with mock.patch.dict(main.PROVIDERS, {"local_file": Flaky(delete="after")}):
            ended = self.run_main("destroy")
        self.assertEqual((1, {"after": "", "bad": ""}, {}), (ended.status, self.objects(), self.state().outputs))
        self.assertRegex(ended.stderr, r"\A\nError: Delete broke\n")
        self.assertNotIn("on main.tf.json", ended.stderr)

    def test_a_destroy_first_replacement_whose_create_fails_is_created_next(self) -> None:
        self.apply(files(a=file("one")))
        self.assertEqual(1, self.apply(files(a=file("two")), provider=Flaky(create="two")).status)
        self.assertEqual(({}, {}), (self.objects(), self.files()))
        self.assertIn("1 added, 0 changed, 0 destroyed.", self.apply().stdout)


class Tainted(InDirectory):

    def test_a_create_that_fails_and_leaves_an_object_taints_it(self) -> None:
        self.apply(files(a=file("one"), b=file("b", depends_on=["local_file.a"])), provider=Flaky(create="one", made=True))
        self.assertEqual({"a": "tainted"}, self.objects())

    def test_it_is_replaced_by_the_next_apply(self) -> None:
        self.apply(files(a=file("one")), provider=Flaky(create="one", made=True))
        ended = self.apply()
        self.assertIn("local_file.a is tainted, so it must be replaced\n", ended.stdout)
        self.assertEqual((0, {"a": ""}), (ended.status, self.objects()))

    def test_a_failed_create_first_replacement_that_leaves_an_object_keeps_both(self) -> None:
        self.apply(files(a=file("one", lifecycle=FIRST)))
        self.apply(files(a=file("two", lifecycle=FIRST)), provider=Flaky(create="two", made=True))
        self.assertEqual({"a": "tainted+deposed"}, self.objects())
        self.assertIn("Plan: 1 to add, 0 to change, 2 to destroy.", self.run_main("plan").stdout)
        self.assertEqual((0, {"a": ""}, {"two.txt": "two"}), (self.apply().status, self.objects(), self.files()))


class Deposed(InDirectory):
    """A create_before_destroy replacement survives a failure."""

    def stack(self, content: str) -> Stack:
        """Return a file that is created first and one that points at it."""
        return {"resource": {"local_file": {"v": file(content, lifecycle=FIRST)},
                             "terraform_data": {"p": {"input": "${local_file.v.filename}"}}}}

    def test_an_old_object_whose_destroy_fails_stays_deposed(self) -> None:
        self.apply(self.stack("one"))
        ended = self.apply(self.stack("two"), provider=Flaky(delete="one"))
        self.assertEqual((1, {"v": "+deposed", "p": ""}, {"one.txt": "one", "two.txt": "two"}),
                         (ended.status, self.objects(), self.files()))

    def test_the_next_apply_removes_it_and_leaves_the_state_clean(self) -> None:
        self.apply(self.stack("one"))
        self.apply(self.stack("two"), provider=Flaky(delete="one"))
        key, = self.state().deposed["local_file.v"]
        ended = self.apply()
        self.assertIn(f"  # local_file.v (deposed object {key}) will be destroyed\n"
                      "  # (left over from a partially-failed replacement of this instance)\n", ended.stdout)
        self.assertEqual((["local_file.v (deposed object KEY): Destroying... [id=ID]",
                           "local_file.v: Destruction complete after 0s"], {"v": "", "p": ""}, {"two.txt": "two"}),
                         (ended.log, self.objects(), self.files()))

    def test_one_that_fails_again_keeps_its_key(self) -> None:
        self.apply(self.stack("one"))
        self.apply(self.stack("two"), provider=Flaky(delete="one"))
        before = self.state().deposed
        self.apply(provider=Flaky(delete="one"))
        self.assertEqual(list(before["local_file.v"]), list(self.state().deposed["local_file.v"]))

    def test_a_create_that_fails_makes_the_old_object_current_again(self) -> None:
        self.apply(self.stack("one"))
        before = self.state().objects["local_file.v"]
        ended = self.apply(self.stack("two"), provider=Flaky(create="two"))
        self.assertEqual((1, {"v": "", "p": ""}, before), (ended.status, self.objects(), self.state().objects["local_file.v"]))

    def test_a_destroy_takes_both_objects(self) -> None:
        self.apply(self.stack("one"))
        self.apply(self.stack("two"), provider=Flaky(delete="one"))
        ended = self.run_main("destroy")
        self.assertEqual((0, {}, {}), (ended.status, self.objects(), self.files()))
        self.assertIn("Destroy complete! Resources: 3 destroyed.", ended.stdout)

    def test_the_file_that_both_objects_are_stays(self) -> None:
        """The real provider would delete the new file: both have one name."""
        self.apply(files(a=file("one", "same", lifecycle=FIRST)))
        self.assertEqual(0, self.apply(files(a=file("two", "same", lifecycle=FIRST))).status)
        self.assertEqual(({"a": ""}, {"same.txt": "two"}), (self.objects(), self.files()))

    def test_it_stays_even_with_the_same_content(self) -> None:
        self.apply(files(a=file("one", "same", lifecycle=FIRST)))
        self.apply(None, "-replace=local_file.a")
        self.assertEqual({"same.txt": "one"}, self.files())


class Dawdling(LocalFile):
    """A local_file whose delete gives a create the time to come in between."""

    def __init__(self) -> None:
        self.created = threading.Event()

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Create, and say so."""
        made = super().create(planned, runtime)
        self.created.set()
        return made

    def delete(self, prior: Attributes, runtime: Runtime) -> None:
        """Delete a little later."""
        self.created.wait(0.1)
        super().delete(prior, runtime)


class OneFileOfSeveralObjects(InDirectory):
    """A file stays as long as one object owns it, whatever steps run at once, and goes with the last one."""

    def modes(self) -> Dict[str, str]:
        """Return the permissions of the files."""
        return {name: oct(os.stat(os.path.join(self.directory, name)).st_mode & 0o777) for name in self.files()}

    def test_an_object_that_takes_over_the_file_of_another_has_it_in_the_end(self) -> None:
        for before, after in (({"a": ("one", "x")}, {"b": ("one", "x")}), ({"b": ("one", "x")}, {"a": ("two", "x")}),
                              ({"a": ("one", "x"), "b": ("two", "y")}, {"a": ("one", "y"), "b": ("two", "x")})):
            for stack in (before, after):
                ended = self.apply(files(**{name: file(*given) for name, given in stack.items()}), provider=Dawdling())
                self.assertEqual((0, {f"{name}.txt": content for content, name in stack.values()}), (ended.status, self.files()))
                self.assertIn("No changes.", self.run_main("plan").stdout)
            self.run_main("destroy")

    def test_the_last_destroy_removes_it(self) -> None:
        self.apply(files(a=file("one", "same"), b=file("one", "same")))
        self.run_main("destroy", "-target=local_file.a")
        self.assertEqual(({"b": ""}, {"same.txt": "one"}), (self.objects(), self.files()))
        self.apply()
        self.run_main("destroy")
        self.assertEqual(({}, {}), (self.objects(), self.files()))

    def test_a_destroy_that_failed_still_owns_it(self) -> None:
        self.apply(files(a=file("one", "same"), b=file("one", "same")))
        write(self.directory, "main.tf.json", {})
        ended = self.apply(provider=Flaky(delete="one"))
        self.assertEqual((1, 1, {"same.txt": "one"}), (ended.status, len(self.objects()), self.files()))

    def test_one_made_before_the_old_one_goes_has_its_own_permissions(self) -> None:
        for mode in ("0644", "0600"):
            self.apply(files(a=file("one", "same", file_permission=mode, lifecycle=FIRST)))
        self.assertEqual({"same.txt": "0o600"}, self.modes())
        self.assertIn("No changes.", self.run_main("plan").stdout)


class UpdateThatIsNone(InDirectory):
    """An update planned for an unknown that turns out to change nothing leaves no line and no count."""

    def test_it_is_neither_told_nor_counted(self) -> None:
        def stack(filename: str) -> Stack:
            return {"resource": {"local_file": {"f": file("x", filename)},
                                 "terraform_data": {"d": {"input": "${local_file.f.id}"}}}}
        self.apply(stack("one"))
        before = self.state().objects["terraform_data.d"]
        ended = self.apply(stack("two"))
        self.assertIn("Plan: 1 to add, 1 to change, 1 to destroy.", ended.stdout)
        self.assertIn("\nApply complete! Resources: 1 added, 0 changed, 1 destroyed.\n", ended.stdout)
        self.assertEqual((4, before), (len(ended.log), self.state().objects["terraform_data.d"]))

    def test_it_keeps_recorded_dependencies_and_adds_configured_ones(self) -> None:
        def stack(filename: str, other: str) -> Stack:
            return {"resource": {"local_file": {"f": file("x", filename)}, "terraform_data": {
                "a": {}, "b": {}, "d": {"input": "${local_file.f.id}", "depends_on": [f"terraform_data.{other}"]}}}}
        self.apply(stack("one", "a"))
        self.apply(stack("two", "b"))
        self.assertEqual(("local_file.f", "terraform_data.a", "terraform_data.b"),
                         self.state().objects["terraform_data.d"].dependencies)

    def test_it_records_create_before_destroy_as_configured(self) -> None:
        def stack(filename: str, **lifecycle: Any) -> Stack:
            return {"resource": {"local_file": {"f": file("x", filename)},
                                 "terraform_data": {"d": {"input": "${local_file.f.id}", **lifecycle}}}}
        self.apply(stack("one"))
        self.apply(stack("two", lifecycle=FIRST))
        self.assertTrue(self.state().objects["terraform_data.d"].create_before_destroy)
        self.apply(stack("three"))
        self.assertFalse(self.state().objects["terraform_data.d"].create_before_destroy)


class InstantSteps(InDirectory):
    """What only computes is done by the coordinator, between the calls that wait for the world."""

    def threads(self, kind: str, stack: Stack) -> Set[bool]:
        """Return of each create of a type whether it ran in the main thread."""
        provider, found = main.PROVIDERS[kind], set()
        real = provider.create

        def create(planned: Attributes, runtime: Runtime) -> Attributes:
            found.add(threading.current_thread() is threading.main_thread())
            return real(planned, runtime)
        with mock.patch.object(provider, "create", create):
            self.apply(stack)
        return found

    def test_terraform_data_needs_no_worker_and_a_file_does(self) -> None:
        self.assertEqual({True}, self.threads("terraform_data", data(a={}, b={})))
        self.assertEqual({False}, self.threads("local_file", files(a=file("one"), b=file("two"))))

    def test_their_ends_reach_the_disk_in_time_too(self) -> None:
        ended = mock.patch.object(threading.Thread, "is_alive", lambda thread: False)  # each sync waits for the one before
        with ended, mock.patch.object(main, "SYNC_EVERY", 0.0), mock.patch.object(main.Journal, "sync_beside") as beside:
            self.apply(data(a={}, b={}, c={}))
        self.assertGreaterEqual(beside.call_count, 3)

    def test_a_failure_fails_the_step_and_skips_what_needs_it(self) -> None:
        broken = mock.patch.object(main.PROVIDERS["terraform_data"], "create", side_effect=StepError("Create broke"))
        with broken:
            ended = self.apply(data(a={}, b={"input": "${terraform_data.a.id}"}))
        self.assertEqual(1, ended.status)
        self.assertIn("Error: Create broke", ended.stderr)
        self.assertIn("terraform_data.b", ended.stderr + ended.stdout)
        self.assertEqual(["terraform_data.a: Creating..."], ended.log)

    def test_a_bug_is_not_hidden(self) -> None:
        with mock.patch.object(main.PROVIDERS["terraform_data"], "create", side_effect=ZeroDivisionError):
            with self.assertRaises(ZeroDivisionError):
                self.apply(data(a={}))


class Values(InDirectory):
    """What was unknown in the plan is known when its step starts."""

    def test_computed_values_flow_through_locals_and_whole_objects(self) -> None:
        stack = {**data(a={"input": {"k": 1}}, b={"input": "${local.l}"}, c={"input": "${terraform_data.b.output.deep[0].id}"}),
                 "locals": {"l": {"deep": ["${terraform_data.a}"]}}, "output": {"o": {"value": "${terraform_data.c.output}"}}}
        self.apply(stack)
        state = self.state()
        self.assertEqual(state.objects["terraform_data.a"].attributes["id"], state.outputs["o"].value)
        self.assertIn("No changes.", self.run_main("plan").stdout)

    def test_a_wrong_value_that_only_shows_now_fails_its_step(self) -> None:
        ended = self.apply({"resource": {"terraform_data": {"a": {"input": "1x"}},
                                         "time_sleep": {"s": {"create_duration": "${terraform_data.a.output}"}}}})
        self.assertEqual((1, {"a": ""}), (ended.status, self.objects()))

    def test_dependencies_are_recorded_whole_and_sorted(self) -> None:
        self.apply({**data(c={"input": "${local.l}"}, b={"depends_on": ["terraform_data.a"]}, a={}),
                    "locals": {"l": "${terraform_data.b.id}"}})
        self.assertEqual(("terraform_data.a", "terraform_data.b"), self.state().objects["terraform_data.c"].dependencies)

    def test_the_flag_is_recorded_where_it_propagates_to_also_without_a_change(self) -> None:
        self.apply(data(a={}, b={"input": "${terraform_data.a.id}"}))
        self.assertIn("No changes.", self.apply(data(a={}, b={"input": "${terraform_data.a.id}", "lifecycle": FIRST})).stdout)
        self.assertEqual([True, True], [item.create_before_destroy for item in self.state().objects.values()])


class FilesLeftBehind(InDirectory):

    def names(self) -> List[str]:
        """Return the files of the directory, the configuration left out."""
        return sorted(name for name in os.listdir(self.directory) if name != "main.tf.json")

    def test_neither_journal_nor_lock_stays(self) -> None:
        self.apply(data(a={"input": 1}))
        self.apply(data(a={"input": 2}))
        self.assertEqual(["terraform.tfstate", "terraform.tfstate.backup"], self.names())

    def test_after_a_failure_neither_stays(self) -> None:
        self.apply(files(a=file("bad"), b=file("b")), provider=Flaky(create="bad"))
        self.assertEqual(["b.txt", "terraform.tfstate"], self.names())

    def test_while_steps_run_the_journal_and_the_lock_are_there(self) -> None:
        seen: List[List[str]] = []

        class Looking(LocalFile):
            def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
                """Look at the directory."""
                seen.append(sorted(os.listdir(runtime.directory)))
                return super().create(planned, runtime)
        self.apply(files(a=file("x")), provider=Looking())
        hidden = [f".terraform.tfstate.{suffix}" for suffix in ("journal", "lock.info")]
        self.assertEqual([[*hidden, "main.tf.json", "terraform.tfstate"]], seen)

    def test_the_lock_is_released(self) -> None:
        """POSIX locks belong to the process, so another one has to try."""
        self.apply(data(a={}))
        read, wrote = os.pipe()
        child = os.fork()
        if child == 0:
            free = b"n"
            with open(os.path.join(self.directory, "terraform.tfstate"), "r+b") as state, contextlib.suppress(OSError):
                fcntl.lockf(state, fcntl.LOCK_EX | fcntl.LOCK_NB)
                free = b"y"
            os.write(wrote, free)
            os._exit(0)
        os.waitpid(child, 0)
        found = os.read(read, 1)
        os.close(read)
        os.close(wrote)
        self.assertEqual(b"y", found)

    def test_the_state_is_rewritten_in_place(self) -> None:
        self.apply(data(a={"input": 1}))
        before = os.stat(os.path.join(self.directory, "terraform.tfstate")).st_ino
        self.apply(data(a={"input": 2}))
        self.assertEqual(before, os.stat(os.path.join(self.directory, "terraform.tfstate")).st_ino)

    def test_an_apply_of_nothing_at_all_leaves_no_state(self) -> None:
        self.apply({"locals": {"x": 1}})
        self.assertEqual([], self.names())


class ProviderHost(InDirectory):
    """New objects get the registry host that is in use: of the state, else of the lock file, else the common one."""

    LOCK = 'provider "registry.opentofu.org/hashicorp/local" {\n}\n'
    TOFU = 'provider["registry.opentofu.org/hashicorp/local"]'

    def recorded(self) -> Dict[str, str]:
        """Return the provider of every object."""
        return {address.partition(".")[2]: item.provider for address, item in self.state().objects.items()}

    def test_without_a_hint_it_is_the_one_that_both_tools_take(self) -> None:
        self.apply(files(a=file("a")))
        self.assertEqual({"a": self.TOFU.replace("opentofu.org", "terraform.io")}, self.recorded())

    def test_the_lock_file_of_the_directory_decides(self) -> None:
        write(self.directory, ".terraform.lock.hcl", self.LOCK)
        self.apply(files(a=file("a")))
        self.assertEqual({"a": self.TOFU}, self.recorded())

    def test_what_the_state_has_wins(self) -> None:
        write(self.directory, ".terraform.lock.hcl", self.LOCK)
        self.apply(files(a=file("a")))
        write(self.directory, ".terraform.lock.hcl", self.LOCK.replace("opentofu.org", "terraform.io"))
        self.apply(files(a=file("a2"), b=file("b")))
        self.assertEqual({"a": self.TOFU, "b": self.TOFU}, self.recorded())

    def test_a_deposed_or_foreign_object_counts_as_well(self) -> None:
        item = Instance("local_file", {}, provider=self.TOFU)
        deposed, foreign = State(), State()
        deposed.deposed = {"local_file.a": {"0a1b2c3d": item}}
        foreign.foreign = [{"provider": 'module.m.provider["terraform.io/builtin/terraform"]'}, {"provider": self.TOFU}]
        self.assertEqual(["registry.opentofu.org"] * 2,
                         [main.provider_host(state, self.directory) for state in (deposed, foreign)])

    def test_the_one_that_is_built_in_has_no_registry(self) -> None:
        write(self.directory, ".terraform.lock.hcl", self.LOCK)
        self.apply(data(a={}))
        self.assertEqual({"a": 'provider["terraform.io/builtin/terraform"]'}, self.recorded())

    def test_a_saved_plan_keeps_to_it(self) -> None:
        write(self.directory, ".terraform.lock.hcl", self.LOCK)
        write(self.directory, "main.tf.json", files(a=file("a")))
        self.run_main("plan", "-out=p")
        self.assertEqual((0, {"a": self.TOFU}), (self.run_main("apply", "p").status, self.recorded()))


class SavedPlan(InDirectory):

    def saved(self, stack: Stack) -> None:
        """Save the plan for a stack."""
        write(self.directory, "main.tf.json", stack)
        self.assertEqual(0, self.run_main("plan", "-out=p").status)

    def test_it_is_carried_out_though_the_configuration_changed_or_went(self) -> None:
        self.saved(data(a={"input": 1}))
        os.unlink(os.path.join(self.directory, "main.tf.json"))
        self.assertEqual((0, {"a": ""}), (self.run_main("apply", "p").status, self.objects()))

    def test_it_is_refused_once_the_state_moved_on(self) -> None:
        self.apply(data(a={"input": 1}))
        self.saved(data(a={"input": 2}))
        self.apply(data(a={"input": 3}))
        ended = self.run_main("apply", "p")
        self.assertEqual((1, 3), (ended.status, self.state().objects["terraform_data.a"].attributes["input"]))
        self.assertIn("Error: Saved plan is stale\n", ended.stderr)

    def test_unknowns_create_first_and_destroys_survive_the_file(self) -> None:
        self.apply(data(a={"triggers_replace": 1, "lifecycle": FIRST}, gone={}, b={"input": "${terraform_data.a.id}"}))
        self.saved(data(a={"triggers_replace": 2, "lifecycle": FIRST}, b={"input": "${terraform_data.a.id}"}))
        ended = self.run_main("apply", "p")
        self.assertIn("Resources: 1 added, 1 changed, 2 destroyed.", ended.stdout)
        self.assertIn("No changes.", self.run_main("plan").stdout)


class Bugs(InDirectory):
    """A bug in a provider keeps its traceback, and what was done is saved all the same."""

    def test_the_state_is_written_before_it_surfaces(self) -> None:
        class Broken(LocalFile):
            def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
                """Look for what is not there."""
                return dict(planned["a bug"])

        stack = {"resource": {"local_file": {"f": file("x", depends_on=["terraform_data.a"])}, "terraform_data": {"a": {}}}}
        with self.assertRaises(KeyError):
            self.apply(stack, provider=Broken())
        self.assertEqual({"a": ""}, self.objects())


if __name__ == "__main__":
    unittest.main()
