"""The commands as their user meets them: statuses, streams, options, wording, JSON. Run in process, but for two tests."""
from __future__ import annotations

import io
import json
import os
import re
import subprocess
import sys
import unittest
from typing import Any, Dict, List
from unittest import mock

from support import CODE, FIXTURES, InStack, failing, write

import main

DATA = "terraform_data"
UUID = r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}"
VALUES = {"text": "x", "repeat": "a.b", "int": "3", "duration": "1s"}


class Terminal(io.StringIO):
    """A stream that says that it is a terminal."""

    def isatty(self) -> bool:
        return True


class Small(InStack):
    """A stack of two objects, a and b that needs it, with one output."""

    def setUp(self) -> None:
        super().setUp()
        self.write_input("x")

    def write_input(self, value: Any, **rest: Any) -> None:
        """Write the stack with this input of a."""
        self.stack({DATA: {"a": {"input": value}, "b": {"input": f"${{{DATA}.a.id}}"}}},
                   output={"o": {"value": f"${{{DATA}.a.output}}"}}, **rest)

    def lines(self, *words: str) -> List[Dict[str, Any]]:
        """Run a command with -json and return its lines; stderr must stay empty."""
        ran = self.run_main(*words)
        self.assertEqual(ran.err, "")
        return [json.loads(line) for line in ran.out.splitlines()]

    def kinds(self, *words: str) -> List[str]:
        """Return the types of the lines of a command."""
        return [line["type"] for line in self.lines(*words)]


class ExitStatus(Small):
    def test_detailed_exitcode_tells_of_changes_and_nothing_else_does(self) -> None:
        self.assertEqual(self.run_main("plan").status, 0)
        self.assertEqual(self.run_main("plan", "-detailed-exitcode").status, 2)
        self.done("apply")
        self.assertEqual(self.run_main("plan", "-detailed-exitcode").status, 0)
        self.assertEqual(self.run_main("plan", "-destroy", "-detailed-exitcode").status, 2)

    def test_a_change_of_outputs_alone_is_a_change(self) -> None:
        self.done("apply")
        self.stack({DATA: {"a": {"input": "x"}, "b": {"input": f"${{{DATA}.a.id}}"}}})
        ran = self.run_main("plan", "-detailed-exitcode")
        self.assertEqual((ran.status, "You can apply this plan to save these new output values" in ran.out), (2, True))

    def test_drift_is_a_change_of_a_refresh_only_plan(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "content": "f"}}})
        self.done("apply")
        self.assertEqual(self.run_main("plan", "-refresh-only", "-detailed-exitcode").status, 0)
        os.unlink(self.path("f"))
        self.assertEqual(self.run_main("plan", "-refresh-only", "-detailed-exitcode").status, 2)

    def test_every_error_is_a_one(self) -> None:
        write(self.directory, "broken", "{")
        for words in ("plan -nope", "plan extra", "nope", "apply nofile", "destroy p", "output -json nope", "state show a.b",
                      "state",
                      "state list", "plan -target=x", "plan -parallelism=-1", "show nofile", "show broken", "validate nodir",
                      "taint a.b", "plan -out=no/p", "plan -state=no/s", "graph -type=x", "order -type=x", "state rm",
                      "output x y"):
            with self.subTest(words=words):
                ran = self.run_main(*words.split())
                self.assertEqual((ran.status, ran.err.startswith("\nError: ")), (1, True), ran)

    def test_a_directory_without_configuration_cannot_be_planned_but_destroyed(self) -> None:
        self.done("apply")
        os.unlink(self.path("main.tf.json"))
        self.assertIn("Error: No configuration files\n", self.refused("plan"))
        self.assertIn("Error: No configuration files\n", self.refused("apply"))
        self.assertIn("Destroy complete! Resources: 2 destroyed.\n", self.done("destroy"))


class Streams(Small):
    def test_results_go_to_stdout_and_errors_to_stderr(self) -> None:
        for words in ("plan", "apply", "plan", "show", "output", "state list", "order", "graph", "validate", "version"):
            with self.subTest(words=words):
                ran = self.run_main(*words.split())
                self.assertEqual((ran.status, bool(ran.out), ran.err), (0, True, ""))
        with failing(DATA, "delete"):
            ran = self.run_main("destroy")
        self.assertIn("Error: it broke", ran.err)
        self.assertNotIn("Error", ran.out)

    def test_warnings_go_to_stdout_behind_the_plan(self) -> None:
        out = self.done("plan", f"-target={DATA}.a")
        self.assertLess(out.index("Plan: 1 to add"), out.index("Warning: Resource targeting is in effect"))

    def test_apply_tells_its_warnings_between_the_steps_and_the_summary(self) -> None:
        out = self.done("apply", "-compact-warnings", f"-target={DATA}.a")
        self.assertIn("""

Warnings:

- Resource targeting is in effect
- Applied changes may be incomplete

To see the full warning notes, run minigraph without -compact-warnings.

Apply complete! Resources: 1 added, 0 changed, 0 destroyed.
""", re.sub(r".*Creation complete.*", "", out))
        self.assertEqual(self.kinds("apply", "-json", f"-target={DATA}.a")[-4:],
                         ["diagnostic", "diagnostic", "change_summary", "outputs"])

    def test_the_warnings_of_a_saved_plan_were_told_when_it_was_made(self) -> None:
        self.done("plan", "-out=p", f"-target={DATA}.a")
        out = self.done("apply", "p")
        self.assertEqual(re.findall("Warning: (.*)", out), ["Applied changes may be incomplete"])

    def test_nothing_is_coloured_where_no_terminal_is(self) -> None:
        self.assertNotIn("\x1b", self.done("plan") + self.refused("plan", "-target=x"))

    def test_no_color_and_its_variable_win_over_a_terminal(self) -> None:
        with mock.patch.object(self, "stream", Terminal):
            self.assertIn("\x1b[1m", self.done("plan"))
            self.assertNotIn("\x1b", self.done("plan", "-no-color"))
            with mock.patch.dict(os.environ, {"NO_COLOR": "1"}):
                self.assertNotIn("\x1b", self.done("plan"))


class OptionsOfCommands(Small):
    def test_every_option_of_every_command_has_both_spellings(self) -> None:
        for name, command in main.COMMANDS.items():
            given = ["a.b"] * command.least
            for option in command.options:
                flag, value = option.name, VALUES.get(option.kind, "")
                forms = [[f"-{flag}"], [f"--{flag}"]] if not value else [
                    [f"-{flag}={value}"], [f"--{flag}={value}"], [f"-{flag}", value], [f"--{flag}", value]]
                forms += [[f"-{flag}=true"], [f"--{flag}=1"]] if option.kind == "bool" else []
                with self.subTest(command=name, option=flag):
                    parsed = [main.parse_options(name, [*form, *given]) for form in forms]
                    self.assertEqual(parsed, parsed[:1] * len(parsed))
                    self.assertNotEqual(parsed[0][0][flag], [] if option.kind == "repeat" else None)

    def test_state_names_another_file_and_its_backup_stands_beside_it(self) -> None:
        self.done("apply", "-state=other")
        self.write_input("y")
        self.done("apply", "-state=other")
        self.assertEqual(sorted(os.listdir(self.directory)), ["main.tf.json", "other", "other.backup"])
        self.assertEqual(self.done("output", "-state=other", "o"), '"y"\n')
        self.assertEqual(self.done("state", "list", "-state=other"), f"{DATA}.a\n{DATA}.b\n")

    def test_each_state_rm_keeps_a_backup_of_its_own(self) -> None:
        self.done("apply")
        states = [self.state()]
        for name in ("b", "a"):
            self.done("state", "rm", f"{DATA}.{name}")
            states.append(self.state())
        kept = sorted(name for name in os.listdir(self.directory) if re.fullmatch(r"terraform\.tfstate\.\d+\.backup", name))
        self.assertEqual([self.state(name) for name in kept], states[:2])

    def test_backup_names_its_file_or_none(self) -> None:
        self.done("apply")
        before = self.state()
        self.write_input("y")
        self.done("apply", "-backup=kept")
        self.assertEqual(self.state("kept"), before)
        self.write_input("z")
        self.done("apply", "-backup=-")
        self.done("taint", "-backup=-", f"{DATA}.a")
        self.assertEqual(sorted(os.listdir(self.directory)), ["kept", "main.tf.json", "terraform.tfstate"])

    def test_a_run_that_changes_nothing_makes_no_backup(self) -> None:
        self.done("apply")
        self.done("apply")
        self.assertEqual(sorted(os.listdir(self.directory)), ["main.tf.json", "terraform.tfstate"])

    def test_state_out_takes_the_new_state_and_the_old_file_stays(self) -> None:
        self.done("apply")
        before = self.state()
        self.write_input("y")
        out = self.done("apply", "-state-out=new")
        self.assertIn("infrastructure, so keep it safe. To inspect the complete state\nuse the `minigraph show` command.\n\n"
                      "State path: new\n\nOutputs:\n", out)
        self.assertEqual((self.state(), self.state("new")["outputs"]["o"]["value"]), (before, "y"))
        self.done("taint", "-state=new", "-state-out=marked", f"{DATA}.a")
        self.done("destroy", "-state=new", "-state-out=gone")
        self.assertEqual((len(self.state("marked")["resources"]), self.state("gone")["resources"]), (2, []))

    def test_state_out_is_written_though_nothing_changed(self) -> None:
        self.done("apply")
        self.done("apply", "-state-out=copy")
        self.assertEqual(self.state("copy")["resources"], self.state()["resources"])

    def test_options_that_real_scripts_give_are_accepted(self) -> None:
        self.done("apply", "-auto-approve", "-input=false", "-lock=false", "-lock-timeout=5s", "-parallelism=1")
        self.done("plan", "-lock-timeout", "1m30s", "-input=0", "-parallelism=0")
        self.done("destroy", "--auto-approve", "--parallelism", "2")

    def test_compact_warnings_take_one_line_each(self) -> None:
        self.done("apply")
        out = self.done("plan", "-compact-warnings", f"-target={DATA}.a")
        self.assertTrue(out.endswith("""
Warnings:

- Resource targeting is in effect

To see the full warning notes, run minigraph without -compact-warnings.
"""), out)

    def test_modes_exclude_each_other_before_anything_is_read(self) -> None:
        os.unlink(self.path("main.tf.json"))
        for words, summary in (("-destroy -refresh-only", "Incompatible plan mode options"),
                               ("-refresh-only -refresh=false", "Incompatible refresh options"),
                               ("-destroy -replace=a.b", "Unsupported plan mode"),
                               ("-target=a.b -exclude=a.c", "Invalid combination of arguments")):
            with self.subTest(words=words):
                self.assertIn(f"\nError: {summary}\n", self.refused("plan", *words.split()))


class Chdir(Small):
    def test_everything_is_relative_to_the_directory(self) -> None:
        files = {"f": {"filename": "${path.module}/sub/f", "content": "f"}, "g": {"filename": "g", "content": "g"}}
        self.stack({"local_file": files})
        before = os.listdir(".")
        self.done("plan", "-out=p", "-state=s")
        self.done("show", "p")
        self.done("graph", "-plan=p")
        self.done("apply", "-state=s", "-backup=b", "p")
        self.done("taint", "-state=s", "-backup=b", "local_file.f")
        self.done("show", "s")
        self.assertEqual(sorted(os.listdir(self.directory)), ["b", "g", "main.tf.json", "p", "s", "sub"])
        self.assertEqual(os.listdir("."), before)

    def test_a_relative_directory_works_as_an_absolute_one(self) -> None:
        """The default backup stood under the directory twice."""
        before = os.getcwd()
        self.addCleanup(os.chdir, before)
        os.chdir(os.path.dirname(self.directory))
        with mock.patch.object(self, "directory", os.path.basename(self.directory)):
            self.done("apply")
            self.write_input("y")
            self.done("apply")
            self.done("taint", f"{DATA}.a")
            self.assertEqual(sorted(os.listdir(self.directory)),
                             ["main.tf.json", "terraform.tfstate", "terraform.tfstate.backup"])

    def test_a_directory_that_is_not_there_is_an_error(self) -> None:
        with mock.patch.object(self, "directory", "/nonexistent"):
            self.assertEqual(self.refused("plan"), "\nError: Error handling -chdir option\n\n"
                             "chdir /nonexistent: no such file or directory\n")


class Environment(Small):
    def test_words_for_every_command_and_for_one_come_before_those_given(self) -> None:
        with mock.patch.dict(os.environ, {"TF_CLI_ARGS": "-no-color", "TF_CLI_ARGS_plan": "-detailed-exitcode -out='a plan'"}):
            self.assertEqual(self.run_main("plan").status, 2)
            self.assertEqual(self.run_main("plan", "-detailed-exitcode=false").status, 0)
            self.done("apply")
        self.assertIn("a plan", os.listdir(self.directory))

    def test_a_command_of_two_words_has_its_own(self) -> None:
        self.done("apply", "-state=s")
        with mock.patch.dict(os.environ, {"TF_CLI_ARGS_state_list": "-state=s"}):
            self.assertEqual(self.done("state", "list"), f"{DATA}.a\n{DATA}.b\n")

    def test_a_plan_of_nothing_has_no_next_step(self) -> None:
        self.done("apply")
        out = self.done("plan", "-out=p")
        self.assertTrue(out.endswith("\nNo changes. Your infrastructure matches the configuration.\n"), out)
        self.assertIn("Resources: 0 added, 0 changed, 0 destroyed.", self.done("apply", "p"))

    def test_automation_drops_the_hints_what_to_do_next(self) -> None:
        self.assertIn("Note: You didn't use the -out option", self.done("plan"))
        self.assertIn('\n    minigraph apply "p"\n', self.done("plan", "-out=p"))
        with mock.patch.dict(os.environ, {"TF_IN_AUTOMATION": "1"}):
            for words in (["plan"], ["plan", "-out=p"]):
                self.assertTrue(self.done(*words).endswith("Changes to Outputs:\n  + o = (known after apply)\n"))


class Workspaces(Small):
    """Only the default workspace is known: with another one selected the state would be the wrong one."""

    def test_a_selected_workspace_is_refused_by_whatever_selects_it(self) -> None:
        for command in ("plan", "apply", "destroy", "show", "state list", "output", "graph"):
            with mock.patch.dict(os.environ, TF_WORKSPACE="dev"):
                self.assertIn('Error: Workspace "dev" is selected\n', self.refused(*command.split()), command)
        os.mkdir(self.path(".terraform"))
        write(self.directory, ".terraform/environment", "dev")
        self.assertIn('"terraform workspace select"', self.refused("destroy"))
        self.assertFalse(os.path.exists(self.path("terraform.tfstate")))

    def test_the_default_one_and_a_state_by_name_are_fine(self) -> None:
        os.mkdir(self.path(".terraform"))
        write(self.directory, ".terraform/environment", "default\n")
        self.done("apply")
        write(self.directory, ".terraform/environment", "dev")
        self.done("plan", "-state=terraform.tfstate")
        with mock.patch.dict(os.environ, TF_WORKSPACE="default"):
            self.done("plan")


class ObjectsOfOthers(Small):
    """What minigraph does not work on stays in the state, is listed, and nothing is made beside it."""

    def setUp(self) -> None:
        super().setUp()
        keyed = {"mode": "managed", "type": "terraform_data", "name": "k", "provider": "p", "instances": [
            {"index_key": key, "schema_version": 0, "attributes": {"id": f"i{key}"}} for key in (0, "x")]}
        other = {"module": "module.m", "mode": "data", "type": "aws_x", "name": "y", "provider": "p", "instances": [
            {"schema_version": 0, "attributes": {}}]}
        write(self.directory, "terraform.tfstate", {"version": 4, "terraform_version": "1.11.4", "serial": 1, "lineage": "l",
                                                    "outputs": {}, "resources": [keyed, other], "check_results": None})
        self.stack({"terraform_data": {"a": {}}})

    def test_state_list_and_show_know_them(self) -> None:
        listed = ["terraform_data.k[0]", 'terraform_data.k["x"]', "module.m.data.aws_x.y"]
        self.assertEqual(self.done("state", "list").splitlines(), listed)
        self.assertEqual(self.done("show").split("\n")[1::2], [
            f"# {address}: left out, minigraph does not work on it" for address in listed])
        self.done("apply")
        self.assertEqual(self.done("state", "list").splitlines(), ["terraform_data.a", *listed])

    def test_a_resource_whose_objects_have_keys_is_refused(self) -> None:
        self.stack({"terraform_data": {"k": {}}})
        error = self.refused("apply")
        self.assertIn('Error: Instances with keys in the state\n\n  with terraform_data.k,\n  on main.tf.json line 4', error)
        self.assertIn('terraform_data.k[0], terraform_data.k["x"]', " ".join(error.split()))
        self.assertEqual(self.state()["serial"], 1)
        self.done("destroy")


class Help(InStack):
    def test_every_command_explains_itself_on_stdout_with_its_exit_statuses(self) -> None:
        for name, command in main.COMMANDS.items():
            for words in ([*name.split(), "-help"], ["-help", *name.split()], [*name.split(), "--help"], [*name.split(), "-h"]):
                with self.subTest(words=words):
                    ran = self.run_main(*words)
                    self.assertEqual((ran.status, ran.err), (0, ""))
                    self.assertTrue(ran.out.startswith(f"Usage: minigraph [global options] {name} [options]"))
                    self.assertIn("\nExit status:\n" + "".join(f"  {status}\n" for status in command.exits), ran.out)

    def test_the_bare_program_shows_the_help_and_fails(self) -> None:
        self.assertEqual((self.run_main().status, self.run_main("-help").status), (1, 0))
        self.assertEqual(self.run_main().out, self.run_main("-help").out)

    def test_near_misses_get_the_name_that_was_meant(self) -> None:
        for words, meant in (("plna", "plan"), ("aply", "apply"), ("stat list", "state"), ("state lst", "list"),
                             ("plan -targt=a.b", "-target"), ("destroy --autoapprove", "-auto-approve"),
                             ("plan -no-colour", "-no-color"), ("apply -paralelism=2", "-parallelism")):
            with self.subTest(words=words):
                self.assertIn(f'Did you mean "{meant}"?', self.refused(*words.split()))

    def test_commands_of_the_real_tools_get_what_to_do_instead(self) -> None:
        self.assertIn("There is nothing to install", self.refused("init"))
        self.assertIn("Use minigraph apply -refresh-only.", self.refused("refresh"))

    def test_an_unknown_flag_is_refused_whole(self) -> None:
        self.assertEqual(self.refused("plan", "-nope"), """
Error: Failed to parse command-line options

flag provided but not defined: -nope

For more help on using this command, run:
  minigraph plan -help
""")


class JsonLines(Small):
    REFRESH = ["refresh_start", "refresh_complete"] * 2

    def test_a_plan_has_its_changes_a_summary_and_the_outputs(self) -> None:
        self.assertEqual(self.kinds("plan", "-json"),
                         ["version", "planned_change", "planned_change", "change_summary", "outputs"])

    def test_outputs_are_listed_though_they_stay_as_they_are(self) -> None:
        self.done("apply")
        lines = self.lines("plan", "-json")
        self.assertEqual([line["type"] for line in lines], ["version", *self.REFRESH, "change_summary", "outputs"])
        self.assertEqual(lines[-1]["outputs"], {"o": {"sensitive": False, "action": "noop"}})

    def test_apply_adds_the_steps_the_summary_and_the_values(self) -> None:
        lines = self.lines("apply", "-json")
        self.assertEqual([line["type"] for line in lines], [
            "version", "planned_change", "planned_change", "change_summary", "outputs", "apply_start", "apply_complete",
            "apply_start", "apply_complete", "change_summary", "outputs"])
        self.assertEqual(lines[-2]["changes"], {"add": 2, "change": 0, "import": 0, "remove": 0, "operation": "apply"})
        self.assertEqual(lines[-1]["outputs"], {"o": {"sensitive": False, "type": "string", "value": "x"}})

    def test_destroy_ends_with_its_summary(self) -> None:
        self.done("apply")
        self.assertEqual(self.kinds("destroy", "-json"), [
            "version", *self.REFRESH, "planned_change", "planned_change", "change_summary", "outputs", "apply_start",
            "apply_complete", "apply_start", "apply_complete", "change_summary"])

    def test_a_saved_plan_shows_its_changes_again(self) -> None:
        self.done("plan", "-out=p")
        self.assertEqual(self.kinds("apply", "-json", "p"), [
            "version", "planned_change", "planned_change", "apply_start", "apply_complete", "apply_start", "apply_complete",
            "change_summary", "outputs"])

    def test_a_plan_with_errors_shows_what_could_be_planned_its_summary_and_the_errors(self) -> None:
        self.stack({DATA: {"good": {"input": {"x": 1}}, "bad": {"input": f"${{{DATA}.good.input.zz}}"}}})
        lines = self.lines("plan", "-json")
        self.assertEqual([line["type"] for line in lines], ["version", "planned_change", "change_summary", "diagnostic"])
        self.assertEqual(lines[-1]["diagnostic"]["summary"], "Unsupported attribute")

    def test_warnings_come_behind_the_summary(self) -> None:
        self.assertEqual(self.kinds("plan", "-json", f"-target={DATA}.a"),
                         ["version", "planned_change", "change_summary", "outputs", "diagnostic"])

    def test_a_failed_step_has_an_errored_line_and_a_diagnostic(self) -> None:
        with failing(DATA, "create"):
            lines = self.lines("apply", "-json")
        self.assertEqual([line["type"] for line in lines[-3:]], ["apply_start", "apply_errored", "diagnostic"])
        self.assertEqual((lines[-1]["@level"], lines[-1]["@message"]), ("error", "Error: it broke"))

    def test_every_refusal_is_a_line_behind_the_version(self) -> None:
        write(self.directory, "broken.tf.json", "{")
        for words in ("plan -json -nope", "plan -json -target=x", "plan -json extra", "apply -json nofile", "destroy -json p",
                      "plan -json", "apply -json -state=no/s", "plan -json -parallelism=x"):
            with self.subTest(words=words):
                self.assertEqual(set(self.kinds(*words.split())), {"version", "diagnostic"})
                self.assertEqual(self.run_main(*words.split()).status, 1)

    def test_commands_that_print_a_document_refuse_in_words(self) -> None:
        for words in ("validate -json -nope", "show -json a b", "output -json a b"):
            ran = self.run_main(*words.split())
            self.assertEqual((ran.status, ran.out, ran.err.startswith("\nError: ")), (1, "", True))

    def test_the_first_line_names_the_tool(self) -> None:
        first = self.lines("plan", "-json")[0]
        self.assertEqual(list(first), ["@level", "@message", "@module", "@timestamp", "minigraph", "type", "ui"])
        self.assertRegex(first["@timestamp"], r"^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}Z$")

    def test_deposed_objects_and_drift_have_lines(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "content": "f"}}})
        self.done("apply")
        os.unlink(self.path("f"))
        self.assertEqual(self.kinds("plan", "-json"), ["version", "refresh_start", "refresh_complete", "resource_drift",
                                                       "planned_change", "change_summary"])


class Validate(Small):
    def test_a_valid_configuration_has_an_empty_document(self) -> None:
        self.assertEqual(json.loads(self.done("validate", "-json")), {
            "format_version": "1.0", "valid": True, "error_count": 0, "warning_count": 0, "diagnostics": []})

    def test_errors_are_in_the_document_with_their_place(self) -> None:
        self.stack({DATA: {"a": {"inptu": 1}}})
        ran = self.run_main("validate", "-json")
        found = json.loads(ran.out)
        self.assertEqual((ran.status, ran.err, found["valid"], found["error_count"]), (1, "", False, 1))
        item = found["diagnostics"][0]
        self.assertEqual((item["severity"], item["detail"]),
                         ("error", 'An argument named "inptu" is not expected here. Did you mean "input"?'))
        self.assertEqual(item["range"]["start"]["line"], 5)
        self.assertEqual(item["snippet"]["code"].strip(), '"inptu": 1')

    def test_a_text_that_is_no_json_and_a_loop_are_in_it_too(self) -> None:
        for content, summary in (("{", None), ({"locals": {"a": "${local.b}", "b": "${local.a}"}}, "Cycle: ")):
            write(self.directory, "main.tf.json", content)
            found = json.loads(self.run_main("validate", "-json").out)
            self.assertEqual(found["error_count"], len(found["diagnostics"]))
            self.assertIn(summary or "", found["diagnostics"][0]["summary"])

    def test_a_directory_may_be_named(self) -> None:
        os.mkdir(self.path("inner"))
        write(self.path("inner"), "main.tf.json", {"resource": {DATA: {"a": {"inptu": 1}}}})
        self.done("validate")
        self.refused("validate", "inner")


class Looking(Small):
    def test_without_a_state_show_says_so_and_state_list_fails(self) -> None:
        self.assertEqual(self.done("show"), "No state.\n")
        self.assertEqual(self.done("show", "-json"), '{"format_version":"1.0"}\n')
        self.assertIn("\nError: No state file was found!\n", self.refused("state", "list"))

    def test_show_prints_every_object_and_the_outputs(self) -> None:
        self.done("apply")
        shown = re.sub(UUID, "UUID", self.done("show"))
        self.assertEqual(shown, """# terraform_data.a:
resource "terraform_data" "a" {
    id     = "UUID"
    input  = "x"
    output = "x"
}

# terraform_data.b:
resource "terraform_data" "b" {
    id     = "UUID"
    input  = "UUID"
    output = "UUID"
}


Outputs:

o = "x"
""")

    def test_show_json_has_the_state_in_the_real_shape(self) -> None:
        self.done("apply")
        found = json.loads(self.done("show", "-json"))
        self.assertEqual(list(found), ["format_version", "terraform_version", "values"])
        self.assertEqual([item["address"] for item in found["values"]["root_module"]["resources"]], [f"{DATA}.a", f"{DATA}.b"])
        self.assertEqual(found["values"]["root_module"]["resources"][1]["depends_on"], [f"{DATA}.a"])

    def test_output_shows_all_one_raw_and_as_json(self) -> None:
        self.stack({DATA: {"a": {}}}, output={"s": {"value": "a\"b"}, "n": {"value": 1.50}, "t": {"value": True},
                                              "l": {"value": [1, "x"]}, "null": {"value": None}})
        self.done("apply")
        self.assertEqual(self.done("output"), 'l = [\n  1,\n  "x",\n]\nn = 1.5\ns = "a\\"b"\nt = true\n')
        self.assertEqual(self.done("output", "s"), '"a\\"b"\n')
        self.assertEqual([self.done("output", "-raw", name) for name in "snt"], ['a"b', "1.5", "true"])
        self.assertEqual(self.done("output", "-json", "l"), '[1,"x"]\n')
        self.assertEqual(json.loads(self.done("output", "-json"))["l"],
                         {"sensitive": False, "type": ["tuple", ["number", "string"]], "value": [1, "x"]})
        self.assertIn("Error: Unsupported value for raw output", self.refused("output", "-raw", "l"))
        self.assertIn('Error: Output "null" not found', self.refused("output", "null"))

    def test_an_output_that_is_not_there_gets_the_nearest_name(self) -> None:
        self.stack({DATA: {"a": {}}}, output={"release": {"value": "x"}})
        self.done("apply")
        self.assertIn('Did you mean "release"?', " ".join(self.refused("output", "relaese").split()))

    def test_no_outputs_is_a_warning(self) -> None:
        ran = self.run_main("output")
        self.assertEqual((ran.status, ran.err), (0, ""))
        self.assertIn("Warning: No outputs found", ran.out)
        for words in (["o"], ["-raw", "o"]):
            self.assertIn("Warning: No outputs found", self.done("output", *words))
        self.refused("output", "-json", "o")
        self.assertEqual(self.done("output", "-json"), "{}\n")

    def test_state_list_takes_addresses_and_refuses_unknown_ones(self) -> None:
        self.done("apply")
        self.assertEqual(self.done("state", "list"), f"{DATA}.a\n{DATA}.b\n")
        self.assertEqual(self.done("state", "list", f"{DATA}.b"), f"{DATA}.b\n")
        self.assertIn(f'Did you mean "{DATA}.a"?', " ".join(self.refused("state", "list", f"{DATA}.aa").split()))

    def test_state_show_prints_one_object(self) -> None:
        self.done("apply")
        self.assertTrue(self.done("state", "show", f"{DATA}.a").startswith(f'# {DATA}.a:\nresource "{DATA}" "a" {{\n'))
        self.assertIn("Error: No such object in the state", self.refused("state", "show", f"{DATA}.zz"))

    def test_state_rm_forgets_without_destroying(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "content": "f"}}})
        self.done("apply")
        self.assertEqual(self.done("state", "rm", "-dry-run", "local_file.f"), "Would remove local_file.f\n")
        serial = self.state()["serial"]
        self.assertEqual(self.done("state", "rm", "local_file.f"),
                         "Removed local_file.f\nSuccessfully removed 1 resource instance(s).\n")
        self.assertEqual((self.objects(), self.state()["serial"], os.path.exists(self.path("f"))), ({}, serial + 1, True))
        self.refused("state", "rm", "local_file.f")

    def test_taint_marks_and_untaint_takes_the_mark_off(self) -> None:
        self.done("apply")
        self.assertEqual(self.done("taint", f"{DATA}.a"), f"Resource instance {DATA}.a has been marked as tainted.\n")
        self.assertIn(f"# {DATA}.a: (tainted)\n", self.done("show"))
        self.assertTrue(json.loads(self.done("show", "-json"))["values"]["root_module"]["resources"][0]["tainted"])
        self.assertIn(f"{DATA}.a is tainted, so it must be replaced", self.planned())
        self.assertEqual(self.done("untaint", f"resource.{DATA}.a"),
                         f"Resource instance {DATA}.a has been successfully untainted.\n")
        self.assertEqual(self.planned(), [])
        self.assertIn("Error: Resource instance is not tainted", self.refused("untaint", f"{DATA}.a"))
        self.assertIn("Error: No such object in the state", self.refused("taint", f"{DATA}.zz"))


class Sensitive(InStack):
    def test_a_sensitive_value_shows_only_where_it_is_asked_for(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "sensitive_content": "${local.secret}"}},
                    DATA: {"a": {"input": "${local_file.f.sensitive_content}"},
                           "b": {"input": {"in": ["${local_file.f.sensitive_content}!"]}}}},
                   locals={"secret": "xyzzy"}, output={"o": {"value": "${local_file.f.sensitive_content}", "sensitive": True}})
        asked = [["plan", "-out=p"], ["show", "p"], ["plan", "-json"], ["apply"], ["plan"], ["show"], ["output"],
                 ["state", "show", f"{DATA}.a"], ["plan", "-destroy"], ["apply", "-json", f"-replace={DATA}.a"], ["graph"]]
        for words in asked:
            with self.subTest(words=words):
                self.assertNotIn("xyzzy", self.done(*words))
        with open(self.path("main.tf.json"), encoding="utf-8") as file:
            text = file.read().replace("xyzzy", "plugh")
        write(self.directory, "main.tf.json", text)
        for words in (["plan"], ["apply"], ["destroy", "-json"]):
            self.assertFalse(re.search("xyzzy|plugh", self.done(*words)), words)
        self.done("apply")
        self.assertEqual(self.done("output", "-raw", "o"), "plugh")

    def test_an_output_of_a_sensitive_value_must_say_so(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "sensitive_content": "${local.secret}"}}},
                   locals={"secret": "xyzzy"}, output={"o": {"value": "${local_file.f.sensitive_content}"}})
        self.assertIn("Error: Output refers to sensitive values", self.refused("plan"))


class AsAProgram(unittest.TestCase):
    def test_it_runs_in_the_current_directory_with_its_status(self) -> None:
        command = [sys.executable, str(CODE / "main.py"), "plan", "-detailed-exitcode", "-lock=false", "-state=/dev/null"]
        found = subprocess.run(command, cwd=FIXTURES / "diamond", capture_output=True, text=True, check=False)
        self.assertEqual((found.returncode, found.stderr), (2, ""))
        self.assertRegex(found.stdout, r"\nPlan: \d+ to add, 0 to change, 0 to destroy\.\n")

    def test_a_reader_that_goes_away_ends_it_without_a_traceback(self) -> None:
        reading, writing = os.pipe()
        os.close(reading)
        command = [sys.executable, str(CODE / "main.py"), "-help"]
        found = subprocess.run(command, stdout=writing, stderr=subprocess.PIPE, check=False)
        os.close(writing)
        self.assertEqual((found.returncode, found.stderr), (141, b""))


if __name__ == "__main__":
    unittest.main()
