"""How words become commands and options, what is refused and how, and the layout of messages and help."""
from __future__ import annotations

import re
import shlex
import sys
import unittest
from pathlib import Path
from typing import Any, Dict, List, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import main  # noqa: E402
from main import COMMANDS, Diagnostic, Invocation, Place, UsageError  # noqa: E402


def parsed(line: str, **environ: str) -> Invocation:
    """Return what a command line asks for."""
    return main.parse_command_line(shlex.split(line), environ)


def given(line: str, **environ: str) -> Dict[str, Any]:
    """Return the options that do not have their defaults."""
    found = parsed(line, **environ)
    defaults = parsed(found.command).options
    return {name: value for name, value in found.options.items() if value != defaults[name]}


def refusal(line: str, **environ: str) -> UsageError:
    """Return the error of a command line that is refused."""
    try:
        found = parsed(line, **environ)
    except UsageError as error:
        return error
    raise AssertionError(f"{line} was read as {found}")


def said(line: str, **environ: str) -> str:
    """Return summary and detail of a refusal."""
    diagnostic = refusal(line, **environ).diagnostics[0]
    return f"{diagnostic.summary} / {diagnostic.detail}" if diagnostic.detail else diagnostic.summary


class Options(unittest.TestCase):
    def test_one_dash_or_two_equals_or_space_are_the_same(self) -> None:
        for line in ("plan -out=f", "plan --out=f", "plan -out f", "plan --out f"):
            self.assertEqual(given(line), {"out": "f"})

    def test_the_later_of_two_options_wins_and_repeatable_ones_add_up(self) -> None:
        self.assertEqual(given("plan -out=a -out=b -target=a.b -target c.d"), {"out": "b", "target": ["a.b", "c.d"]})

    def test_a_boolean_takes_its_value_only_behind_an_equals_sign(self) -> None:
        self.assertEqual(given("plan -refresh=false -lock=F -json -destroy=1"),
                         {"refresh": False, "lock": False, "json": True, "destroy": True})
        self.assertEqual(said("plan -refresh false"),
                         'Unexpected argument / There is nothing to do with "false". Did you mean to use -chdir?')

    def test_no_color_counts_anywhere_behind_the_command_but_never_with_a_value(self) -> None:
        self.assertEqual(parsed("apply saved.plan -no-color").arguments, ["saved.plan"])
        self.assertEqual(given("apply saved.plan --no-color -compact-warnings"),
                         {"no-color": True, "compact-warnings": True})
        self.assertEqual(said("validate -no-color=true"),
                         "Failed to parse command-line options / flag provided but not defined: -no-color")

    def test_options_end_at_the_first_argument(self) -> None:
        self.assertEqual(said("apply saved.plan -lock=false"), "Unexpected argument / Options go before the first "
                         'argument: move "-lock=false" before "saved.plan".')

    def test_durations_are_those_of_go(self) -> None:
        self.assertEqual([given(f"plan -lock-timeout={text}")["lock-timeout"] for text in ("1m1.5s", "300ms", "2h")],
                         [61.5, 0.3, 7200.0])
        self.assertEqual(said("plan -lock-timeout=5"), "Failed to parse command-line options / "
                         'invalid value "5" for flag -lock-timeout: parse error')

    def test_parallelism_zero_is_the_default_and_a_negative_one_is_refused(self) -> None:
        self.assertEqual(parsed("plan -parallelism=0").options["parallelism"], 10)
        self.assertEqual(said("apply -parallelism=-1"),
                         "Invalid parallelism value / The parallelism must be a positive value. Not -1.")
        self.assertEqual(said("plan -parallelism=x"), "Failed to parse command-line options / "
                         'invalid value "x" for flag -parallelism: parse error')

    def test_broken_options_are_refused_in_the_words_of_the_real_tool(self) -> None:
        details = {"plan -nope": "flag provided but not defined: -nope", "plan -out": "flag needs an argument: -out",
                   "plan ---x": "bad flag syntax: ---x", "plan -=x": "bad flag syntax: -=x",
                   "plan -lock=maybe": 'invalid boolean value "maybe" for -lock: parse error',
                   "apply -auto-aprove": 'flag provided but not defined: -auto-aprove. Did you mean "-auto-approve"?'}
        for line, detail in details.items():
            self.assertEqual(said(line), f"Failed to parse command-line options / {detail}")


class CommandsAndGlobals(unittest.TestCase):
    def test_a_command_of_two_words_keeps_its_arguments(self) -> None:
        self.assertEqual(parsed("state rm -dry-run a.b c.d")[::2], ("state rm", ["a.b", "c.d"]))

    def test_chdir_stands_before_the_command_and_needs_an_equals_sign(self) -> None:
        self.assertEqual(parsed("-chdir=a -chdir=b plan").chdir, "b")
        for line in ("-chdir plan", "-chdir= plan"):
            self.assertEqual(said(line), "Invalid -chdir option / It must include an equals sign followed by a "
                                         "directory path, like -chdir=example.")
        self.assertIn("not defined: -chdir", said("plan -chdir=x"))

    def test_help_is_asked_for_before_or_behind_the_command(self) -> None:
        for line in ("plan -help", "plan -out=x extra --help", "-help plan", "-h plan"):
            self.assertEqual(parsed(line), Invocation("help", {"status": 0}, ["plan"]))
        self.assertEqual(parsed("-help").arguments, [""])

    def test_no_command_at_all_is_an_error_that_shows_the_help(self) -> None:
        self.assertEqual(parsed(""), Invocation("help", {"status": 1}, [""]))

    def test_version_is_a_command_and_an_option(self) -> None:
        self.assertEqual(parsed("-version plan"), parsed("version"))
        self.assertEqual(parsed("version -json extra").options["json"], True)

    def test_unknown_commands_are_refused_with_the_nearest_name(self) -> None:
        self.assertEqual(said("plna"), 'minigraph has no command named "plna". Did you mean "plan"?')
        self.assertEqual(said("help"), 'minigraph has no command named "help". / '
                                       'Use minigraph -help, or minigraph COMMAND -help.')
        self.assertEqual(said("state lst"), 'minigraph has no command named "state lst". Did you mean "list"?')
        self.assertEqual(said("state"), "minigraph state what? / It is one of: list, show, rm.")

    def test_an_option_of_a_command_does_not_go_before_it(self) -> None:
        self.assertEqual(said("-no-color plan"), "Failed to parse command-line options / flag provided but not "
                                                 "defined: -no-color. It goes behind the command.")


class Environment(unittest.TestCase):
    def test_words_from_the_environment_come_first_so_that_the_command_line_wins(self) -> None:
        self.assertEqual(given("plan -out=c", TF_CLI_ARGS="-out=b -json", TF_CLI_ARGS_plan="-out=a -lock=false"),
                         {"out": "c", "json": True, "lock": False})
        self.assertEqual(given("plan", TF_CLI_ARGS="-out=b", TF_CLI_ARGS_plan="-out=a"), {"out": "b"})

    def test_they_are_split_as_a_shell_does(self) -> None:
        self.assertEqual(given("plan", TF_CLI_ARGS_plan="-out='a b' -target=a.b"), {"out": "a b", "target": ["a.b"]})
        self.assertEqual(said("plan", TF_CLI_ARGS='-out="'),
                         "Error parsing extra CLI args from TF_CLI_ARGS / invalid command line string")

    def test_the_name_of_a_variable_joins_the_words_of_a_command(self) -> None:
        found = given("state list", TF_CLI_ARGS_state_list="-state=s", TF_CLI_ARGS_plan="-nope")
        self.assertEqual(found, {"state": "s"})


class Combinations(unittest.TestCase):
    def test_modes_of_planning_exclude_each_other(self) -> None:
        summaries = {
            "plan -destroy -refresh-only": "Incompatible plan mode options",
            "plan -refresh=false -refresh-only": "Incompatible refresh options",
            "plan -refresh-only -replace=a.b": "Unsupported plan mode",
            "apply -destroy -replace=a.b": "Unsupported plan mode",
            "destroy -replace=a.b": "Unsupported plan mode",
            "destroy -destroy": "Invalid mode option",
            "destroy -refresh-only": "Invalid mode option",
            "plan -target=a.b -exclude=c.d": "Invalid combination of arguments",
            "graph -type=plan -plan=f": "Invalid combination of arguments",
            "output -raw -json o": "Invalid output format",
            "output -raw": "Output name required",
            "graph -type=nope": "Unsupported graph type",
            "order -type=plan": "Unsupported graph type"}
        self.assertEqual({line: refusal(line).diagnostics[0].summary for line in summaries}, summaries)

    def test_a_plan_to_destroy_is_applied_and_not_destroyed(self) -> None:
        self.assertEqual(said("destroy saved.plan"), "Destroy can't be called with a plan file / If this plan was "
                         'created using plan -destroy, apply it using:\n  minigraph apply "saved.plan"')

    def test_too_many_and_too_few_arguments_are_named(self) -> None:
        self.assertEqual(said("apply a b"), 'Unexpected argument / One PLANFILE at most; "b" is too much.')
        self.assertEqual(said("taint"), "Missing argument / Give the address of an object; "
                                        '"minigraph state list" shows them all.')

    def test_the_error_tells_whether_json_was_wanted(self) -> None:
        lines = ("plan -json -target=x", "plan -target=x", "plan -json -nope")
        self.assertEqual([refusal(line).json for line in lines], [True, False, True])


class Addresses(unittest.TestCase):
    """Recorded: what terraform 1.11.4 answers to -target=TEXT (None: it is taken)."""

    ANSWERS: Dict[str, Optional[str]] = {
        "": "Must begin with a variable name.",
        "1a.b": "Must begin with a variable name.",
        "nope": "Resource specification must include a resource type and name.",
        "data.a": "Resource specification must include a resource type and name.",
        "a.b.c": "Resource instance key must be given in square brackets.",
        "a.": "Dot must be followed by attribute name.",
        "a..b": "Dot must be followed by attribute name.",
        "a.b.0": "Dot must be followed by attribute name.",
        "a.*": "Splat expressions (.*) may not be used here.",
        "a b": "Expected an attribute access or an index operator.",
        "a.b[0": "Index key must be followed by a closing bracket.",
        "a.b[c]": "Index brackets must contain either a literal number or a literal string.",
        "module": 'Prefix "module." must be followed by a module name.',
        "a.b": None, 'a.b["k"]': None, "resource.a.b": None, "data.a.b": None, "module.x": None, "module.x.y.z": None}

    def test_targets_are_judged_as_the_real_tool_judges_them(self) -> None:
        found: Dict[str, Optional[str]] = {}
        for text in self.ANSWERS:
            try:
                main.parse_command_line(["plan", "-target=" + text], {})
                found[text] = None
            except UsageError as error:
                found[text] = error.diagnostics[0].detail
        self.assertEqual(found, self.ANSWERS)

    def test_an_address_comes_out_in_its_plain_form(self) -> None:
        self.assertEqual(given("plan -replace='resource . local_file.a [0]'"), {"replace": ["local_file.a[0]"]})

    def test_every_kind_of_address_has_its_own_summary(self) -> None:
        self.assertEqual([refusal(line).diagnostics[0].summary for line in (
            "plan -target=nope", "plan -exclude=nope", "plan -replace=nope", "taint nope", "state show nope")], [
            'Invalid target "nope"', 'Invalid exclude "nope"', 'Invalid force-replace address "nope"',
            'Invalid address "nope"', 'Invalid address "nope"'])

    def test_only_a_managed_resource_can_be_replaced(self) -> None:
        texts = ("data.a.b", "module.x", "local.x")
        self.assertEqual([said(f"plan -replace={text}").split(" / ")[1] for text in texts], [
            "Only managed resources can be used here.",
            "A resource address is required here, and minigraph has no modules.",
            '"local." is not how the address of a resource begins: it is TYPE.NAME.'])


class RefusalText(unittest.TestCase):
    def test_a_refusal_is_one_error_and_the_way_to_the_help(self) -> None:
        self.assertEqual(refusal("plan -out").text(), (
            "\nError: Failed to parse command-line options\n\nflag needs an argument: -out\n\n"
            "For more help on using this command, run:\n  minigraph plan -help\n"))

    def test_in_color_it_stands_in_a_box(self) -> None:
        text = re.sub("\033\\[[0-9]+m", "", refusal("plan -target=nope").text(True))
        self.assertEqual(text, (
            '╷\n│ Error: Invalid target "nope"\n│ \n'
            "│ Resource specification must include a resource type and name.\n╵\n\n"
            "For more help on using this command, run:\n  minigraph plan -help\n"))


class Messages(unittest.TestCase):
    PLACE = Place("main.tf.json", 17, 22, "resource.terraform_data.x", '        "input": "x${local.l}"')

    def test_place_values_and_detail_stand_where_the_real_tool_puts_them(self) -> None:
        error = Diagnostic("Invalid template interpolation value", "string required.", place=self.PLACE,
                           values=("local.l is tuple with 2 elements",))
        self.assertEqual(main.render_diagnostics([error]), (
            "\nError: Invalid template interpolation value\n\n"
            "  on main.tf.json line 17, in resource.terraform_data.x:\n"
            '  17:         "input": "x${local.l}"\n'
            "    ├────────────────\n    │ local.l is tuple with 2 elements\n\nstring required.\n"))

    def test_an_error_without_detail_ends_with_an_empty_line(self) -> None:
        place = Place("main.tf.json", 4, 9, "resource.local_file.bad", '  "bad":{}')
        error = Diagnostic("open ./x: not a directory", place=place, address="local_file.bad")
        self.assertEqual(main.render_diagnostics([error, Diagnostic("next")]), (
            "\nError: open ./x: not a directory\n\n  with local_file.bad,\n"
            '  on main.tf.json line 4, in resource.local_file.bad:\n   4:   "bad":{}\n\n'
            "\nError: next\n\n"))

    def test_a_line_with_nothing_on_it_is_shown_as_it_is(self) -> None:
        error = Diagnostic("Missing value", "It ends.", place=Place("main.tf.json", 1))
        self.assertEqual(main.render_diagnostics([error]),
                         "\nError: Missing value\n\n  on main.tf.json line 1:\n   1: \n\nIt ends.\n")

    def test_details_are_wrapped_as_recorded(self) -> None:
        words = ("You are creating a plan with the -target option, which means that the result of this plan may not "
                 "represent all of the changes requested by the current configuration.")
        self.assertEqual(main.render_diagnostics([Diagnostic("Targeting", words, severity="warning")]), (
            "\nWarning: Targeting\n\nYou are creating a plan with the -target option, which means that the result\n"
            "of this plan may not represent all of the changes requested by the current\nconfiguration.\n"))
        boxed = re.sub("\033\\[[0-9]+m", "", main.render_diagnostics([Diagnostic("T", words)], color=True))
        self.assertIn("\n│ result of this plan may not represent all of the changes requested by the\n", boxed)

    def test_indented_lines_and_edges_of_a_loop_are_not_wrapped(self) -> None:
        edge = f'terraform_data.a needs terraform_data.c: input = "{"x" * 80}" (main.tf.json:3)'
        command = "  minigraph apply " + "long " * 20
        self.assertEqual(main.render_diagnostics([Diagnostic("Cycle", f"{edge}\n{command}")]),
                         f"\nError: Cycle\n\n{edge}\n{command}\n")

    def test_color_underlines_what_the_error_is_about(self) -> None:
        text = main.render_diagnostics([Diagnostic("S", place=self.PLACE)], color=True)
        self.assertIn('"x${\033[4mlocal.l\033[0m}"', text)

    def test_compact_warnings_take_a_line_each(self) -> None:
        warnings: List[Diagnostic] = [Diagnostic("Resource targeting is in effect", "long", severity="warning"),
                                      Diagnostic("Other", place=self.PLACE, severity="warning")]
        self.assertEqual(main.render_compact_warnings(warnings), (
            "\nWarnings:\n\n- Resource targeting is in effect\n- Other\n  on main.tf.json line 17\n\n"
            "To see the full warning notes, run minigraph without -compact-warnings.\n"))


class Help(unittest.TestCase):
    def test_the_help_of_a_command_names_every_option_and_every_exit_status(self) -> None:
        for name, command in COMMANDS.items():
            text = main.help_text(name)
            for part in (*(f"  -{option.name}" for option in command.offered()), *command.exits, command.summary):
                self.assertIn(part, text)

    def test_the_help_of_destroy_leaves_out_what_destroy_refuses(self) -> None:
        self.assertEqual([name for name in COMMANDS["destroy"].refused if f"  -{name}" in main.help_text("destroy")], [])
        for name, value in (("destroy", ""), ("refresh-only", ""), ("replace", "=a.b")):
            self.assertIn(name, refusal(f"destroy -{name}{value}").text())

    def test_the_general_help_names_every_command(self) -> None:
        text = main.help_text()
        self.assertEqual([name for name in COMMANDS if f"\n  {name} " not in text], [])

    def test_the_help_of_a_group_names_its_commands_only(self) -> None:
        self.assertEqual(re.findall(r"^  state (\w+)", main.help_text("state"), re.M), ["list", "show", "rm"])
        self.assertNotIn("untaint", main.help_text("state"))

    def test_no_line_is_wider_than_a_terminal(self) -> None:
        lines = "".join(map(main.help_text, ["", *COMMANDS])).split("\n")
        self.assertEqual([line for line in lines if len(line) > 78], [])

    def test_arguments_stand_in_the_usage_line(self) -> None:
        self.assertEqual(main.help_text("apply").split("\n")[0],
                         "Usage: minigraph [global options] apply [options] [PLANFILE]")


if __name__ == "__main__":
    unittest.main()
