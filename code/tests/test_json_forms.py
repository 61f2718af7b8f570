"""What show -json, validate -json and the -json log print: compared with what terraform 1.11.4 printed."""
from __future__ import annotations

import json
import sys
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import main  # noqa: E402
from main import (  # noqa: E402
    UNKNOWN, Change, Diagnostic, Instance, Map, OutputChange, OutputValue, Place, Typed, Unknown)

LOCAL = 'provider["registry.terraform.io/hashicorp/local"]'
BUILTIN = 'provider["terraform.io/builtin/terraform"]'
ADDRESS = "terraform_data.a"


def plan(config: str = "{}", state: Any = None, **found: Any) -> Any:
    """Return a plan with the given contents; ``config`` is the text of its one file."""
    made = main.Plan(main.load_config(".", {"main.tf.json": config}), state or main.State(),
                     main.PlanOptions(found.pop("mode", "normal"), targets=found.pop("targets", ())))
    for name, value in found.items():
        setattr(made, name, value)
    return made


def document(**found: Any) -> Dict[str, Any]:
    """Return the document of such a plan, as a reader of its JSON gets it."""
    read: Dict[str, Any] = json.loads(main.dump_json(main.plan_document(plan(**found))))
    return read


def data_change(verb: str, before: Any, after: Any, **more: Any) -> Change:
    """Return a change of a terraform_data."""
    return Change(ADDRESS, "terraform_data", verb, "", before, after, **more)


def state_of(attributes: Dict[str, Any], **more: Any) -> Any:
    """Return a state with one local_file."""
    state = main.State("lineage", 3)
    state.objects["local_file.v"] = Instance("local_file", attributes, provider=LOCAL, **more)
    return state


class Numbers(unittest.TestCase):
    def test_every_digit_of_a_number_survives(self) -> None:
        values = [10**30, Decimal("1.50"), Decimal("-0"), Decimal("1E-7"), 12345678901234567890, True]
        self.assertEqual(main.dump_json(values), "[1000000000000000000000000000000,1.5,-0,0.0000001,"
                                                 "12345678901234567890,true]")

    def test_indented_and_compact_text_hold_the_same(self) -> None:
        value: Dict[str, Any] = {"a": [Decimal("0.5"), None, {}], "b": "x"}
        self.assertEqual(json.loads(main.dump_json(value, 2)), json.loads(main.dump_json(value)))
        self.assertEqual(main.dump_json({"a": []}, 2), '{\n  "a": []\n}')

    def test_a_string_that_looks_like_a_number_stays_a_string(self) -> None:
        self.assertEqual(main.dump_json(["1.50", Decimal("1.50")]), '["1.50",1.5]')


class Escapes(unittest.TestCase):
    def test_the_characters_that_go_escapes_are_escaped_and_others_are_not(self) -> None:
        self.assertEqual(main.dump_json({"<é&>": "\u2028\u2029\x7f\x1b\b\n"}),
                         '{"\\u003cé\\u0026\\u003e":"\\u2028\\u2029\x7f\\u001b\\b\\n"}')

    def test_what_has_no_json_form_is_a_bug_and_not_text(self) -> None:
        self.assertRaises(TypeError, main.dump_json, [UNKNOWN])


class UnknownValues(unittest.TestCase):
    """Recorded: a create with {"k": unknown, "l": ["x", 1.5], "z": null} as input."""

    INPUT = {"k": UNKNOWN, "l": ["x", Decimal("1.5")], "z": None}

    def test_known_parts_stand_in_after_and_unknown_ones_in_after_unknown(self) -> None:
        after = {"id": Unknown((ADDRESS, "id"), "string"), "input": self.INPUT, "triggers_replace": None,
                 "output": Unknown((ADDRESS, "output"), ["object", {}])}
        self.assertEqual(document(changes=[data_change("create", None, after)])["resource_changes"][0]["change"], {
            "actions": ["create"], "before": None,
            "after": {"input": {"l": ["x", 1.5], "z": None}, "triggers_replace": None},
            "after_unknown": {"id": True, "input": {"k": True, "l": [False, False]}, "output": True},
            "before_sensitive": False, "after_sensitive": {"input": {"l": [False, False]}, "output": {}}})

    def test_an_unknown_element_is_null_and_keeps_its_place(self) -> None:
        found = document(outputs=[OutputChange("p", "create", None, [1, UNKNOWN])])["output_changes"]["p"]
        self.assertEqual((found["after"], found["after_unknown"]), ([1, None], [False, True]))

    def test_an_output_that_is_wholly_unknown_has_no_after(self) -> None:
        made = document(outputs=[OutputChange("pet", "create", None, UNKNOWN)])
        self.assertEqual(made["output_changes"]["pet"], {
            "actions": ["create"], "before": None, "after_unknown": True, "before_sensitive": False,
            "after_sensitive": False})
        self.assertEqual(made["planned_values"]["outputs"], {"pet": {"sensitive": False}})

    def test_an_object_of_which_nothing_is_known_has_no_values(self) -> None:
        after = {name: Unknown((ADDRESS, name)) for name in ("id", "input", "output", "triggers_replace")}
        made, = document(changes=[data_change("create", None, after)])["planned_values"]["root_module"]["resources"]
        self.assertNotIn("values", made)

    def test_an_output_is_planned_as_sensitive_when_it_is_so_on_one_side(self) -> None:
        for before, after in ((True, False), (False, True), (True, True), (False, False)):
            made = document(outputs=[OutputChange("o", "update", 1, 2, before, after)])
            self.assertEqual(made["planned_values"]["outputs"]["o"]["sensitive"], before or after)

    def test_a_wholly_known_object_has_an_empty_after_unknown_whatever_it_holds(self) -> None:
        known = {"id": "i", "input": {"f": "x"}, "output": {"f": "x"}, "triggers_replace": ["t"]}
        change = document(changes=[data_change("noop", known, known)])["resource_changes"][0]["change"]
        self.assertEqual((change["after_unknown"], change["after_sensitive"]),
                         ({}, {"input": {}, "output": {}, "triggers_replace": [False]}))


class Actions(unittest.TestCase):
    BEFORE = {"id": "1", "input": None, "output": None, "triggers_replace": "a"}

    def actions(self, verb: str, **more: Any) -> List[str]:
        """Return the actions of a change with that verb."""
        after = None if verb == "delete" else self.BEFORE
        made = document(changes=[data_change(verb, self.BEFORE, after, **more)])
        found: List[str] = made["resource_changes"][0]["change"]["actions"]
        return found

    def test_every_verb_has_the_actions_of_the_real_tool(self) -> None:
        self.assertEqual([self.actions(verb) for verb in ("noop", "update", "delete", "replace")],
                         [["no-op"], ["update"], ["delete"], ["delete", "create"]])
        self.assertEqual(self.actions("replace", create_before_destroy=True), ["create", "delete"])

    def test_a_replacement_says_why_and_by_which_paths(self) -> None:
        change = data_change("replace", self.BEFORE, self.BEFORE, action_reason="replace_because_cannot_update",
                             replace_paths=(("triggers_replace",), ("input", 0)))
        found = document(changes=[change])["resource_changes"][0]
        self.assertEqual(found["action_reason"], "replace_because_cannot_update")
        self.assertEqual(found["change"]["replace_paths"], [["triggers_replace"], ["input", 0]])

    def test_a_deposed_object_carries_its_key_and_is_in_no_planned_value(self) -> None:
        change = Change("local_file.v", "local_file", "delete", "", {"id": "1", "sensitive_content": None}, None,
                        deposed="026ba11f")
        made = document(changes=[change], prior=state_of({"id": "1"}))
        self.assertEqual(made["resource_changes"], [{
            "address": "local_file.v", "mode": "managed", "type": "local_file", "name": "v",
            "provider_name": "registry.terraform.io/hashicorp/local", "deposed": "026ba11f",
            "change": {"actions": ["delete"], "before": {"id": "1", "sensitive_content": None}, "after": None,
                       "after_unknown": {}, "before_sensitive": {"sensitive_content": True},
                       "after_sensitive": False}}])
        self.assertEqual(made["planned_values"], {"root_module": {}})

    def test_the_provider_is_the_one_that_the_state_names(self) -> None:
        state = state_of({"id": "1"})
        state.objects["local_file.v"] = state.objects["local_file.v"]._replace(
            provider='provider["registry.opentofu.org/hashicorp/local"]')
        change = Change("local_file.w", "local_file", "create", "", None, {"id": UNKNOWN})
        made = document(changes=[change], state=state)
        self.assertEqual(made["resource_changes"][0]["provider_name"], "registry.opentofu.org/hashicorp/local")


class PlanFrame(unittest.TestCase):
    def test_the_keys_come_in_the_order_of_the_real_tool_and_empty_ones_are_left_out(self) -> None:
        self.assertEqual(list(document(timestamp="2026-11-30T05:36:32Z")), [
            "format_version", "terraform_version", "planned_values", "configuration", "timestamp", "applyable",
            "complete", "errored"])
        change = data_change("delete", {"id": "1"}, None)
        config = '{"resource": {"terraform_data": {"a": {}}}, "output": {"o": {"value": "${terraform_data.a.id}"}}}'
        full = document(config=config, changes=[change], drift=[change], prior=state_of({"id": "1"}),
                        outputs=[OutputChange("o", "update", "0", "1")])
        self.assertEqual(list(full), [
            "format_version", "terraform_version", "planned_values", "resource_drift", "resource_changes",
            "output_changes", "prior_state", "configuration", "relevant_attributes", "timestamp", "applyable",
            "complete", "errored"])

    def test_a_plan_can_be_applied_when_it_does_something_and_has_no_error(self) -> None:
        change = data_change("delete", {"id": "1"}, None)

        def flags(**found: Any) -> Tuple[bool, bool, bool]:
            made = document(**found)
            return made["applyable"], made["complete"], made["errored"]

        self.assertEqual(flags(), (False, True, False))
        self.assertEqual(flags(changes=[change]), (True, True, False))
        self.assertEqual(flags(changes=[change], errors=[Diagnostic("no")]), (False, False, True))
        self.assertEqual(flags(changes=[change], targets=[ADDRESS]), (True, False, False))

    def test_a_refresh_only_plan_lists_no_changes_of_objects(self) -> None:
        same = {"id": "1"}
        made = document(mode="refresh-only", changes=[data_change("noop", same, same)],
                        drift=[data_change("delete", same, None)])
        self.assertNotIn("resource_changes", made)
        self.assertEqual((made["planned_values"], made["applyable"]), ({"root_module": {}}, True))

    def test_prior_state_is_the_refreshed_state_with_its_outputs(self) -> None:
        state = main.State()
        state.outputs.update(pet=OutputValue("stag"), lit=OutputValue("<é>"))
        made = document(state=state, outputs=[OutputChange("pet", "update", "stag", UNKNOWN)])
        self.assertEqual(made["prior_state"]["values"], {"root_module": {}, "outputs": {
            "lit": {"sensitive": False, "value": "<é>", "type": "string"},
            "pet": {"sensitive": False, "value": "stag", "type": "string"}}})

    def test_a_removed_output_is_no_planned_value_and_counts_as_sensitive_on_both_sides(self) -> None:
        made = document(outputs=[OutputChange("o", "delete", "s", None, sensitive_before=True)])
        self.assertEqual(made["output_changes"]["o"], {
            "actions": ["delete"], "before": "s", "after": None, "after_unknown": False, "before_sensitive": True,
            "after_sensitive": True})
        self.assertEqual(made["planned_values"], {"root_module": {}})


class ConfigurationSection(unittest.TestCase):
    """Recorded with terraform 1.11.4 from this very configuration."""

    CONFIG = r"""{"locals": {"m": {"two words": "w"}},
      "resource": {"terraform_data": {
        "a": {"input": {"k": "${terraform_data.b.id}", "l": ["x", 1.50], "z": null}},
        "b": {"input": null, "triggers_replace": ["${terraform_data.c.output.q[0]}"],
              "depends_on": ["terraform_data.c"]},
        "c": {"input": {"q": ["${local.m[\"two words\"]}"], "${path.module}k": "${terraform.workspace}"}}}},
      "output": {"o": {"value": "${terraform_data.a.output}", "description": "d", "sensitive": true,
                       "depends_on": ["terraform_data.c"]}, "n": {"value": null}}}"""

    def setUp(self) -> None:
        self.found = document(config=self.CONFIG)["configuration"]

    def test_an_expression_has_its_text_and_every_reference_with_all_that_it_begins_with(self) -> None:
        forms = {item["address"]: item for item in self.found["root_module"]["resources"]}
        self.assertEqual(forms["terraform_data.b"], {
            "address": "terraform_data.b", "mode": "managed", "type": "terraform_data", "name": "b",
            "provider_config_key": "terraform", "expressions": {
                "input": {"constant_value": None},
                "triggers_replace": {
                    "constant_value": ["${terraform_data.c.output.q[0]}"],
                    "references": ["terraform_data.c.output.q[0]", "terraform_data.c.output.q",
                                   "terraform_data.c.output", "terraform_data.c"]}},
            "schema_version": 0, "depends_on": ["terraform_data.c"]})
        self.assertEqual(forms["terraform_data.c"]["expressions"]["input"]["references"],
                         ['local.m["two words"]', "local.m", "path.module", "terraform.workspace"])

    def test_outputs_and_providers_have_the_recorded_shape(self) -> None:
        self.assertEqual(self.found["provider_config"],
                         {"terraform": {"name": "terraform", "full_name": "terraform.io/builtin/terraform"}})
        self.assertEqual(self.found["root_module"]["outputs"], {
            "n": {"expression": {"constant_value": None}},
            "o": {"sensitive": True, "depends_on": ["terraform_data.c"], "description": "d", "expression": {
                "constant_value": "${terraform_data.a.output}",
                "references": ["terraform_data.a.output", "terraform_data.a"]}}})

    def test_a_resource_without_arguments_has_no_expressions(self) -> None:
        made = document(config='{"resource": {"random_pet": {"p": {}}}}')
        self.assertNotIn("expressions", made["configuration"]["root_module"]["resources"][0])


class StateForm(unittest.TestCase):
    ATTRIBUTES = {"content": "v", "filename": "./v2.txt", "id": "7a38", "sensitive_content": None}

    def test_a_state_that_holds_nothing_has_only_its_format_version(self) -> None:
        self.assertEqual(main.state_document(main.State("lineage", 9)), {"format_version": "1.0"})

    def test_deposed_objects_follow_the_current_one_with_their_key(self) -> None:
        state = state_of(self.ATTRIBUTES, tainted=True, dependencies=("terraform_data.x",))
        state.deposed["local_file.v"] = {"026ba11f": Instance("local_file", {"id": "old"}, provider=LOCAL)}
        head = {"address": "local_file.v", "mode": "managed", "type": "local_file", "name": "v",
                "provider_name": "registry.terraform.io/hashicorp/local", "schema_version": 0}
        self.assertEqual(main.state_document(state)["values"]["root_module"]["resources"], [
            {**head, "values": self.ATTRIBUTES, "sensitive_values": {"sensitive_content": True},
             "depends_on": ["terraform_data.x"], "tainted": True},
            {**head, "values": {"id": "old"}, "sensitive_values": {}, "deposed_key": "026ba11f"}])

    def test_maps_and_typed_values_show_as_plain_json_and_outputs_with_their_type(self) -> None:
        state = main.State()
        state.outputs["k"] = OutputValue(Map(b="1", a="2"), True)
        state.outputs["s"] = OutputValue(Typed(["x"], ["set", "string"]))
        self.assertEqual(main.dump_json(main.state_document(state)["values"]["outputs"]),
                         '{"k":{"sensitive":true,"value":{"a":"2","b":"1"},"type":["map","string"]},'
                         '"s":{"sensitive":false,"value":["x"],"type":["set","string"]}}')

    def test_sensitive_paths_lead_into_values(self) -> None:
        state = main.State()
        state.objects[ADDRESS] = Instance("terraform_data", {"id": "1", "input": {"p": ["a", "b"], "q": 1}},
                                          sensitive=(("input", "p", 1),), provider=BUILTIN)
        self.assertEqual(main.state_document(state)["values"]["root_module"]["resources"][0]["sensitive_values"],
                         {"input": {"p": [False, True]}})

    def test_objects_that_are_only_carried_along_are_shown_too(self) -> None:
        state = main.State()
        state.foreign.append({"mode": "managed", "type": "aws_x", "name": "n", "provider": 'provider["h/a/aws"]',
                              "instances": [{"index_key": "k", "schema_version": 1, "attributes": {"b": 1}}]})
        self.assertEqual(main.state_document(state)["values"]["root_module"]["resources"], [{
            "address": 'aws_x.n["k"]', "mode": "managed", "type": "aws_x", "name": "n", "index": "k",
            "provider_name": "h/a/aws", "schema_version": 1, "values": {"b": 1}, "sensitive_values": {}}])


class Diagnostics(unittest.TestCase):
    SOURCE = '{"locals":{"l":[1]},"resource":{"terraform_data":{"é":{"input":"a${local.l}"}}}}'

    def test_a_placed_error_has_the_range_and_the_snippet_of_the_real_tool(self) -> None:
        place = Place("main.tf.json", 1, 68, "resource.terraform_data.é", self.SOURCE)
        error = Diagnostic("Invalid", "string required.", place=place, values=("local.l is tuple with 1 element",))
        self.assertEqual(main.validate_document([error]), {
            "format_version": "1.0", "valid": False, "error_count": 1, "warning_count": 0, "diagnostics": [{
                "severity": "error", "summary": "Invalid", "detail": "string required.",
                "range": {"filename": "main.tf.json", "start": {"line": 1, "column": 68, "byte": 68},
                          "end": {"line": 1, "column": 75, "byte": 75}},
                "snippet": {"context": "resource.terraform_data.é", "code": self.SOURCE, "start_line": 1,
                            "highlight_start_offset": 68, "highlight_end_offset": 75,
                            "values": [{"traversal": "local.l", "statement": "is tuple with 1 element"}]}}]})

    def test_bytes_count_from_the_start_of_the_file(self) -> None:
        layout = main.Layout("a.tf.json", '{"ü": 2,\n "é": 1,\n "k": 3}')
        for pointer, line, start, end in (((2,), 3, 21, 24), ((1,), 2, 11, 15), ((1,), 2, 11, 15), ((0,), 1, 1, 5)):
            place = layout.place(main.Spot("a.tf.json", pointer, "key"))
            found = main.diagnostic_document(Diagnostic("No", place=place))["range"]
            self.assertEqual((line, start, end), (found["start"]["line"], found["start"]["byte"], found["end"]["byte"]))

    def test_warnings_do_not_make_a_configuration_invalid(self) -> None:
        made = main.validate_document([Diagnostic("w", severity="warning", address="a.b")])
        self.assertEqual((made["valid"], made["error_count"], made["warning_count"]), (True, 0, 1))
        self.assertEqual(made["diagnostics"],
                         [{"severity": "warning", "summary": "w", "detail": "", "address": "a.b"}])


class LogLines(unittest.TestCase):
    """Whole lines as terraform 1.11.4 wrote them, but for the name of the tool."""

    NOW = 1796016986.354585
    HEAD = '"@module":"minigraph.ui","@timestamp":"2026-11-30T05:36:26.354585Z"'
    PET = ('"resource":{"addr":"random_pet.name","module":"","resource":"random_pet.name",'
           '"implied_provider":"random","resource_type":"random_pet","resource_name":"name","resource_key":null}')

    def check(self, event: Dict[str, Any], message: str, payload: str, level: str = "info") -> None:
        """Compare a whole line; ``payload`` is what stands behind the timestamp."""
        head = f'"@level":"{level}","@message":"{message}",{self.HEAD}'
        self.assertEqual(main.dump_json(event), f"{{{head},{payload}}}")

    def test_the_first_line_names_the_tool_and_its_version(self) -> None:
        self.check(main.version_event(self.NOW), f"minigraph {main.VERSION}",
                   f'"minigraph":"{main.VERSION}","type":"version","ui":"1.2"')

    def test_a_planned_change_says_what_and_why(self) -> None:
        change = Change("random_pet.name", "random_pet", "replace", "", {}, {},
                        action_reason="replace_because_cannot_update")
        self.check(main.change_event(change, self.NOW), "random_pet.name: Plan to replace",
                   f'"change":{{{self.PET},"action":"replace","reason":"cannot_update"}},"type":"planned_change"')
        reasons = ("replace_because_tainted", "replace_by_request", "replace_by_triggers",
                   "delete_because_no_resource_config")
        self.assertEqual(
            [main.change_event(change._replace(action_reason=code), 0.0)["change"]["reason"] for code in reasons],
            ["tainted", "requested", "replace_triggered_by", "delete_because_no_resource_config"])

    def test_drift_has_a_line_of_its_own(self) -> None:
        change = Change("random_pet.name", "random_pet", "delete", "", {}, None)
        self.check(main.change_event(change, self.NOW, drift=True), "random_pet.name: Drift detected (delete)",
                   f'"change":{{{self.PET},"action":"delete"}},"type":"resource_drift"')

    def test_a_step_has_a_start_and_an_end_with_the_id_that_the_object_has_then(self) -> None:
        self.check(main.apply_event("apply_start", "random_pet.name", "create", self.NOW),
                   "random_pet.name: Creating...",
                   f'"hook":{{{self.PET},"action":"create"}},"type":"apply_start"')
        self.check(
            main.apply_event("apply_complete", "random_pet.name", "create", self.NOW, "dear-kangaroo", 61),
            "random_pet.name: Creation complete after 1m1s [id=dear-kangaroo]",
            f'"hook":{{{self.PET},"action":"create","id_key":"id","id_value":"dear-kangaroo","elapsed_seconds":61}},'
            '"type":"apply_complete"')
        self.check(main.apply_event("apply_complete", "random_pet.name", "delete", self.NOW),
                   "random_pet.name: Destruction complete after 0s",
                   f'"hook":{{{self.PET},"action":"delete","elapsed_seconds":0}},"type":"apply_complete"')

    def test_slow_and_failed_steps_have_no_id(self) -> None:
        self.check(main.apply_event("apply_progress", "random_pet.name", "update", self.NOW, "x", 10),
                   "random_pet.name: Still modifying... [10s elapsed]",
                   f'"hook":{{{self.PET},"action":"update","elapsed_seconds":10}},"type":"apply_progress"')
        self.check(main.apply_event("apply_errored", "random_pet.name", "create", self.NOW),
                   "random_pet.name: Creation errored after 0s",
                   f'"hook":{{{self.PET},"action":"create","elapsed_seconds":0}},"type":"apply_errored"')

    def test_a_refresh_that_finds_nothing_ends_without_an_id(self) -> None:
        self.check(main.refresh_event("refresh_start", "random_pet.name", "p", self.NOW),
                   "random_pet.name: Refreshing state... [id=p]",
                   f'"hook":{{{self.PET},"id_key":"id","id_value":"p"}},"type":"refresh_start"')
        self.check(main.refresh_event("refresh_complete", "random_pet.name", "", self.NOW),
                   "random_pet.name: Refresh complete", f'"hook":{{{self.PET}}},"type":"refresh_complete"')

    def test_a_summary_counts_and_names_the_operation(self) -> None:
        self.check(main.change_summary(4, 1, 4, "plan", self.NOW), "Plan: 4 to add, 1 to change, 4 to destroy.",
                   '"changes":{"add":4,"change":1,"import":0,"remove":4,"operation":"plan"},"type":"change_summary"')
        self.assertEqual(main.change_summary(0, 0, 7, "destroy", 0.0)["@message"],
                         "Destroy complete! Resources: 7 destroyed.")

    def test_the_value_of_a_sensitive_output_is_left_out(self) -> None:
        outputs = {"o": OutputValue("secret", True), "a": OutputValue(["x", 1])}
        self.check(main.outputs_event(outputs, self.NOW), "Outputs: 2",
                   '"outputs":{"a":{"sensitive":false,"type":["tuple",["string","number"]],"value":["x",1]},'
                   '"o":{"sensitive":true,"type":"string"}},"type":"outputs"')
        self.check(main.planned_outputs_event([OutputChange("o", "update", 1, 2)], self.NOW), "Outputs: 1",
                   '"outputs":{"o":{"sensitive":false,"action":"update"}},"type":"outputs"')

    def test_an_error_is_a_line_of_the_level_error(self) -> None:
        error = Diagnostic('Invalid target "nope"', "Resource specification must include a resource type and name.")
        self.check(main.diagnostic_event(error, self.NOW), 'Error: Invalid target \\"nope\\"',
                   '"diagnostic":{"severity":"error","summary":"Invalid target \\"nope\\"","detail":"Resource '
                   'specification must include a resource type and name."},"type":"diagnostic"', "error")


if __name__ == "__main__":
    unittest.main()
