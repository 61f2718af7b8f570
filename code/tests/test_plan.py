"""The plan: unknowns follow values, what is replaced and why, targets, create_before_destroy, outputs."""
from __future__ import annotations

import unittest
from typing import Any, Dict, List, Optional, Sequence, Set, Tuple

from support import FIXTURES, config

import main
from main import Change, Instance, Plan, PlanOptions, State

Stack = Dict[str, Any]
BUILTIN = 'provider["terraform.io/builtin/terraform"]'


def stack(outputs: Optional[Dict[str, Any]] = None, values: Optional[Dict[str, Any]] = None, **resources: Any) -> Stack:
    """Return a configuration: a=... is terraform_data.a, pet_p random_pet.p, file_f local_file.f, sleep_s time_sleep.s."""
    types = {"pet": "random_pet", "file": "local_file", "sleep": "time_sleep"}
    found: Stack = {"output": {name: {"value": value} for name, value in (outputs or {}).items()}, "locals": values or {},
                    "resource": {}}
    for key, body in resources.items():
        prefix, _, name = key.partition("_")
        kind, name = (types[prefix], name) if name else ("terraform_data", key)
        found["resource"].setdefault(kind, {})[name] = body
    return {part: content for part, content in found.items() if content}


def planned(content: Any, state: Optional[State] = None, gone: Sequence[str] = (), **options: Any) -> Plan:
    """Return the plan for a configuration and a state; the objects in ``gone`` no longer exist."""
    def read(address: str, key: str, instance: Instance) -> Optional[Dict[str, Any]]:
        return None if (f"{address} {key}" if key else address) in gone else instance.attributes
    return main.make_plan(config(content), state or State(), PlanOptions(**options), read)


def applied(content: Any) -> State:
    """Return the state that applying a configuration in an empty directory leaves; ids are "id-NAME"."""
    plan = planned(content)
    if plan.errors:
        raise AssertionError(plan.errors)
    state = State("l", 1)
    needs = {address: main.reachable(plan.configured, address) for address in plan.configured}
    evaluator = main.Evaluator()
    for address in main.topological_order(plan.deps):
        if address in plan.config.resources:
            resource = plan.config.resources[address]
            args = main.evaluate_arguments(evaluator, resource).args
            made = main.with_unknown_computed(address, resource.type, args)
            made = {name: computed(address, name, made) if isinstance(value, main.Unknown) else value
                    for name, value in made.items()}
            evaluator.values[address] = made
            state.objects[address] = Instance(resource.type, made, False, tuple(sorted(needs[address])),
                                              address in plan.create_before_destroy, (), BUILTIN)
        elif address.startswith("output."):
            state.outputs[address[7:]] = main.OutputValue(main.evaluate_value(plan.config, evaluator, address))
        else:
            evaluator.values[address] = main.evaluate_value(plan.config, evaluator, address)
    return state


def computed(address: str, name: str, attributes: Dict[str, Any]) -> Any:
    """Return what a computed attribute is after apply."""
    return attributes["input"] if name == "output" else f"{name}-{address}"


def actions(plan: Plan) -> Dict[str, str]:
    """Return the verb of every change that does something, + behind one that creates first; errors are none of them."""
    if plan.errors:
        raise AssertionError(plan.errors)
    return {short(change): change.verb + "+" * (change.create_before_destroy and change.verb == "replace")
            for change in plan.changed()}


def short(change: Change) -> str:
    """Return the name of a change, with its deposed key."""
    return change.address.replace("terraform_data.", "") + (f" {change.deposed}" if change.deposed else "")


def after(plan: Plan, address: str) -> Dict[str, Any]:
    """Return the planned attributes of an address as a person sees them."""
    change = next(change for change in plan.changes if change.address == address)
    return {name: shown(value) for name, value in (change.after or {}).items()}


def shown(value: Any) -> Any:
    """Return a value with "?" for every unknown."""
    if isinstance(value, main.Unknown):
        return "?"
    if isinstance(value, dict):
        return {key: shown(item) for key, item in value.items()}
    return [shown(item) for item in value] if isinstance(value, list) else value


def change_of(plan: Plan, address: str) -> Change:
    """Return the change of an address."""
    return next(change for change in plan.changes if change.address == address)


def problems(plan: Plan) -> List[Tuple[str, str]]:
    """Return summary and address of the plan's errors."""
    return [(item.summary, item.address) for item in plan.errors]


class UnknownsFollowValues(unittest.TestCase):
    """An edge alone makes nothing unknown; a value that is unknown makes unknown what it becomes part of."""

    def test_index_keeps_its_literal_though_it_depends_on_config(self) -> None:
        plan = planned((FIXTURES / "demo" / "main.tf.json").read_text())
        self.assertEqual(("?", False), (after(plan, "local_file.config")["content"],
                                        after(plan, "local_file.index")["content"] == "?"))

    def test_depends_on_adds_no_unknowns(self) -> None:
        plan = planned(stack(a={}, b={"input": "x", "depends_on": ["terraform_data.a"]}))
        self.assertEqual({"id": "?", "input": "x", "output": "?", "triggers_replace": None}, after(plan, "terraform_data.b"))

    def test_a_text_with_an_unknown_part_is_unknown(self) -> None:
        plan = planned(stack(a={}, b={"input": "x ${terraform_data.a.id}"}))
        self.assertEqual("?", after(plan, "terraform_data.b")["input"])

    def test_lists_and_objects_keep_what_is_known(self) -> None:
        plan = planned(stack(a={}, b={"input": {"l": ["${terraform_data.a.id}", 1], "k": "v"}}))
        self.assertEqual({"l": ["?", 1], "k": "v"}, after(plan, "terraform_data.b")["input"])

    def test_a_known_element_of_a_partly_unknown_local_is_known(self) -> None:
        plan = planned(stack(values={"l": ["${terraform_data.a.id}", "k"]}, a={}, b={"input": "${local.l[1]}"}))
        self.assertEqual("k", after(plan, "terraform_data.b")["input"])

    def test_a_text_put_together_is_composed_as_a_whole(self) -> None:
        plan = planned(stack(values={"l": "e"}, b={"input": {"${local.l}\u0301": "${local.l}\u0301"}}))
        self.assertEqual({"\u00e9": "\u00e9"}, after(plan, "terraform_data.b")["input"])

    def test_an_unknown_key_makes_the_whole_object_unknown(self) -> None:
        plan = planned(stack(a={}, b={"input": {"${terraform_data.a.id}": 1, "k": 2}}))
        self.assertEqual("?", after(plan, "terraform_data.b")["input"])

    def test_an_output_is_one_unknown_even_where_the_input_is_known(self) -> None:
        plan = planned(stack(a={"input": {"k": 1}}, b={"input": ["${terraform_data.a.output.k}", "${terraform_data.a.input.k}"]}))
        self.assertEqual(["?", 1], after(plan, "terraform_data.b")["input"])

    def test_without_an_input_the_output_is_known_to_be_null(self) -> None:
        self.assertIsNone(after(planned(stack(a={})), "terraform_data.a")["output"])

    def test_a_whole_object_is_known_in_part(self) -> None:
        plan = planned(stack(a={"input": 1}, b={"input": "${terraform_data.a}"}))
        self.assertEqual({"id": "?", "input": 1, "output": "?", "triggers_replace": None},
                         after(plan, "terraform_data.b")["input"])

    def test_an_unknown_knows_where_it_comes_from(self) -> None:
        plan = planned(stack(values={"l": "${random_pet.p.id}"}, pet_p={}, b={"input": "x-${local.l}"}))
        found = change_of(plan, "terraform_data.b").after
        self.assertEqual(("random_pet.p", "id"), found and found["input"].origin)


class TypedUnknowns(unittest.TestCase):
    """What is known of the type of an unknown is checked before anything runs."""

    def refused(self, text: str, **resources: Any) -> str:
        """Return the summary of the refusal of a terraform_data whose input is the text."""
        try:
            plan = planned(stack(**resources, z={"input": text}))
        except main.ConfigError as error:
            return error.diagnostics[0].summary
        return plan.errors[0].summary

    def test_a_list_or_object_that_is_not_known_yet_has_no_place_in_a_text(self) -> None:
        for value in ([1], {"k": 1}):
            self.assertEqual("Invalid template interpolation value",
                             self.refused("x${terraform_data.a.output}", a={"input": value}))

    def test_a_number_or_bool_has(self) -> None:
        plan = planned(stack(a={"input": 1}, b={"input": True},
                             z={"input": "${terraform_data.a.output}${terraform_data.b.output}"}))
        self.assertEqual("?", after(plan, "terraform_data.z")["input"])

    def test_an_attribute_that_an_unknown_object_will_not_have_is_refused(self) -> None:
        self.assertEqual("Unsupported attribute", self.refused("${terraform_data.a.output.no}", a={"input": {"k": 1}}))

    def test_an_element_that_an_unknown_list_will_not_have_is_refused(self) -> None:
        self.assertEqual("Invalid index", self.refused("${terraform_data.a.output[1]}", a={"input": [1]}))

    def test_a_step_into_an_unknown_text_is_refused(self) -> None:
        self.assertEqual("Unsupported attribute", self.refused("${random_pet.p.id.x}", pet_p={}))

    def test_an_unknown_list_or_object_cannot_be_a_key(self) -> None:
        for value in ([1], {"k": 1}):
            plan = planned(stack(a={"input": value}, z={"input": {"${terraform_data.a.output}": 1}}))
            self.assertEqual([("Invalid object key expression", "terraform_data.z")], problems(plan))


class WhatAChangeMeans(unittest.TestCase):

    def test_zero_and_minus_zero_are_no_difference(self) -> None:
        for name in ("input", "triggers_replace"):
            before, now = stack(a={name: [0]}), stack(a={name: [-0.0]})
            self.assertEqual([{}, {}], [actions(planned(now, applied(before))), actions(planned(before, applied(now)))])

    def test_without_an_object_it_is_a_create(self) -> None:
        self.assertEqual({"a": "create"}, actions(planned(stack(a={}))))

    def test_without_a_difference_it_is_nothing(self) -> None:
        content = stack(a={"input": [1, None, {"k": "v"}]}, pet_p={}, sleep_s={"create_duration": "1s"})
        self.assertEqual({}, actions(planned(content, applied(content))))

    def test_an_object_that_is_gone_is_created_and_not_replaced(self) -> None:
        content = stack(a={"input": 1}, b={"input": "${terraform_data.a.output}"})
        plan = planned(content, applied(content), gone=["terraform_data.a"])
        self.assertEqual({"a": "create", "b": "update"}, actions(plan))
        self.assertEqual([("terraform_data.a", "delete")], [(item.address, item.verb) for item in plan.drift])

    def test_an_update_in_place_keeps_the_id(self) -> None:
        plan = planned(stack(a={"input": 2}), applied(stack(a={"input": 1})))
        self.assertEqual(({"a": "update"}, {"id": "id-terraform_data.a", "input": 2, "output": "?", "triggers_replace": None}),
                         (actions(plan), after(plan, "terraform_data.a")))

    def test_an_input_that_goes_away_or_changes_its_type_alone_is_an_update(self) -> None:
        state = applied(stack(a={"input": "1"}))
        self.assertEqual([{"a": "update"}] * 2, [actions(planned(stack(a=body), state)) for body in ({}, {"input": 1})])

    def test_an_argument_that_forces_it_replaces_and_is_named(self) -> None:
        plan = planned(stack(a={"triggers_replace": 2}), applied(stack(a={"triggers_replace": 1})))
        found = change_of(plan, "terraform_data.a")
        self.assertEqual(("replace", ["triggers_replace"], "triggers_replace forces replacement",
                          "replace_because_cannot_update", (("triggers_replace",),)), (found.verb, *found[7:8], found.reason,
                                                                                       *found[9:11]))

    def test_an_unknown_on_such_an_argument_replaces_one_element_of_it_does_too(self) -> None:
        state = applied(stack(a={"triggers_replace": ["x", "k"]}))
        plan = planned(stack(new={}, a={"triggers_replace": ["${terraform_data.new.id}", "k"]}), state)
        self.assertEqual({"a": "replace", "new": "create"}, actions(plan))

    def test_an_unknown_on_an_argument_that_can_change_updates(self) -> None:
        plan = planned(stack(new={}, a={"input": "${terraform_data.new.id}"}), applied(stack(a={"input": "x"})))
        self.assertEqual({"a": "update", "new": "create"}, actions(plan))

    def test_what_the_configuration_no_longer_names_is_destroyed(self) -> None:
        plan = planned(stack(a={}), applied(stack(a={}, b={})))
        self.assertEqual(({"b": "delete"}, "delete_because_no_resource_config"),
                         (actions(plan), change_of(plan, "terraform_data.b").action_reason))

    def test_the_lesson_s_cascade_comes_of_a_longer_pet_name(self) -> None:
        content = stack(pet_name={"length": 2}, release={"input": "${random_pet.name.id}"},
                        file_config={"filename": "c", "content": "release=${terraform_data.release.output}\n"},
                        file_index={"filename": "i", "content": "see ${local_file.config.filename}\n"})
        state = applied(content)
        content["resource"]["random_pet"]["name"]["length"] = 3
        plan = planned(content, state)
        self.assertEqual({"random_pet.name": "replace", "release": "update", "local_file.config": "replace"}, actions(plan))
        self.assertEqual(["content"], change_of(plan, "local_file.config").forced)


class AskedReplacement(unittest.TestCase):

    def test_a_tainted_object_is_replaced_for_that_reason(self) -> None:
        state = applied(stack(a={"input": 1}))
        state.objects["terraform_data.a"] = state.objects["terraform_data.a"]._replace(tainted=True)
        found = change_of(planned(stack(a={"input": 2}), state), "terraform_data.a")
        self.assertEqual(("replace", "replace_because_tainted"), (found.verb, found.action_reason))

    def test_replace_replaces_what_would_stay_or_be_updated(self) -> None:
        state, option = applied(stack(a={"input": 1})), {"replaces": ["terraform_data.a"]}
        found = [change_of(planned(stack(a={"input": value}), state, **option), "terraform_data.a") for value in (1, 2)]
        self.assertEqual([("replace", "replace_by_request", ())] * 2,
                         [(item.verb, item.action_reason, item.replace_paths) for item in found])

    def test_it_leaves_a_create_alone_and_passes_over_unknown_addresses(self) -> None:
        plan = planned(stack(a={}), replaces=["terraform_data.a", "terraform_data.no"])
        self.assertEqual({"a": "create"}, actions(plan))

    def test_it_asks_for_the_kind_that_the_flag_gives(self) -> None:
        content = stack(a={"lifecycle": {"create_before_destroy": True}})
        self.assertEqual({"a": "replace+"}, actions(planned(content, applied(content), replaces=["terraform_data.a"])))

    def test_a_changed_trigger_replaces(self) -> None:
        def content(value: int) -> Stack:
            return stack(a={"input": value}, b={"lifecycle": {"replace_triggered_by": ["terraform_data.a"]}})
        found = change_of(planned(content(2), applied(content(1))), "terraform_data.b")
        self.assertEqual(("replace", "replace_by_triggers"), (found.verb, found.action_reason))

    def test_an_attribute_fires_only_when_it_changes(self) -> None:
        def content(value: int) -> Stack:
            return stack(a={"input": value}, b={"lifecycle": {"replace_triggered_by": ["terraform_data.a.id"]}},
                         c={"lifecycle": {"replace_triggered_by": ["terraform_data.a.output"]}})
        self.assertEqual({"a": "update", "c": "replace"}, actions(planned(content(2), applied(content(1)))))

    def test_triggers_chain_and_rest_without_a_change(self) -> None:
        def content(value: int) -> Stack:
            return stack(a={"input": value}, b={"lifecycle": {"replace_triggered_by": ["terraform_data.a"]}},
                         c={"lifecycle": {"replace_triggered_by": ["terraform_data.b"]}})
        state = applied(content(1))
        self.assertEqual([{}, {"a": "update", "b": "replace", "c": "replace"}],
                         [actions(planned(content(value), state)) for value in (1, 2)])


class IgnoreChanges(unittest.TestCase):

    def verb(self, ignored: Any, before: Any, now: Any, **options: Any) -> Dict[str, str]:
        """Return the actions for a terraform_data whose arguments change under ignore_changes."""
        return actions(planned(stack(a={**now, "lifecycle": {"ignore_changes": ignored}}), applied(stack(a=before)), **options))

    def test_an_ignored_argument_stays_as_it_is_in_the_state(self) -> None:
        self.assertEqual({}, self.verb(["input"], {"input": 1}, {"input": 2}))

    def test_the_others_count(self) -> None:
        self.assertEqual({"a": "replace"}, self.verb(["input"], {"input": 1}, {"input": 2, "triggers_replace": 1}))

    def test_all_ignores_triggers_too(self) -> None:
        self.assertEqual({}, self.verb("all", {"triggers_replace": 1}, {"triggers_replace": 2, "input": 1}))

    def test_a_path_ignores_one_element(self) -> None:
        before = {"input": {"k": 1, "l": [1, 2]}}
        self.assertEqual({}, self.verb(["input.k", "input.l[0]"], before, {"input": {"k": 9, "l": [9, 2]}}))
        self.assertEqual({"a": "update"}, self.verb(["input.l[0]"], before, {"input": {"k": 1, "l": [1, 9]}}))

    def test_a_part_that_one_side_does_not_have_is_not_ignored(self) -> None:
        for path, before, now in (("input.a", {"a": 1, "b": 2}, {"b": 2}), ("input.a", {"b": 2}, {"a": 1, "b": 2}),
                                  ("input.a", {"a": 1}, "x"), ("input[0]", [1], []), ("input[0]", {"0": 1}, {"0": 2})):
            self.assertEqual({"a": "update"}, self.verb([path], {"input": before}, {"input": now}), (path, before, now))

    def test_a_string_index_at_the_end_means_the_whole_of_what_is_no_map(self) -> None:
        for path, before, now in (('input["a"]', {"a": 1, "b": 2}, {"a": 1, "b": 9}), ('input["a"]', {"a": 1}, {"b": 2}),
                                  ('input["a"]', "x", {"a": 1}), ('input["0"]', [1, 2], [9, 3]),
                                  ('input.x["k"]', {"x": {"k": 1, "l": 2}}, {"x": {"k": 3, "l": 3}}),
                                  ('input[0]["k"]', [{"k": 1, "l": 2}], [{"k": 3, "l": 3}])):
            self.assertEqual({}, self.verb([path], {"input": before}, {"input": now}), (path, before, now))
        self.assertEqual({}, self.verb(['input["a"]'], {}, {"input": {"a": 1}}))

    def test_an_index_inside_a_path_leads_nowhere_in_an_object(self) -> None:
        for path in ('input["x"]["k"]', 'input["x"].k'):
            self.assertEqual({"a": "update"}, self.verb([path], {"input": {"x": {"k": 1}}}, {"input": {"x": {"k": 3}}}))

    def test_a_path_keeps_its_part_where_the_rest_changes(self) -> None:
        content = stack(a={"input": {"x": {"k": 3, "l": 3}, "y": [7, 8]}, "lifecycle": {
            "ignore_changes": ['input.x["k"]', "input.y[1]"]}})
        plan = planned(content, applied(stack(a={"input": {"x": {"k": 1, "l": 2}, "y": [5, 6]}})))
        self.assertEqual({"x": {"k": 1, "l": 2}, "y": [7, 6]}, after(plan, "terraform_data.a")["input"])

    def test_an_element_of_a_map_is_kept_left_out_or_put_back(self) -> None:
        def keepers(before: Any, now: Any) -> Any:
            content = stack(pet_p={"length": 3, "keepers": now, "lifecycle": {"ignore_changes": ['keepers["a"]', "length"]}})
            change = planned(content, applied(stack(pet_p={"keepers": before}))).changes[0]
            return change.verb, change.after and change.after["keepers"]
        self.assertEqual(("noop", {"a": "1", "b": "x"}), keepers({"a": "1", "b": "x"}, {"a": "2", "b": "x"}))
        self.assertEqual(("noop", {"a": "1"}), keepers({"a": "1"}, None))
        self.assertEqual(("noop", None), keepers(None, None))
        self.assertEqual(("replace", {"a": "2", "b": "y"}), keepers({"a": "1", "b": "x"}, {"a": "2", "b": "y"}))

    def test_it_plays_no_part_in_a_create(self) -> None:
        plan = planned(stack(a={"input": 2, "lifecycle": {"ignore_changes": ["input"]}}))
        self.assertEqual(2, after(plan, "terraform_data.a")["input"])

    def test_it_plays_no_part_in_an_asked_replacement(self) -> None:
        content = stack(a={"input": 2, "lifecycle": {"ignore_changes": ["input"]}})
        plan = planned(content, applied(stack(a={"input": 1})), replaces=["terraform_data.a"])
        self.assertEqual(2, after(plan, "terraform_data.a")["input"])

    def test_an_unknown_that_is_ignored_changes_nothing(self) -> None:
        content = stack(new={}, a={"input": "${terraform_data.new.id}", "lifecycle": {"ignore_changes": ["input"]}})
        self.assertEqual({"new": "create"}, actions(planned(content, applied(stack(a={"input": "x"})))))


class PreventDestroy(unittest.TestCase):
    """The plan fails before anything runs, with the address and what called for it."""

    KEPT = {"lifecycle": {"prevent_destroy": True}}

    def test_an_update_in_place_passes(self) -> None:
        plan = planned(stack(a={"input": 2, **self.KEPT}), applied(stack(a={"input": 1})))
        self.assertEqual({"a": "update"}, actions(plan))

    def test_a_replacement_fails_and_names_the_argument(self) -> None:
        plan = planned(stack(a={"triggers_replace": 2, **self.KEPT}), applied(stack(a={"triggers_replace": 1})))
        self.assertEqual([("Instance cannot be destroyed", "terraform_data.a")], problems(plan))
        self.assertIn("The plan calls for it because triggers_replace forces replacement.", plan.errors[0].detail)

    def test_a_destroy_fails(self) -> None:
        content = stack(a=dict(self.KEPT), b={})
        plan = planned(content, applied(content), mode="destroy")
        self.assertEqual(([("Instance cannot be destroyed", "terraform_data.a")], []), (problems(plan), plan.changes))

    def test_what_depends_on_it_is_not_planned_and_the_rest_is(self) -> None:
        content = stack(a={"triggers_replace": 1, **self.KEPT}, b={"input": "${terraform_data.a.id}"})
        state = applied(content)
        content["resource"]["terraform_data"]["a"]["triggers_replace"] = 2
        content["resource"]["terraform_data"]["c"] = {}
        self.assertEqual(["terraform_data.a", "terraform_data.c"],
                         [change.address for change in planned(content, state).changed()])

    def test_without_its_block_it_is_no_longer_protected(self) -> None:
        self.assertEqual({"a": "delete"}, actions(planned(stack(b={}), applied(stack(a=dict(self.KEPT), b={})))))


class CreateBeforeDestroy(unittest.TestCase):

    def marked(self, **resources: Any) -> Dict[str, str]:
        """Return which resources are created first, each with the one that asked for it."""
        return main.effective_cbd(config(stack(**resources)), main.resource_graph(config(stack(**resources))))

    def test_it_propagates_to_all_that_is_needed_and_the_origin_is_kept(self) -> None:
        found = self.marked(a={}, b={"input": "${terraform_data.a.id}"},
                            c={"depends_on": ["terraform_data.b"], "lifecycle": {"create_before_destroy": True}})
        self.assertEqual(dict.fromkeys(("terraform_data.a", "terraform_data.b", "terraform_data.c"), "terraform_data.c"), found)

    def test_it_goes_over_an_explicit_false(self) -> None:
        found = self.marked(a={"lifecycle": {"create_before_destroy": False}},
                            b={"input": "${terraform_data.a.id}", "lifecycle": {"create_before_destroy": True}})
        self.assertEqual({"terraform_data.a": "terraform_data.b", "terraform_data.b": "terraform_data.b"}, found)

    def test_it_does_not_go_to_dependents(self) -> None:
        found = self.marked(a={"lifecycle": {"create_before_destroy": True}}, b={"input": "${terraform_data.a.id}"})
        self.assertEqual({"terraform_data.a": "terraform_data.a"}, found)

    def test_one_that_asks_itself_is_its_own_origin(self) -> None:
        asks = {"lifecycle": {"create_before_destroy": True}}
        found = self.marked(b=dict(asks), a={"input": "${terraform_data.b.id}", **asks})
        self.assertEqual({"terraform_data.a": "terraform_data.a", "terraform_data.b": "terraform_data.b"}, found)

    def test_the_configuration_wins_over_the_recorded_flag(self) -> None:
        state = applied(stack(a={"triggers_replace": 1, "lifecycle": {"create_before_destroy": True}}))
        self.assertEqual({"a": "replace"}, actions(planned(stack(a={"triggers_replace": 2}), state)))

    def test_a_removed_object_has_the_recorded_flag(self) -> None:
        state = applied(stack(a={"lifecycle": {"create_before_destroy": True}}))
        self.assertTrue(change_of(planned(stack(b={}), state), "terraform_data.a").create_before_destroy)

    def test_a_resource_that_targets_leave_out_does_not_count(self) -> None:
        content = stack(a={}, b={"input": "${terraform_data.a.id}", "lifecycle": {"create_before_destroy": True}})
        plan = planned(content, targets=["terraform_data.a"])
        self.assertEqual({}, plan.create_before_destroy)


class Targets(unittest.TestCase):

    CHAIN = stack({"all": "${terraform_data.c.id}", "some": "${terraform_data.a.id}", "none": "x"},
                  a={}, b={"input": "${terraform_data.a.id}"}, c={"input": "${terraform_data.b.id}"}, d={})

    def test_a_target_takes_what_it_needs_and_nothing_else(self) -> None:
        self.assertEqual({"a": "create", "b": "create"}, actions(planned(self.CHAIN, targets=["terraform_data.b"])))

    def test_an_exclude_drops_what_needs_it_and_nothing_else(self) -> None:
        self.assertEqual({"a": "create", "d": "create"}, actions(planned(self.CHAIN, excludes=["terraform_data.b"])))

    def test_an_output_is_kept_when_all_behind_it_is_and_something_is(self) -> None:
        self.assertEqual(["some"], [item.name for item in planned(self.CHAIN, targets=["terraform_data.b"]).outputs])
        self.assertEqual(["some"], [item.name for item in planned(self.CHAIN, excludes=["terraform_data.b"]).outputs])

    def test_six_of_the_demo_are_behind_its_index(self) -> None:
        plan = planned((FIXTURES / "demo" / "main.tf.json").read_text(), targets=["local_file.index"])
        self.assertEqual(6, len(plan.changed()))
        self.assertEqual(["Resource targeting is in effect"], [item.summary for item in plan.warnings])

    def test_a_destroy_takes_what_needs_the_target(self) -> None:
        state = applied(self.CHAIN)
        self.assertEqual({"b": "delete", "c": "delete"},
                         actions(planned(self.CHAIN, state, mode="destroy", targets=["terraform_data.b"])))

    def test_a_destroy_keeps_the_excluded_and_what_it_needs(self) -> None:
        state = applied(self.CHAIN)
        self.assertEqual({"c": "delete", "d": "delete"},
                         actions(planned(self.CHAIN, state, mode="destroy", excludes=["terraform_data.b"])))

    def test_a_removed_object_goes_only_when_it_is_named(self) -> None:
        state = applied(stack(a={}, b={"input": "${terraform_data.a.id}"}, c={}))
        content = stack(c={"input": 1})
        self.assertEqual([{"c": "update"}, {"a": "delete"}], [
            actions(planned(content, state, targets=[f"terraform_data.{name}"])) for name in ("c", "a")])

    def test_an_address_that_does_not_exist_selects_nothing(self) -> None:
        self.assertEqual({}, actions(planned(self.CHAIN, targets=["terraform_data.no"])))


class Deposed(unittest.TestCase):

    def state(self) -> State:
        """Return a state with one object and one that an earlier run left deposed."""
        state = applied(stack(a={}))
        state.deposed = {"terraform_data.a": {"0a1b2c3d": state.objects["terraform_data.a"]}}
        return state

    def test_it_is_destroyed_by_the_next_plan(self) -> None:
        self.assertEqual({"a 0a1b2c3d": "delete"}, actions(planned(stack(a={}), self.state())))

    def test_current_objects_come_before_deposed_ones(self) -> None:
        plan = planned(stack(a={"input": 1}), self.state())
        self.assertEqual(["", "0a1b2c3d"], [change.deposed for change in plan.changes])

    def test_one_that_is_gone_is_forgotten(self) -> None:
        plan = planned(stack(a={}), self.state(), gone=["terraform_data.a 0a1b2c3d"])
        self.assertEqual(({}, {}), (actions(plan), plan.prior.deposed))

    def test_prevent_destroy_does_not_protect_it(self) -> None:
        self.assertEqual({"a 0a1b2c3d": "delete"}, actions(planned(stack(a=dict(PreventDestroy.KEPT)), self.state())))


class Sensitive(unittest.TestCase):
    """What a sensitive value becomes part of is marked, wherever it goes."""

    SECRET = {"filename": "f", "sensitive_content": "s"}

    def paths(self, value: Any) -> Any:
        """Return the sensitive paths of a terraform_data with this input."""
        return change_of(planned(stack(file_f=self.SECRET, a={"input": value})), "terraform_data.a").after_sensitive

    def test_a_value_a_text_and_an_element_are_marked_where_they_stand(self) -> None:
        secret = "${local_file.f.sensitive_content}"
        self.assertEqual([(("input",),), (("input",),), (("input", "l", 1),), ()],
                         [self.paths(value) for value in (secret, f"x{secret}", {"l": [1, secret]}, "${local_file.f.filename}")])

    def test_through_a_local_and_a_whole_object(self) -> None:
        plan = planned(stack(values={"l": "${local_file.f}"}, file_f=self.SECRET, a={"input": "${local.l}"}))
        self.assertEqual((("input", "sensitive_content"),), change_of(plan, "terraform_data.a").after_sensitive)

    def test_a_sensitive_key_marks_the_whole_object(self) -> None:
        self.assertEqual((("input",),), self.paths({"${local_file.f.sensitive_content}": 1}))

    def test_an_output_must_say_that_it_is_sensitive(self) -> None:
        plan = planned(stack({"o": "${local_file.f.sensitive_content}"}, file_f=self.SECRET))
        self.assertEqual(["Output refers to sensitive values"], [item.summary for item in plan.errors])


class Outputs(unittest.TestCase):

    def verbs(self, before: Dict[str, Any], now: Dict[str, Any], **resources: Any) -> Dict[str, Tuple[str, Any]]:
        """Return verb and planned value of every output."""
        plan = planned(stack(now, **resources), applied(stack(before)))
        return {item.name: (item.verb, shown(item.after)) for item in plan.outputs}

    def test_each_is_created_updated_left_or_deleted(self) -> None:
        self.assertEqual({"same": ("noop", 1), "new": ("create", "x"), "other": ("update", 2), "gone": ("delete", None)},
                         self.verbs({"same": 1, "other": 1, "gone": 1}, {"same": 1, "other": 2, "new": "x"}))

    def test_a_null_is_not_stored(self) -> None:
        self.assertEqual({"n": ("noop", None), "k": ("update", None)}, self.verbs({"k": 1}, {"n": None, "k": None}))

    def test_they_store_no_minus_zero(self) -> None:
        self.assertEqual({"o": ("noop", 0), "p": ("create", [0, {"k": 0}])},
                         self.verbs({"o": 0}, {"o": -0.0, "p": [-0.0, {"k": -0.0}]}))

    def test_an_unknown_is_unknown_in_part(self) -> None:
        self.assertEqual({"o": ("create", ["?", 1])}, self.verbs({}, {"o": ["${terraform_data.a.id}", 1]}, a={}))

    def test_outputs_alone_make_a_plan_that_does_something(self) -> None:
        self.assertFalse(planned(stack({"o": 1})).does_nothing())
        self.assertTrue(planned(stack({"o": None})).does_nothing())

    def test_a_destroy_deletes_them_unless_it_is_targeted(self) -> None:
        content = stack({"o": 1}, a={})
        found = [planned(content, applied(content), mode="destroy", targets=targets).outputs
                 for targets in ((), ("terraform_data.a",))]
        self.assertEqual([["delete"], []], [[item.verb for item in items] for items in found])

    def test_the_refreshed_state_holds_what_the_configuration_makes_of_them_now(self) -> None:
        before = {"same": 1, "other": "x", "null": "x", "gone": 1, "later": "x"}
        now = {"same": 1, "other": "${terraform_data.a.input}", "null": None, "later": "${terraform_data.b.id}", "new": "n"}
        state = applied(stack(before, a={"input": "y"}))
        content, kept = stack(now, a={"input": "y"}, b={}), {"same": 1, "other": "y", "gone": 1, "later": "x", "new": "n"}
        for mode in ("normal", "destroy", "refresh-only"):
            plan = planned(content, state, mode=mode)
            self.assertEqual(kept, {name: output.value for name, output in plan.prior.outputs.items()}, mode)
        unread = planned(content, state, mode="destroy", refresh=False)
        self.assertEqual(before, {name: output.value for name, output in unread.prior.outputs.items()})

    def test_a_destroy_deletes_them_as_the_refreshed_state_holds_them(self) -> None:
        state = applied(stack({"other": "x", "null": "x"}))
        plan = planned(stack({"other": "y", "null": None, "new": "n"}), state, mode="destroy")
        self.assertEqual([("new", "delete", "n"), ("other", "delete", "y")],
                         [(item.name, item.verb, item.before) for item in plan.outputs])

    def test_a_targeted_destroy_brings_those_up_to_date_that_its_refresh_sees(self) -> None:
        state = applied(stack({"seen": "x", "unseen": "x"}, a={"input": "y"}, b={"input": "y"}))
        now = {"seen": "${terraform_data.a.input}", "unseen": "${terraform_data.b.input}"}
        plan = planned(stack(now, a={"input": "y"}, b={"input": "y"}), state, mode="destroy", targets=["terraform_data.a"])
        self.assertEqual([], plan.outputs)
        self.assertEqual({"seen": "y", "unseen": "x"}, {name: output.value for name, output in plan.prior.outputs.items()})


class RelevantAttributes(unittest.TestCase):
    """What a change refers to, by all of its expressions, and what these lead on to; recorded with terraform 1.11.4."""

    BELOW = {"z": {"input": {"k": "${terraform_data.x.id}", "l": 1}}, "x": {}, "y": {"input": "${terraform_data.z.id}"}}

    def used(self, value: Any, **options: Any) -> Set[str]:
        """Return what a replaced resource with an unchanged value uses."""
        before, now = (stack(e={"input": value, "triggers_replace": version}, **self.BELOW) for version in (1, 2))
        plan = planned(now, applied(before), **options)
        return {".".join((address[15:], *map(str, path))) for address, path in plan.relevant}

    def test_an_unchanged_expression_of_what_changes_counts(self) -> None:
        self.assertEqual({"z.output"}, self.used("${terraform_data.z.output}"))

    def test_an_argument_leads_on_to_what_it_refers_to_and_a_computed_attribute_does_not(self) -> None:
        self.assertEqual({"y.input", "z.id"}, self.used("${terraform_data.y.input}"))
        self.assertEqual({"y.output"}, self.used("${terraform_data.y.output}"))
        self.assertEqual({"z.input.l", "x.id"}, self.used("${terraform_data.z.input.l}"))

    def test_a_whole_object_leads_on_to_all_of_its_arguments(self) -> None:
        self.assertEqual({"y", "z.id"}, self.used("${terraform_data.y}"))

    def test_outputs_count_and_destroys_too(self) -> None:
        content = stack({"o": "${terraform_data.y.input}"}, **self.BELOW)
        plan = planned(content, applied(stack(**self.BELOW)))
        self.assertEqual({("terraform_data.y", ("input",)), ("terraform_data.z", ("id",))}, plan.relevant)
        self.assertEqual({"z.output", "z.id", "x.id"}, self.used("${terraform_data.z.output}", mode="destroy"))


class Errors(unittest.TestCase):

    def test_all_independent_errors_are_reported_and_the_rest_is_planned(self) -> None:
        content = stack(a={"input": {"k": 1}}, b={"input": "${terraform_data.a.output.no}"}, c={"input": 1})
        state = applied(stack(a={"input": {"k": 1}}))
        plan = planned(content, state)
        self.assertEqual((["Unsupported attribute"], ["terraform_data.c"]),
                         ([item.summary for item in plan.errors], [change.address for change in plan.changed()]))

    def test_what_needs_a_failed_resource_is_passed_over_in_silence(self) -> None:
        content = stack({"o": "${terraform_data.c.id}"}, a={"input": {"k": 1}}, b={"input": "${terraform_data.a.output.no}"},
                        c={"input": "${terraform_data.b.id}"})
        plan = planned(content, applied(stack(a={"input": {"k": 1}})))
        self.assertEqual((1, [], []), (len(plan.errors), plan.changed(), plan.outputs))

    def test_a_null_in_a_text_is_refused_once_it_is_known(self) -> None:
        plan = planned(stack(a={}, b={"input": "x${terraform_data.a.output}"}), applied(stack(a={})))
        self.assertEqual(["Invalid template interpolation value"], [item.summary for item in plan.errors])


class MissingSteps(unittest.TestCase):
    """What a value does not have: in the words of terraform 1.11.4, with the value in question."""

    VALUES = {"o": {"k": "v"}, "p": {"a": 1, "b": 2}, "t": ["a", "b"], "e": [], "n": 5, "z": None, "d": {"x": {"y": ["q"]}}}
    NOT_THERE = "The given key does not identify an element in this collection value"

    def missed(self, reference: str) -> Tuple[str, str, str]:
        """Return summary, value line and detail of the error of a reference."""
        content = stack(values=self.VALUES, pet_p={"keepers": {"k": "v"}}, q={"input": "${%s}" % reference})
        try:
            found, = planned(content).errors
        except main.ConfigError as error:
            found, = error.diagnostics
        return found.summary, "".join(found.values), found.detail

    def test_an_attribute(self) -> None:
        for reference, value, detail in (
                ("local.o.zz", 'local.o is object with 1 attribute "k"', 'This object does not have an attribute named "zz".'),
                ("local.d.x.z", 'local.d.x is object with 1 attribute "y"', 'This object does not have an attribute named "z".'),
                ("local.t.zz", "local.t is tuple with 2 elements", "This value does not have any attributes."),
                ('local.d.x["y"].q', 'local.d.x["y"] is tuple with 1 element', "This value does not have any attributes."),
                ("local.n.x", "local.n is 5", "Can't access attributes on a primitive-typed value (number)."),
                ("random_pet.p.id.x", "", "Can't access attributes on a primitive-typed value (string).")):
            self.assertEqual(("Unsupported attribute", value, detail), self.missed(reference))
        self.assertEqual(("Attempt to get attribute from null value", "local.z is null",
                          "This value is null, so it does not have any attributes."), self.missed("local.z.x"))
        self.assertEqual(("Missing map element", "random_pet.p.keepers is map of string with 1 element",
                          'This map does not have an element with the key "zz".'), self.missed("random_pet.p.keepers.zz"))

    def test_an_index(self) -> None:
        for reference, value, detail in (
                ('local.o["zz"]', 'local.o is object with 1 attribute "k"', self.NOT_THERE + "."),
                ('local.p["zz"]', "local.p is object with 2 attributes", self.NOT_THERE + "."),
                ("local.o[0]", 'local.o is object with 1 attribute "k"',
                 self.NOT_THERE + ". An object only supports looking up attributes by name, not by numeric index."),
                ("local.t[5]", "local.t is tuple with 2 elements", self.NOT_THERE + "."),
                ('local.t["zz"]', "local.t is tuple with 2 elements", self.NOT_THERE + ": a number is required."),
                ("local.e[0]", "local.e is empty tuple", self.NOT_THERE + ": the collection has no elements."),
                ('random_pet.p.keepers["zz"]', "random_pet.p.keepers is map of string with 1 element", self.NOT_THERE + "."),
                ("local.n[0]", "local.n is 5", "This value does not have any indices."),
                ("random_pet.p.id[0]", "", "This value does not have any indices.")):
            self.assertEqual(("Invalid index", value, detail), self.missed(reference))
        self.assertEqual(("Attempt to index null value", "local.z is null",
                          "This value is null, so it does not have any indices."), self.missed("local.z[0]"))

    def test_an_object_has_no_numbers_though_its_names_look_like_some(self) -> None:
        content = stack(values={"o": {"0": "v"}}, q={"input": ['${local.o["0"]}']})
        self.assertEqual(["v"], after(planned(content), "terraform_data.q")["input"])
        content = stack(values={"o": {"0": "v"}}, q={"input": "${local.o[0]}"})
        with self.assertRaises(main.ConfigError):
            planned(content)


class DestroyWithoutTheConfiguration(unittest.TestCase):

    def test_with_refresh_false_nothing_of_it_is_evaluated(self) -> None:
        content = stack(values={"bad": "${local.no}"}, a={})
        plan = planned(content, applied(stack(a={})), mode="destroy", refresh=False)
        self.assertEqual({"a": "delete"}, actions(plan))

    def test_with_refresh_a_bad_expression_stops_it(self) -> None:
        with self.assertRaises(main.ConfigError):
            planned(stack(values={"bad": "${local.no}"}, a={}), applied(stack(a={})), mode="destroy")


if __name__ == "__main__":
    unittest.main()
