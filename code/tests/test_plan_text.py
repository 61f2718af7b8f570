"""What plan, show and output print: whole blocks as recorded, in OpenTofu 1.13's wording."""
from __future__ import annotations

import sys
import unittest
from decimal import Decimal
from pathlib import Path
from types import SimpleNamespace
from typing import Any, Dict, Optional

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import main  # noqa: E402
from main import UNKNOWN, Change, Instance, Map, OutputChange, OutputValue, Typed  # noqa: E402

RULE = "─" * 77


def change(address: str, verb: str, before: Optional[Dict[str, Any]], after: Optional[Dict[str, Any]],
           **rest: Any) -> Change:
    """Return a change of one object."""
    return Change(address, address.split(".")[0], verb, "", before, after, **rest)


def plan(*changes: Change, mode: str = "normal", **rest: Any) -> Any:
    """Return what render_plan looks at."""
    parts: Dict[str, Any] = {"drift": [], "outputs": [], "relevant": set(), "errors": [], "notes": [],
                             "targets": [], "excludes": []}
    return SimpleNamespace(mode=mode, changes=list(changes), **{**parts, **rest})


def edit(before: Any, after: Any) -> str:
    """Return the lines that show how one value becomes another, as an output of the name o."""
    return main.render_output_changes([OutputChange("o", "update", before, after)], False)


class Case(unittest.TestCase):
    """A case whose texts are compared whole."""

    maxDiff = None


class Blocks(Case):
    """One block for each change, with a heading that says what happens and why."""

    def test_a_new_object_shows_every_attribute_that_is_set(self) -> None:
        """Null attributes are left out, unknown ones are known after apply, maps have quoted keys."""
        pet = change("random_pet.name", "create", None, {
            "id": UNKNOWN, "keepers": Map(k="v1", long="w"), "length": 2, "prefix": None, "separator": "-"})
        self.assertEqual(main.render_change(pet), "\n".join((
            "  # random_pet.name will be created",
            '  + resource "random_pet" "name" {',
            "      + id        = (known after apply)",
            "      + keepers   = {",
            '          + "k"    = "v1"',
            '          + "long" = "w"',
            "        }",
            "      + length    = 2",
            '      + separator = "-"',
            "    }")))

    def test_an_object_that_goes_shows_null_behind_every_attribute(self) -> None:
        """Inside a collection the suffix is not repeated."""
        sleep = change("time_sleep.s", "delete", {
            "create_duration": "2s", "destroy_duration": None, "id": "x",
            "triggers": Map(a="1", bb="3")}, None)
        self.assertEqual(main.render_change(sleep), "\n".join((
            "  # time_sleep.s will be destroyed",
            '  - resource "time_sleep" "s" {',
            '      - create_duration = "2s" -> null',
            '      - id              = "x" -> null',
            "      - triggers        = {",
            '          - "a"  = "1"',
            '          - "bb" = "3"',
            "        } -> null",
            "    }")))

    def test_an_update_counts_what_it_hides_and_always_shows_the_id(self) -> None:
        """The id is shown unchanged; triggers_replace is only counted."""
        data = change("terraform_data.id2", "update",
                      {"id": "692f", "input": "keep", "output": "keep", "triggers_replace": ["keep"]},
                      {"id": "692f", "input": "keep2", "output": UNKNOWN, "triggers_replace": ["keep"]})
        self.assertEqual(main.render_change(data), "\n".join((
            "  # terraform_data.id2 will be updated in-place",
            '  ~ resource "terraform_data" "id2" {',
            '        id               = "692f"',
            '      ~ input            = "keep" -> "keep2"',
            '      ~ output           = "keep" -> (known after apply)',
            "        # (1 unchanged attribute hidden)",
            "    }")))

    def test_a_replacement_says_which_attributes_force_it(self) -> None:
        """The remark stands behind a scalar and behind the opening brace of a map."""
        pet = change("random_pet.name", "replace",
                     {"id": "evolved-ant", "keepers": Map(k="v1"), "length": 2,
                      "prefix": "x", "separator": "-"},
                     {"id": UNKNOWN, "keepers": Map(k="v2", n="new"), "length": 3, "separator": "-"},
                     replace_paths=(("keepers",), ("length",), ("prefix",)))
        self.assertEqual(main.render_change(pet), "\n".join((
            "  # random_pet.name must be replaced",
            '-/+ resource "random_pet" "name" {',
            '      ~ id        = "evolved-ant" -> (known after apply)',
            "      ~ keepers   = { # forces replacement",
            '          ~ "k" = "v1" -> "v2"',
            '          + "n" = "new"',
            "        }",
            "      ~ length    = 2 -> 3 # forces replacement",
            '      - prefix    = "x" -> null # forces replacement',
            "        # (1 unchanged attribute hidden)",
            "    }")))

    def test_removed_elements_of_a_map_say_null_and_a_removed_map_says_it_once(self) -> None:
        """Differs from objects, whose removed attributes never say it."""
        before = {"id": "i", "triggers": Map(a="1", b="2", c="3")}
        after = {"id": UNKNOWN, "triggers": Map(a="1", b="2", d="4")}
        some = change("time_sleep.t", "replace", before, after,
                      replace_paths=(("triggers",),))
        self.assertEqual(main.render_change(some).split("\n")[3:9], [
            "      ~ triggers = { # forces replacement",
            '          - "c" = "3" -> null',
            '          + "d" = "4"',
            "            # (2 unchanged elements hidden)",
            "        }",
            "    }"])
        none = change("time_sleep.t", "replace", {"id": "i", "triggers": Map(a="1")}, {"id": UNKNOWN},
                      replace_paths=(("triggers",),))
        self.assertEqual(main.render_change(none).split("\n")[3:6], [
            "      - triggers = { # forces replacement", '          - "a" = "1"', "        } -> null"])

    def test_a_known_dynamic_trigger_carries_no_remark_and_an_unknown_one_does(self) -> None:
        """The real tools forget the remark on triggers_replace unless the whole new value is unknown."""
        def last_line(after: Any) -> str:
            data = change("terraform_data.t", "replace",
                          {"triggers_replace": "1"}, {"triggers_replace": after},
                          replace_paths=(("triggers_replace",),))
            return main.render_change(data).split("\n")[2]
        self.assertEqual(last_line("2"), '      ~ triggers_replace = "1" -> "2"')
        self.assertEqual(last_line(UNKNOWN),
                         '      ~ triggers_replace = "1" -> (known after apply) # forces replacement')

    def test_the_heading_gives_the_reason(self) -> None:
        """Tainted, requested, triggered, orphaned and deposed each have their words."""
        def heading(verb: str, reason: str = "", **rest: Any) -> str:
            shown = change("a_b.c", verb, {"x": 1}, {"x": 1}, action_reason=reason, **rest)
            return main.render_change(shown).split(' resource "')[0]
        self.assertEqual(heading("replace", "replace_because_tainted"),
                         "  # a_b.c is tainted, so it must be replaced\n-/+")
        self.assertEqual(heading("replace", "replace_by_request", create_before_destroy=True),
                         "  # a_b.c will be replaced, as requested\n+/-")
        self.assertEqual(heading("replace", "replace_by_triggers"),
                         "  # a_b.c will be replaced due to changes in replace_triggered_by\n-/+")
        self.assertEqual(heading("replace", "replace_because_cannot_update"),
                         "  # a_b.c must be replaced\n-/+")
        self.assertEqual(heading("delete", "delete_because_no_resource_config"),
                         "  # a_b.c will be destroyed\n  # (because a_b.c is not in configuration)\n  -")
        self.assertEqual(
            heading("delete", deposed="805acf2b"),
            "  # a_b.c (deposed object 805acf2b) will be destroyed\n"
            "  # (left over from a partially-failed replacement of this instance)\n  -")

    def test_an_empty_string_attribute_counts_as_not_set(self) -> None:
        """As in OpenTofu, at the top of every type; deeper down it is a value."""
        data = change("terraform_data.es", "update", {"id": "i", "input": "", "output": ""},
                      {"id": "i", "input": [""], "output": UNKNOWN})
        self.assertEqual(main.render_change(data).split("\n")[2:-1], [
            '        id     = "i"',
            "      + input  = [",
            '          + "",',
            "        ]",
            "      + output = (known after apply)"])

    def test_sensitive_values_are_not_shown(self) -> None:
        """Not when they stay, change or go; a change of sensitivity is announced."""
        before = {"filename": "f", "sensitive_content": "secret"}
        paths = (("sensitive_content",),)
        after = {**before, "sensitive_content": "other"}
        file = change("local_file.s", "replace", before, after, replace_paths=paths, before_sensitive=paths,
                      after_sensitive=paths)
        self.assertEqual(main.render_change(file).split("\n")[2:4], [
            "      ~ sensitive_content = (sensitive value) # forces replacement",
            "        # (1 unchanged attribute hidden)"])
        gone = change("local_file.s", "delete", before, None, before_sensitive=paths)
        self.assertIn("      - sensitive_content = (sensitive value) -> null\n", main.render_change(gone))
        data = change("terraform_data.s", "update", {"input": {"a": "x"}}, {"input": {"a": "x"}},
                      after_sensitive=(("input", "a"),))
        self.assertEqual(main.render_change(data).split("\n")[2:-1], [
            "      ~ input = {",
            "          # Warning: this attribute value will be marked as sensitive and will not",
            "          # display in UI output after applying this change. The value is unchanged.",
            "          ~ a = (sensitive value)",
            "        }"])


class Values(Case):
    """How a value, and what becomes of it, is written."""

    def test_strings_are_quoted_as_go_quotes_them(self) -> None:
        """${ stays; what cannot be printed is escaped."""
        self.assertEqual(main.go_quoted('${x} "q" \\ tab\t é☃'), '"${x} \\"q\\" \\\\ tab\\t é☃"')
        self.assertEqual(main.go_quoted(
            "\x00\x7f\u00a0\u200b\U000e0001\a"), r'"\x00\x7f\u00a0\u200b\U000e0001\a"')

    def test_numbers_are_plain_decimals(self) -> None:
        """No exponent, no zeros at the end; 10 and 10.0 are one number."""
        self.assertEqual(edit(Decimal("1e30"), Decimal("1.50")), f"  ~ o = 1{'0' * 30} -> 1.5")
        self.assertEqual(edit(10, Decimal("10.0")), "")

    def test_a_change_of_type_shows_both_values_whole(self) -> None:
        """Scalars in one line, collections with a sign before every part."""
        self.assertEqual(edit(42, "42"), '  ~ o = 42 -> "42"')
        self.assertEqual(edit({}, ["now"]), '  ~ o = {} -> [\n      + "now",\n    ]')
        self.assertEqual(edit({"q": None}, {"q": True}), "  ~ o = {\n      ~ q = null -> true\n    }")

    def test_a_collection_that_becomes_unknown_shows_its_old_parts(self) -> None:
        """Each with a minus sign."""
        self.assertEqual(edit(["a", None], UNKNOWN), "\n".join((
            "  ~ o = [", '      - "a",', "      - null,", "    ] -> (known after apply)")))

    def test_nested_objects_are_compared_in_place(self) -> None:
        """Only what changed is shown; nulls that come and go count as changes."""
        before = {"a": "1", "b": {"c": [1, {"d": True}]}, "zed": "2", "r": None}
        after = {"a": "1", "b": {"c": [1, {"d": False}]}, "zed": "3", "q": None}
        self.assertEqual(edit(before, after), "\n".join((
            "  ~ o = {",
            "      ~ b   = {",
            "          ~ c = [",
            "                1,",
            "              ~ {",
            "                  ~ d = true -> false",
            "                },",
            "            ]",
            "        }",
            "      + q   = null",
            "      - r   = null",
            '      ~ zed = "2" -> "3"',
            "        # (1 unchanged attribute hidden)",
            "    }")))

    def test_names_that_are_no_identifiers_are_quoted(self) -> None:
        """Columns are as wide as the longest name in bytes, as Go counts."""
        self.assertEqual(edit(None, {"1": 1, "a b": 2, "-x": 3, "_": 4, "é-x": 5}), "\n".join((
            "  + o = {", '      + "-x"  = 3', '      + "1"   = 1', "      + _     = 4", '      + "a b" = 2',
            "      + é-x   = 5", "    }")))

    def test_lists_show_one_unchanged_neighbour_of_a_change(self) -> None:
        """The rest is counted."""
        self.assertEqual(edit(list("abcdef"), list("abXdef")), "\n".join((
            "  ~ o = [",
            "        # (1 unchanged element hidden)",
            '        "b",',
            '      - "c",',
            '      + "X",',
            '        "d",',
            "        # (2 unchanged elements hidden)",
            "    ]")))

    def test_lists_keep_their_longest_common_subsequence(self) -> None:
        """An element that moves is created at the one place and deleted at the other."""
        self.assertEqual(edit(["a", "b", "c"], ["c", "a", "b"]), "\n".join((
            "  ~ o = [", '      + "c",', '        "a",', '        "b",', '      - "c",', "    ]")))
        self.assertEqual(edit(["x", "k"], [UNKNOWN, "k"]), "\n".join((
            "  ~ o = [", '      - "x",', "      + (known after apply),", '        "k",', "    ]")))

    def test_texts_of_many_lines_are_compared_line_by_line(self) -> None:
        """All lines are shown; the old ones of a change come before the new ones."""
        self.assertEqual(edit("a1\na2\na3\n", "b1\nb2\na3\n"), "\n".join((
            "  ~ o = <<-EOT", "      - a1", "      - a2", "      + b1", "      + b2", "        a3",
            "    EOT")))
        self.assertEqual(edit(None, "one\ntwo"), "  + o = <<-EOT\n        one\n        two\n    EOT")
        self.assertEqual(edit("single\n", "single"), "  ~ o = <<-EOT\n        single\n    EOT")

    def test_texts_in_lists_are_compared_at_their_place(self) -> None:
        """Where both the old and the new element have many lines."""
        self.assertEqual(edit(["m1\nm2", "x"], ["m1\nM2", "x"]), "\n".join((
            "  ~ o = [", "      ~ <<-EOT", "            m1", "          - m2", "          + M2",
            "        EOT,",
            '        "x",', "    ]")))

    def test_the_remark_on_a_replacement_stands_behind_the_opening_of_a_text(self) -> None:
        """And behind the arrow where the new text is unknown."""
        def content(after: Any) -> str:
            file = change("local_file.ref", "replace", {"content": "pet=a\n"}, {"content": after},
                          replace_paths=(("content",),))
            return "\n".join(main.render_change(file).split("\n")[2:-1])
        self.assertEqual(content("pet=b\n"), "\n".join((
            "      ~ content = <<-EOT # forces replacement", "          - pet=a", "          + pet=b",
            "        EOT")))
        self.assertEqual(content(UNKNOWN), "\n".join((
            "      ~ content = <<-EOT", "            pet=a",
            "        EOT -> (known after apply) # forces replacement")))

    def test_json_inside_a_string_is_compared_as_a_value(self) -> None:
        """It is shown as jsonencode, numbers as they are written."""
        file = change("local_file.j", "replace", {"content": '{"arr":[1,2,3],"k":"v","n":1.0}'},
                      {"content": '{"arr":[1,2,4],"k":"w","n":1.0}'}, replace_paths=(("content",),))
        self.assertEqual("\n".join(main.render_change(file).split("\n")[2:-1]), "\n".join((
            "      ~ content = jsonencode(",
            "          ~ {",
            "              ~ arr = [",
            "                    # (1 unchanged element hidden)",
            "                    2,",
            "                  - 3,",
            "                  + 4,",
            "                ]",
            '              ~ k   = "v" -> "w"',
            "                # (1 unchanged attribute hidden)",
            "            } # forces replacement",
            "        )")))
        self.assertEqual(edit(None, "{bad"), '  + o = "{bad"')
        self.assertEqual(edit(None, "[NaN]"), '  + o = "[NaN]"')

    def test_json_that_differs_in_white_space_only_is_shown_whole(self) -> None:
        """With a remark, since no line is marked."""
        self.assertEqual(edit('{"a":1}', '{"a": 1}'), "\n".join((
            "  ~ o = jsonencode( # whitespace changes",
            "      ~ {", "            a = 1", "        }", "    )")))

    def test_json_on_one_side_is_a_change_of_type(self) -> None:
        """The other side is quoted."""
        self.assertEqual(edit('{"a":1}', "x"), "\n".join((
            "  ~ o = jsonencode(", "        {", "          - a = 1", "        }", '    ) -> "x"')))

    def test_huge_lists_are_not_compared_for_ever(self) -> None:
        """Beyond a limit only the equal ends count as common."""
        before, after = [str(n) for n in range(5000)], [str(n) for n in range(5000, 0, -1)]
        self.assertEqual(main.common_values(["a", *before, "z"], ["a", *after, "z"]), ["a", "z"])


class Frame(Case):
    """What stands around the blocks."""

    CREATE = change("terraform_data.t", "create", None, {"id": UNKNOWN, "input": "x", "output": UNKNOWN})

    def test_legend_heading_and_counts(self) -> None:
        """Only the symbols in use are explained; a replacement counts twice; no-ops are skipped."""
        noop = change("terraform_data.n", "noop", {"id": "n"}, {"id": "n"})
        old = change("terraform_data.z", "replace", {"id": "z"}, {"id": UNKNOWN}, create_before_destroy=True)
        shown = plan(self.CREATE, noop, old)
        self.assertEqual(main.plan_counts(shown), (2, 0, 1))
        self.assertEqual(main.render_plan(shown), "\n".join((
            "",
            "minigraph used the selected providers to generate the following execution",
            "plan. Resource actions are indicated with the following symbols:",
            "  + create",
            "+/- create replacement and then destroy",
            "",
            "minigraph will perform the following actions:",
            "",
            "  # terraform_data.t will be created",
            '  + resource "terraform_data" "t" {',
            "      + id     = (known after apply)",
            '      + input  = "x"',
            "      + output = (known after apply)",
            "    }",
            "",
            "  # terraform_data.z must be replaced",
            '+/- resource "terraform_data" "z" {',
            '      ~ id = "z" -> (known after apply)',
            "    }",
            "",
            "Plan: 2 to add, 0 to change, 1 to destroy.",
            "")))

    def test_the_legend_of_updates_names_the_columns(self) -> None:
        """As OpenTofu does since 1.12; the order of the symbols is fixed."""
        changes = [change("a_b.c", verb, {}, {}) for verb in ("replace", "delete", "update", "create")]
        self.assertEqual(main.render_legend(changes, False).split("\n")[3:], [
            "  + create", "  ~ update in-place (current -> planned)", "  - destroy",
            "-/+ destroy and then create replacement", ""])

    def test_waits_that_were_given_up_are_noted_behind_the_counts(self) -> None:
        """One paragraph a wait."""
        note = "terraform_data.a does not wait for terraform_data.b (destroy): that would close a loop (x)."
        self.assertTrue(main.render_plan(plan(self.CREATE, notes=[note])).endswith(
            "Plan: 1 to add, 0 to change, 0 to destroy.\n\n"
            "Note: terraform_data.a does not wait for terraform_data.b (destroy): that\n"
            "would close a loop (x).\n"))

    def test_a_plan_with_errors_has_another_heading(self) -> None:
        """Or one line where nothing was planned, and nothing where a destroy was refused."""
        errors = [main.Diagnostic("x")]
        heading = "\nminigraph planned the following actions, but then encountered a problem:\n\n  # terra"
        self.assertIn(heading, main.render_plan(plan(self.CREATE, errors=errors)))
        self.assertEqual(main.render_plan(plan(errors=errors)),
                         "\nPlanning failed. minigraph encountered an error while generating this plan.\n\n")
        self.assertEqual(main.render_plan(plan(self.CREATE, errors=errors, mode="destroy")), "")

    def test_no_changes(self) -> None:
        """Each mode has its sentence; a limited plan says so."""
        self.assertEqual(main.render_plan(plan()),
                         "\nNo changes. Your infrastructure matches the configuration.\n")
        self.assertEqual(main.render_plan(plan(targets=["a_b.c"])), (
            "\nNo changes. Your infrastructure matches the configuration.\n\n"
            "Note: You used the -target option, so minigraph only checked resources\n"
            "matching those addresses. There may be pending changes for other resources.\n"))
        self.assertEqual(main.render_plan(plan(mode="destroy")), (
            "\nNo changes. No objects need to be destroyed.\n\n"
            "Either you have not created any objects yet or the existing objects were\n"
            "already deleted outside of minigraph.\n"))
        self.assertEqual(main.render_plan(plan(mode="refresh-only")), (
            "\nNo changes. Your infrastructure still matches the configuration.\n\n"
            "minigraph has checked that the real remote objects still match the result of\n"
            "your most recent changes, and found no differences.\n"))

    def test_the_end_of_plan_says_how_to_apply_it(self) -> None:
        """With the file's name in quotes, or that nothing was saved."""
        self.assertEqual(main.render_next_step('a "b'), (
            f'\n{RULE}\n\nSaved the plan to: a "b\n\nTo perform exactly these actions, run the following '
            'command to apply:\n    minigraph apply "a \\"b"\n'))
        self.assertEqual(main.render_next_step(""), (
            f"\n{RULE}\n\nNote: You didn't use the -out option to save this plan, so minigraph can't\n"
            'guarantee to take exactly these actions if you run "minigraph apply" now.\n'))

    def test_100000_changes_are_shown_in_seconds(self) -> None:
        """A tenth of them here, in a tenth of the time; the no-ops cost next to nothing."""
        import time
        file = {"content": "x", "source": None, "filename": "f", "id": UNKNOWN, "file_permission": "0777"}
        changes = [change(f"local_file.f{n}", "create", None, file, after_sensitive=(("sensitive_content",),))
                   for n in range(10_000)]
        start = time.process_time()
        self.assertEqual(main.render_plan(plan(*changes)).count("\n"), 8 + 8 * 10_000)
        self.assertLess(time.process_time() - start, 2)


class Drift(Case):
    """What changed outside is shown where it may matter for the plan."""

    FILE = {"content": "hello\n", "directory_permission": "0777", "file_permission": "0777",
            "filename": "./a.txt", "id": "f572", "sensitive_content": None, "source": None}
    GONE = change("local_file.a", "delete", FILE, None)
    CREATE = change("local_file.b", "create", None, {"id": UNKNOWN})

    def test_only_attributes_in_use_are_shown(self) -> None:
        """The others of the deleted file are counted as if unchanged."""
        shown = main.render_plan(plan(self.CREATE, drift=[self.GONE], relevant={("local_file.a", ("id",))}))
        self.assertEqual(shown.split(RULE)[0], "\n".join((
            "",
            "Note: Objects have changed outside of minigraph",
            "",
            "minigraph detected the following changes made outside of minigraph since the",
            'last "minigraph apply" which may have affected this plan:',
            "",
            "  # local_file.a has been deleted",
            '  - resource "local_file" "a" {',
            '      - id                   = "f572" -> null',
            "        # (4 unchanged attributes hidden)",
            "    }",
            "",
            "",
            "Unless you have made equivalent changes to your configuration, or ignored the",
            "relevant attributes using ignore_changes, the following plan may include",
            "actions to undo or respond to these changes.",
            "",
            "")))
        self.assertTrue(shown.split(RULE)[1].startswith("\n\nminigraph used the selected providers"))

    def test_drift_that_nothing_uses_is_not_mentioned(self) -> None:
        """Neither that of other attributes, nor any where the plan does nothing."""
        used = {("local_file.a", ("id",))}
        self.assertNotIn("outside", main.render_plan(plan(self.CREATE, drift=[self.GONE])))
        self.assertNotIn("outside", main.render_plan(plan(drift=[self.GONE], relevant=used)))
        changed = change("local_file.a", "update", self.FILE, {**self.FILE, "content": "other"})
        self.assertNotIn("outside", main.render_plan(plan(self.CREATE, drift=[changed], relevant=used)))

    def test_a_path_into_an_attribute_shows_that_part(self) -> None:
        """The rest of the attribute counts as unchanged."""
        changed = change("terraform_data.a", "update", {"output": {"a": 1, "b": 1}},
                         {"output": {"a": 2, "b": 2}})
        used = {("terraform_data.a", ("output", "b"))}
        shown = main.render_plan(plan(self.CREATE, drift=[changed], relevant=used))
        self.assertIn("      ~ output = {\n          ~ b = 1 -> 2\n            # (1 unchanged", shown)

    def test_a_refresh_only_plan_shows_all_of_it(self) -> None:
        """With its own closing paragraph and nothing else."""
        self.assertEqual(main.render_plan(plan(mode="refresh-only", drift=[self.GONE])), "\n".join((
            "",
            "Note: Objects have changed outside of minigraph",
            "",
            "minigraph detected the following changes made outside of minigraph since the",
            'last "minigraph apply" which may have affected this plan:',
            "",
            "  # local_file.a has been deleted",
            '  - resource "local_file" "a" {',
            "      - content              = <<-EOT",
            "            hello",
            "        EOT -> null",
            '      - directory_permission = "0777" -> null',
            '      - file_permission      = "0777" -> null',
            '      - filename             = "./a.txt" -> null',
            '      - id                   = "f572" -> null',
            "    }",
            "",
            "",
            "This is a refresh-only plan, so minigraph will not take any actions to undo",
            "these. If you were expecting these changes then you can apply this plan to",
            "record the updated values in the minigraph state without changing any remote",
            "objects.",
            "")))


class Outputs(Case):
    """Changes to outputs, and the values of outputs."""

    def test_changes_are_aligned_to_the_longest_name(self) -> None:
        """Unchanged outputs are not shown, but count for the width."""
        shown = main.render_output_changes([
            OutputChange("gone", "delete", [1], None),
            OutputChange("longest", "noop", 1, 1),
            OutputChange("m", "create", None, Map(a="1")),
            OutputChange("pet", "update", "ant", UNKNOWN),
            OutputChange("s", "update", "p", "q", True, True)], False)
        self.assertEqual(shown, "\n".join((
            "  - gone    = [", "      - 1,", "    ] -> null", "  + m       = {", '      + a = "1"', "    }",
            '  ~ pet     = "ant" -> (known after apply)', "  ~ s       = (sensitive value)")))

    def test_a_plan_of_outputs_alone_explains_itself(self) -> None:
        """There is neither a legend nor a line of counts."""
        self.assertEqual(main.render_plan(plan(outputs=[OutputChange("z", "create", None, "new")])), (
            '\nChanges to Outputs:\n  + z = "new"\n\n'
            "You can apply this plan to save these new output values to the minigraph\n"
            "state, without changing any real infrastructure.\n"))

    def test_values_are_written_as_expressions(self) -> None:
        """The recorded text of the output command."""
        whole = {"id": "3f", "input": {"big": 12345678901234567890, "f": Decimal("3")},
                 "triggers_replace": None}
        self.assertEqual(main.render_outputs({
            "whole": OutputValue(whole), "b": OutputValue(True), "ml": OutputValue("a\nb\n"),
            "e": OutputValue(""), "sens": OutputValue("sec", True), "t": OutputValue([1, "a", None]),
            "m": OutputValue(Map(k="v")), "none": OutputValue([{}, []])}), "\n".join((
                "b = true",
                'e = ""',
                "m = tomap({",
                '  "k" = "v"',
                "})",
                "ml = <<EOT",
                "a",
                "b",
                "",
                "EOT",
                "none = [",
                "  {},",
                "  [],",
                "]",
                "sens = <sensitive>",
                "t = [",
                "  1,",
                '  "a",',
                "  null,",
                "]",
                "whole = {",
                '  "id" = "3f"',
                '  "input" = {',
                '    "big" = 12345678901234567890',
                '    "f" = 3',
                "  }",
                '  "triggers_replace" = null',
                "}",
                "")))

    def test_typed_values_name_their_type(self) -> None:
        """Lists and sets by a conversion, nulls of scalars too; nested texts are indented."""
        self.assertEqual(main.console_value(Typed(["a"], ["set", "string"])), 'toset([\n  "a",\n])')
        self.assertEqual(main.console_value([Typed(None, "string")]), "[\n  tostring(null),\n]")
        self.assertEqual(main.console_value(["x\nEOT"]), "[\n  <<-EOT_\n  x\n  EOT\n  EOT_,\n]")


class States(Case):
    """What show prints of a state."""

    def test_objects_and_outputs(self) -> None:
        """Without signs; by type and name, deposed objects behind the current one."""
        data = Instance("terraform_data",
                        {"id": "d", "input": {"A": "z", "a b": Decimal("1.5")}, "output": "x"})
        pet = Instance("random_pet", {"id": "p", "keepers": Map(x=""), "prefix": ""}, tainted=True)
        state = main.State()
        state.objects = {"terraform_data.n": data, "random_pet.p": pet}
        state.deposed = {"random_pet.p": {"0badcafe": pet}}
        state.outputs = {"t": OutputValue([1]), "ml": OutputValue("a\nb\n"), "s": OutputValue("x", True)}
        self.assertEqual(main.render_state(state), "\n".join((
            "# random_pet.p: (tainted)",
            'resource "random_pet" "p" {',
            '    id      = "p"',
            "    keepers = {",
            '        "x" = ""',
            "    }",
            "}",
            "",
            "# random_pet.p: (deposed object 0badcafe)",
            'resource "random_pet" "p" {',
            '    id      = "p"',
            "    keepers = {",
            '        "x" = ""',
            "    }",
            "}",
            "",
            "# terraform_data.n:",
            'resource "terraform_data" "n" {',
            '    id     = "d"',
            "    input  = {",
            '        A     = "z"',
            '        "a b" = 1.5',
            "    }",
            '    output = "x"',
            "}",
            "",
            "",
            "Outputs:",
            "",
            "ml = <<-EOT",
            "    a",
            "    b",
            "EOT",
            "s = (sensitive value)",
            "t = [",
            "    1,",
            "]",
            "")))

    def test_an_empty_state_says_so(self) -> None:
        """As after a destroy."""
        self.assertEqual(main.render_state(main.State()), "The state file is empty. No resources are represented.\n")


class Colors(Case):
    """Where a terminal is written to, the real tools' escape sequences."""

    def test_a_plan_in_colors(self) -> None:
        """Byte for byte what the real tool prints; the marks of one phrase end in a reset."""
        data = change("terraform_data.a", "replace", {"id": "e5", "input": "x", "triggers_replace": "1"},
                      {"id": UNKNOWN, "input": "x", "triggers_replace": "2"})
        gone = change("terraform_data.b", "delete", {"id": "a9"}, None,
                      action_reason="delete_because_no_resource_config")
        outputs = [OutputChange("o", "update", "v", "w")]
        shown = main.render_plan(plan(data, gone, outputs=outputs), color=True)
        self.assertEqual(shown.replace("\033", "\\e").split("\n")[3:], [
            r"  \e[31m-\e[0m destroy\e[0m",
            r"\e[31m-\e[0m/\e[32m+\e[0m destroy and then create replacement\e[0m",
            "",
            "minigraph will perform the following actions:",
            "",
            r"\e[1m  # terraform_data.a\e[0m must be \e[1m\e[31mreplaced\e[0m",
            r'\e[0m\e[31m-\e[0m/\e[32m+\e[0m\e[0m resource "terraform_data" "a" {',
            r'      \e[33m~\e[0m\e[0m id               = "e5" -> (known after apply)',
            r'      \e[33m~\e[0m\e[0m triggers_replace = "1" \e[33m->\e[0m\e[0m "2"',
            r"        \e[90m# (1 unchanged attribute hidden)\e[0m\e[0m",
            "    }",
            "",
            r"\e[1m  # terraform_data.b\e[0m will be \e[1m\e[31mdestroyed\e[0m",
            "  # (because terraform_data.b is not in configuration)",
            r'\e[0m  \e[31m-\e[0m\e[0m resource "terraform_data" "b" {',
            r'      \e[31m-\e[0m\e[0m id = "a9" \e[90m-> null\e[0m\e[0m',
            "    }",
            "",
            r"\e[1mPlan:\e[0m 1 to add, 0 to change, 2 to destroy.",
            r"\e[0m",
            "Changes to Outputs:",
            r'  \e[33m~\e[0m\e[0m o = "v" \e[33m->\e[0m\e[0m "w"',
            ""])

    def test_no_changes_in_colors(self) -> None:
        """The reset stands where the real tool puts it."""
        self.assertEqual(main.render_plan(plan(mode="destroy"), color=True).split("Either")[0], (
            "\n\033[0m\033[1m\033[32mNo changes.\033[0m"
            "\033[1m No objects need to be destroyed.\033[0m\n\n\033[0m"))


if __name__ == "__main__":
    unittest.main()
