"""What can happen to an object: guards, ignored changes, triggers, targets, failed steps, drift, saved plans."""
from __future__ import annotations

import json
import os
import re
import shutil
import unittest
from typing import Any, List

from support import FIXTURES, InStack, failing, write

import main

DATA = "terraform_data"
GUARD = {"lifecycle": {"prevent_destroy": True}}
UPDATES = "will be updated in-place"


def known(attributes: Any) -> Any:
    """Return attributes as a provider returns them that made half of an object: what it did not reach is null."""
    return {name: None if isinstance(value, main.Unknown) else value for name, value in attributes.items()}


def steps(log: str) -> List[str]:
    """Return the start and end lines of a log without ids and times."""
    lines = [re.sub(r" \[id=.*| after \d+s.*|\.\.\..*", "", line) for line in log.splitlines()]
    return [line for line in lines if re.match(r"\S+( \(deposed object \w+\))?: (Creat|Modif|Destr)", line)]


class PreventDestroy(InStack):
    def setUp(self) -> None:
        super().setUp()
        self.stack({DATA: {"a": {"input": 1, "triggers_replace": 1, **GUARD}, "b": {"input": 1}}})
        self.done("apply")

    def guarded(self, **arguments: Any) -> None:
        """Change what the guarded resource says, and b."""
        self.stack({DATA: {"a": {"input": 1, "triggers_replace": 1, **GUARD, **arguments}, "b": {"input": 2}}})

    def test_a_changed_input_is_an_update_and_passes(self) -> None:
        self.guarded(input=2)
        self.done("apply")
        self.assertEqual(self.planned(), [])

    def test_a_replacement_fails_before_anything_runs_and_names_address_and_argument(self) -> None:
        self.guarded(triggers_replace=2)
        before = self.state()
        self.assertEqual(self.refused("apply"), """
Error: Instance cannot be destroyed

  with terraform_data.a,
  on main.tf.json line 4, in resource.terraform_data:
   4:       "a": {

Resource instance terraform_data.a has prevent_destroy set, but the plan
calls for it to be destroyed. The plan calls for it because triggers_replace
forces replacement.

To proceed, either disable prevent_destroy for this resource or exclude
instances of this resource from this round using:
    -exclude="terraform_data.a"
""")
        self.assertEqual(self.state(), before)

    def test_what_could_be_planned_is_shown_with_the_blocked_replacement(self) -> None:
        self.guarded(triggers_replace=2)
        ran = self.run_main("plan")
        self.assertIn("minigraph planned the following actions, but then encountered a problem:\n", ran.out)
        self.assertIn("Plan: 1 to add, 1 to change, 1 to destroy.\n", ran.out)
        self.assertEqual(self.planned(), ["terraform_data.a must be replaced", f"terraform_data.b {UPDATES}"])

    def test_replace_option_and_taint_are_stopped_with_their_reason(self) -> None:
        self.assertIn("because replacement was\nrequested.", self.refused("plan", "-replace=terraform_data.a"))
        self.done("taint", "terraform_data.a")
        self.assertIn("because it is tainted.", self.refused("apply"))
        self.assertEqual(self.objects()["terraform_data.a"], ["tainted"])

    def test_destroy_is_stopped_whole(self) -> None:
        for command in (["destroy"], ["apply", "-destroy"], ["plan", "-destroy"]):
            with self.subTest(command=command):
                ran = self.run_main(*command)
                self.assertEqual((ran.status, ran.err.count("Error: "), "#" in ran.out), (1, 1, False))
        self.assertEqual(sorted(self.objects()), ["terraform_data.a", "terraform_data.b"])

    def test_destroy_of_something_else_passes(self) -> None:
        self.done("destroy", "-target=terraform_data.b")
        self.assertEqual(sorted(self.objects()), ["terraform_data.a"])

    def test_excluding_it_lets_the_rest_go(self) -> None:
        self.guarded(triggers_replace=2)
        self.done("apply", "-exclude=terraform_data.a")
        self.done("destroy", "-exclude=terraform_data.a")
        self.assertEqual(sorted(self.objects()), ["terraform_data.a"])

    def test_every_protected_object_is_named(self) -> None:
        self.stack({DATA: {name: {"triggers_replace": 2, **GUARD} for name in "ab"}})
        self.assertEqual(re.findall(r"-exclude=.*", self.refused("plan")),
                         ['-exclude="terraform_data.a"', '-exclude="terraform_data.b"'])

    def test_without_its_block_the_object_has_no_guard(self) -> None:
        self.stack({DATA: {"b": {"input": 1}}})
        self.done("apply")
        self.assertEqual(sorted(self.objects()), ["terraform_data.b"])

    def test_a_plan_that_was_stopped_can_be_saved_but_not_applied(self) -> None:
        self.guarded(triggers_replace=2)
        self.refused("plan", "-out=p")
        self.assertIn("Error: Cannot apply incomplete plan\n", self.refused("apply", "p"))

    def test_a_file_that_is_gone_is_created_again(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "content": "f", **GUARD}}})
        self.done("apply")
        self.refused("destroy")
        os.unlink(self.path("f"))
        self.done("apply")
        self.assertTrue(os.path.exists(self.path("f")))


class IgnoreChanges(InStack):
    def begin(self, ignored: Any, first: Any, then: Any, **lifecycle: Any) -> None:
        """Apply the first arguments of a, and write the second ones."""
        life = {"lifecycle": {"ignore_changes": ignored, **lifecycle}}
        self.stack({DATA: {"a": {**first, **life}, "src": {"input": 1}}})
        self.done("apply")
        self.stack({DATA: {"a": {**then, **life}, "src": {"input": 1}}})

    def after(self, *words: str) -> Any:
        """Return what a plan leaves of a's input and triggers."""
        self.done("plan", "-out=p", *words)
        change = next(item["change"] for item in json.loads(self.done("show", "-json", "p"))["resource_changes"])
        return change["actions"], change["after"].get("input"), change["after"].get("triggers_replace")

    def test_a_named_argument_keeps_its_stored_value_and_the_others_change(self) -> None:
        self.begin(["input"], {"input": 1}, {"input": 2})
        self.assertEqual(self.after(), (["no-op"], 1, None))

    def test_a_path_leads_into_a_value(self) -> None:
        self.begin(["input.x"], {"input": {"x": 1, "y": 1}}, {"input": {"x": 2, "y": 2}})
        self.assertEqual(self.after(), (["update"], {"x": 1, "y": 2}, None))

    def test_a_path_into_a_list_names_one_element(self) -> None:
        self.begin(["input[1]"], {"input": [1, 1]}, {"input": [2, 2]})
        self.assertEqual(self.after(), (["update"], [2, 1], None))

    def test_all_ignores_arguments_that_force_replacement_too(self) -> None:
        self.begin("all", {"input": 1, "triggers_replace": 1}, {"input": 2, "triggers_replace": 2})
        self.assertEqual(self.after(), (["no-op"], 1, 1))

    def test_an_element_of_keepers_does_not_replace(self) -> None:
        def pet(value: str) -> Any:
            return {"random_pet": {"p": {"keepers": {"a": value}, "lifecycle": {"ignore_changes": ['keepers["a"]']}}}}
        self.stack(pet("1"))
        self.done("apply")
        self.stack(pet("2"))
        self.assertEqual(self.planned(), [])

    def test_a_created_object_is_as_written(self) -> None:
        self.stack({"local_file": {"f": {"filename": "${path.module}/f", "content": "new",
                                         "lifecycle": {"ignore_changes": ["content"]}}}})
        self.done("apply")
        self.assertEqual(self.planned(), [])
        os.unlink(self.path("f"))
        self.done("apply")
        with open(self.path("f"), encoding="utf-8") as file:
            self.assertEqual(file.read(), "new")

    def test_whatever_replaces_an_object_makes_the_new_one_as_written(self) -> None:
        """As terraform 1.11.4 does it, for -replace, a forced replacement and taint alike."""
        self.begin(["input"], {"input": 1}, {"input": 2})
        self.assertEqual(self.after("-replace=terraform_data.a"), (["delete", "create"], 2, None))
        self.begin(["input"], {"input": 1, "triggers_replace": 1}, {"input": 2, "triggers_replace": 2})
        self.assertEqual(self.after(), (["delete", "create"], 2, 2))
        self.begin(["input"], {"input": 1}, {"input": 2})
        self.done("taint", "terraform_data.a")
        self.assertEqual(self.after(), (["delete", "create"], 2, None))

    def test_a_fired_trigger_makes_the_new_one_as_written(self) -> None:
        self.begin(["input"], {"input": 1}, {"input": 2}, replace_triggered_by=["terraform_data.src"])
        self.assertEqual(self.after("-replace=terraform_data.src"), (["delete", "create"], 2, None))

    def test_apply_makes_what_the_plan_showed(self) -> None:
        self.begin(["input"], {"input": 1, "triggers_replace": 1}, {"input": 2, "triggers_replace": 2})
        self.done("apply")
        self.assertEqual(self.state()["resources"][0]["instances"][0]["attributes"]["input"]["value"], 2)
        self.assertEqual(self.planned(), [])


class ReplaceTriggeredBy(InStack):
    def watching(self, source: Any, **watched: List[str]) -> None:
        """Write a source and resources with these triggers."""
        others = {name: {"lifecycle": {"replace_triggered_by": found}} for name, found in watched.items()}
        self.stack({DATA: {"src": source, **others}})

    def fired(self, *words: str) -> List[str]:
        """Return the names of the resources that a trigger replaces."""
        pattern = r"terraform_data\.(\w+) will be replaced due to changes in replace_triggered_by"
        return re.findall(pattern, "\n".join(self.planned(*words)))

    def test_a_whole_resource_fires_on_any_change_and_an_attribute_on_its_own(self) -> None:
        watched = {"whole": [f"{DATA}.src"], "x": [f"{DATA}.src.input.x"], "y": [f'{DATA}.src.input["y"]'],
                   "id": [f"{DATA}.src.id"], "output": [f"{DATA}.src.output"]}
        self.watching({"input": {"x": 1, "y": 1}}, **watched)
        self.done("apply")
        self.assertEqual(self.fired(), [])
        self.watching({"input": {"x": 2, "y": 1}}, **watched)
        self.assertEqual(self.fired(), ["output", "whole", "x"])
        self.watching({"input": {"x": 1, "y": 2}}, **watched)
        self.assertEqual(self.fired(), ["output", "whole", "y"])
        self.watching({"input": {"x": 1, "y": 1}}, **watched)
        self.assertEqual(self.fired("-replace=terraform_data.src"), ["id", "output", "whole"])

    def test_a_chain_fires_from_one_end_to_the_other(self) -> None:
        watched = {"one": [f"{DATA}.src"], "two": [f"{DATA}.one.id"], "three": [f"{DATA}.two"]}
        self.watching({"input": 1}, **watched)
        self.done("apply")
        self.watching({"input": 2}, **watched)
        self.assertEqual(self.fired(), ["one", "three", "two"])
        self.done("apply")
        self.assertEqual(self.planned(), [])

    def test_the_creation_of_the_watched_resource_fires(self) -> None:
        """OpenTofu since 1.12; terraform 1.11 does not."""
        self.stack({DATA: {"w": {}}})
        self.done("apply")
        self.watching({"input": 1}, w=[f"{DATA}.src"])
        self.assertEqual(self.fired(), ["w"])

    def test_a_part_that_comes_or_goes_fires(self) -> None:
        for part, one, other in ((".k", {"j": 1}, {"j": 1, "k": 2}), ("[1]", [1], [1, 2]), (".k", "x", {"k": 1}),
                                 (".k", None, {"k": 1})):
            for before, after in ((one, other), (other, one)):
                self.stack({DATA: {"src": {"input": before}, "w": {}}})
                self.done("apply")
                self.watching({"input": after}, w=[f"{DATA}.src.input{part}"])
                self.assertEqual(self.fired(), ["w"], (before, after))

    def test_a_part_that_the_value_does_not_have_is_an_error_at_its_place(self) -> None:
        watched = {"w": [f"{DATA}.src.input.zz"]}
        self.watching({"input": {"x": 1}}, **watched)
        self.done("apply")
        self.watching({"input": {"x": 2}}, **watched)
        error = self.refused("plan")
        self.assertIn("in resource.terraform_data.w.lifecycle.replace_triggered_by:\n", error)
        self.assertIn('This object does not have an attribute named "zz".\n', error)


class Targets(InStack):
    def setUp(self) -> None:
        super().setUp()
        shutil.copy(FIXTURES / "demo" / "main.tf.json", self.directory)

    def test_a_target_plans_itself_and_all_that_it_needs(self) -> None:
        ran = self.run_main("plan", "-target=local_file.index")
        self.assertEqual(self.planned("-target=local_file.index"), [f"{address} will be created" for address in (
            "local_file.config", "local_file.index", "random_pet.name", "terraform_data.release", "time_sleep.warm_a",
            "time_sleep.warm_b")])
        self.assertIn("Plan: 6 to add, 0 to change, 0 to destroy.\n", ran.out)
        self.assertIn("\nWarning: Resource targeting is in effect\n", ran.out)

    def test_apply_warns_that_the_state_is_only_partly_reconciled(self) -> None:
        out = self.done("apply", "-target=local_file.index")
        self.assertIn("\nWarning: Applied changes may be incomplete\n", out)
        self.assertIn("only partly", out)
        self.assertEqual(len(self.objects()), 6)

    def test_destroy_takes_the_target_and_all_that_needs_it(self) -> None:
        self.done("apply")
        out = self.done("destroy", "-target=random_pet.name")
        self.assertIn("Plan: 0 to add, 0 to change, 4 to destroy.\n", out)
        self.assertIn("\nDestroy complete! Resources: 4 destroyed.\n", out)
        self.assertEqual(self.objects().keys() & {"random_pet.name", "terraform_data.release", "local_file.config",
                                                  "local_file.index"}, set())
        self.assertEqual(list(self.state()["outputs"]), ["release"])

    def test_exclude_leaves_out_a_resource_and_all_that_needs_it(self) -> None:
        self.assertEqual(self.planned("-exclude=random_pet.name"), [f"{address} will be created" for address in (
            "local_file.pointer", "local_file.versioned", "time_sleep.warm_a", "time_sleep.warm_b", "time_sleep.warm_c",
            "time_sleep.warm_d")])

    def test_exclude_of_a_destroy_keeps_what_the_excluded_needs(self) -> None:
        self.done("apply")
        self.done("destroy", "-exclude=local_file.config")
        self.assertEqual(sorted(self.objects()), ["local_file.config", "random_pet.name", "terraform_data.release"])

    def test_an_orphan_goes_only_when_named(self) -> None:
        self.done("apply")
        self.stack({"random_pet": {"name": {"length": 2}}})
        self.assertEqual(self.planned("-target=random_pet.name"), [])
        self.assertEqual(self.planned("-target=local_file.pointer")[0], "local_file.pointer will be destroyed")

    def test_a_replacement_pulled_in_leaves_no_deposed_object_behind(self) -> None:
        self.done("apply")
        text = (FIXTURES / "demo" / "main.tf.json").read_text().replace("/v1.txt", "/v2.txt")
        write(self.directory, "main.tf.json", text)
        self.assertIn("Resources: 2 added, 0 changed, 2 destroyed.", self.done("apply", "-target=local_file.pointer"))
        self.assertEqual(self.objects()["local_file.versioned"], ["current"])
        self.assertEqual(sorted(os.listdir(self.path("out"))), ["config.txt", "index.html", "pointer.txt", "v2.txt"])

    def test_a_misspelt_address_gets_a_warning_with_the_nearest_one(self) -> None:
        for option in ("-target", "-exclude", "-replace"):
            for command in ("plan", "apply"):
                with self.subTest(option=option, command=command):
                    out = self.done(command, f"{option}=local_file.indx")
                    self.assertIn(f"Warning: {option}=local_file.indx matches nothing Neither the configuration nor the state"
                                  ' has such a resource. Did you mean "local_file.index"?', " ".join(out.split()))
        self.assertNotIn("matches nothing", self.done("destroy", "-target=local_file.index"))

    def test_replace_replaces_what_did_not_change_and_nothing_else(self) -> None:
        self.done("apply")
        self.assertEqual(self.planned("-replace=time_sleep.warm_c"), ["time_sleep.warm_c will be replaced, as requested"])
        self.assertEqual(steps(self.done("apply", "-replace=time_sleep.warm_c")), [
            "time_sleep.warm_c: Destroying", "time_sleep.warm_c: Destruction complete",
            "time_sleep.warm_c: Creating", "time_sleep.warm_c: Creation complete"])

    def test_a_resource_that_would_be_created_anyway_is_just_created(self) -> None:
        self.assertEqual(self.planned("-target=random_pet.name", "-replace=random_pet.name"),
                         ["random_pet.name will be created"])


class FailedSteps(InStack):
    """What each failed step leaves in the state, and what the next plan makes of it (facts, section 3)."""

    def version(self, number: int, first: bool = True) -> None:
        """Write a file whose name carries the number, replaced create-before-destroy or not, and one that needs it."""
        self.stack({"local_file": {"v": {"filename": f"${{path.module}}/v{number}", "content": "v",
                                         "lifecycle": {"create_before_destroy": first}}},
                    DATA: {"ptr": {"input": "${local_file.v.filename}"}, "free": {"input": number}}})

    def files(self) -> List[str]:
        """Return the versions that are there."""
        return sorted(name for name in os.listdir(self.directory) if name.startswith("v"))

    def deposed_plan(self, count: int) -> List[str]:
        """Return what a plan says of so many deposed objects of local_file.v."""
        keys = [item["deposed"] for entry in self.state()["resources"] if entry["name"] == "v"
                for item in entry["instances"] if "deposed" in item]
        self.assertEqual((len(keys), keys), (count, sorted(keys)))
        return [line for key in keys for line in (
            f"local_file.v (deposed object {key}) will be destroyed",
            "(left over from a partially-failed replacement of this instance)")]

    def test_a_failed_create_leaves_nothing_and_independent_branches_finish(self) -> None:
        self.version(1)
        with failing("local_file", "create"):
            ran = self.run_main("apply")
        self.assertEqual((ran.status, self.objects()), (1, {"terraform_data.free": ["current"]}))
        self.assertEqual(self.planned(), ["local_file.v will be created", "terraform_data.ptr will be created"])

    def test_a_failed_apply_says_what_completed_failed_and_was_skipped_because_of_what(self) -> None:
        self.version(1)
        with failing("local_file", "create"):
            ran = self.run_main("apply")
        self.assertEqual(ran.err, """
Error: it broke

  with local_file.v,
  on main.tf.json line 4, in resource.local_file:
   4:       "v": {


The run did not complete: 1 completed, 1 failed, 1 skipped.
  completed: terraform_data.free
  failed: local_file.v
  skipped: terraform_data.ptr (because local_file.v failed)
What was done is in the state; run the same command again to go on.
""")
        self.assertNotIn("Apply complete!", ran.out)

    def test_the_next_apply_goes_on_where_the_failed_one_stopped(self) -> None:
        self.version(1)
        with failing("local_file", "create"):
            self.refused("apply")
        self.assertIn("Resources: 2 added, 0 changed, 0 destroyed.", self.done("apply"))
        self.assertEqual(self.planned(), [])

    def test_an_object_that_was_made_in_part_is_tainted(self) -> None:
        self.version(1)
        with failing("local_file", "create", leaves=known):
            self.refused("apply")
        self.assertEqual(self.objects()["local_file.v"], ["tainted"])
        self.done("taint", "terraform_data.free")
        self.assertIn("terraform_data.free is tainted, so it must be replaced", self.planned())

    def test_a_failed_update_keeps_the_object_untainted(self) -> None:
        self.version(1)
        self.done("apply")
        self.version(2)
        with failing(DATA, "update", when=lambda attributes: attributes["input"] == 2):
            self.refused("apply")
        self.assertEqual(self.objects()["terraform_data.free"], ["current"])
        self.assertEqual(self.planned(), [f"terraform_data.free {UPDATES}"])

    def test_a_failed_delete_keeps_the_object_and_all_that_it_needs(self) -> None:
        self.stack({DATA: {"base": {}, "top": {"input": "${terraform_data.base.id}"}, "free": {}}},
                   output={"o": {"value": "${terraform_data.free.id}"}})
        self.done("apply")
        with failing(DATA, "delete", when=lambda attributes: attributes["input"] is not None):
            ran = self.run_main("destroy")
        self.assertEqual((ran.status, sorted(self.objects())), (1, ["terraform_data.base", "terraform_data.top"]))
        self.assertEqual(self.objects()["terraform_data.top"], ["current"])
        self.assertEqual(self.state()["outputs"], {})
        self.assertIn("skipped: terraform_data.base (destroy) (because terraform_data.top (destroy) failed)", ran.err)
        self.done("destroy")
        self.assertEqual(self.objects(), {})

    def test_a_replacement_whose_destroy_went_well_and_create_failed_leaves_nothing(self) -> None:
        self.version(1, first=False)
        self.done("apply")
        self.version(2, first=False)
        with failing("local_file", "create"):
            self.refused("apply")
        self.assertNotIn("local_file.v", self.objects())
        self.assertEqual(self.planned(), ["local_file.v will be created", f"terraform_data.ptr {UPDATES}"])

    def test_a_replacement_whose_destroy_failed_keeps_the_old_object(self) -> None:
        self.version(1, first=False)
        self.done("apply")
        self.version(2, first=False)
        with failing("local_file", "delete"):
            self.refused("apply")
        self.assertEqual((self.objects()["local_file.v"], self.files()), (["current"], ["v1"]))
        self.assertEqual(self.planned(), ["local_file.v must be replaced", f"terraform_data.ptr {UPDATES}"])

    def test_create_first_whose_create_failed_restores_the_old_object(self) -> None:
        self.version(1)
        self.done("apply")
        self.version(2)
        with failing("local_file", "create"):
            self.refused("apply")
        self.assertEqual((self.objects()["local_file.v"], self.files()), (["current"], ["v1"]))
        self.assertEqual(self.planned(), ["local_file.v must be replaced", f"terraform_data.ptr {UPDATES}"])

    def test_create_first_whose_new_object_is_tainted_keeps_both(self) -> None:
        self.stack({DATA: {"v": {"triggers_replace": 1, "lifecycle": {"create_before_destroy": True}}}})
        self.done("apply")
        self.stack({DATA: {"v": {"triggers_replace": 2, "lifecycle": {"create_before_destroy": True}}}})
        with failing(DATA, "create", leaves=lambda attributes: {**attributes, "id": "half"}):
            self.refused("apply")
        self.assertEqual(self.objects(), {"terraform_data.v": ["tainted", "deposed"]})
        out = self.run_main("plan").out
        self.assertIn("# terraform_data.v is tainted, so it must be replaced\n", out)
        self.assertIn("Plan: 1 to add, 0 to change, 2 to destroy.\n", out)
        self.done("apply")
        self.assertEqual(self.objects(), {"terraform_data.v": ["current"]})

    def test_create_first_whose_old_object_stays_is_deposed_shown_and_destroyed_by_the_next_apply(self) -> None:
        """The lesson's hard exercise."""
        self.version(1)
        self.done("apply")
        self.version(2)
        with failing("local_file", "delete"):
            self.refused("apply")
        self.assertEqual((self.objects()["local_file.v"], self.files()), (["current", "deposed"], ["v1", "v2"]))
        self.assertEqual(self.planned(), self.deposed_plan(1))
        ran = self.run_main("apply")
        key = re.search(r"deposed object (\w{8})", ran.out)
        self.assertEqual(steps(ran.out), [f"local_file.v (deposed object {key[1] if key else ''}): Destroying",
                                          "local_file.v: Destruction complete"])
        self.assertEqual((ran.status, self.objects()["local_file.v"], self.files()), (0, ["current"], ["v2"]))

    def test_deposed_objects_pile_up_and_each_has_its_own_destroy(self) -> None:
        self.version(1)
        self.done("apply")
        for number, failures in ((2, 1), (3, 2)):
            self.version(number)
            with failing("local_file", "delete", failures):
                error = self.refused("apply")
        self.assertEqual(self.files(), ["v1", "v2", "v3"])
        self.assertEqual(self.planned(), self.deposed_plan(2))
        self.assertEqual(len(re.findall(r"with local_file\.v \(deposed object \w{8}\),", error)), 2)
        self.assertIn("Resources: 0 added, 0 changed, 2 destroyed.", self.done("apply"))
        self.assertEqual((self.objects()["local_file.v"], self.files()), (["current"], ["v3"]))

    def test_a_deposed_object_whose_destroy_fails_again_keeps_its_key(self) -> None:
        self.version(1)
        self.done("apply")
        self.version(2)
        with failing("local_file", "delete"):
            self.refused("apply")
        before = self.planned()
        with failing("local_file", "delete"):
            self.refused("apply")
        self.assertEqual(self.planned(), before)

    def test_the_graph_shows_which_deposed_object_waits_for_which(self) -> None:
        first = {"lifecycle": {"create_before_destroy": True}}
        for version in (1, 2):
            self.stack({DATA: {"a": {"triggers_replace": version, **first}, "u": {"input": "${terraform_data.a.id}"},
                               "b": {"triggers_replace": "${terraform_data.a.id}", **first}}})
            with failing(DATA, "delete", times=2):
                self.run_main("apply")
        self.assertEqual(self.objects(), {f"{DATA}.a": ["current", "deposed"], f"{DATA}.b": ["current", "deposed"],
                                          f"{DATA}.u": ["current"]})
        edges = re.findall(r"terraform_data\.(\w)\" -> \"terraform_data\.(\w)\"( .*)?;", self.done("graph"))
        self.assertEqual(edges, [("a", "b", ""), ("b", "a", ""), ("u", "a", "")])

    def test_destroy_takes_the_current_object_and_the_deposed_one(self) -> None:
        self.version(1)
        self.done("apply")
        self.version(2)
        with failing("local_file", "delete"):
            self.refused("apply")
        self.assertIn("Plan: 0 to add, 0 to change, 4 to destroy.", self.done("destroy"))
        self.assertEqual((self.objects(), self.files()), ({}, []))

    def test_outputs_that_can_be_evaluated_are_stored_by_a_failed_apply(self) -> None:
        self.stack({DATA: {"good": {"input": 1}, "bad": {"input": 2}}},
                   output={name: {"value": f"${{terraform_data.{name}.output}}"} for name in ("good", "bad")})
        with failing(DATA, "create", when=lambda attributes: attributes["input"] == 2):
            self.refused("apply")
        self.assertEqual(list(self.state()["outputs"]), ["good"])

    def test_a_backup_that_cannot_be_written_is_refused_before_any_step(self) -> None:
        self.version(1)
        self.done("apply")
        self.version(2)
        before = self.state()
        self.assertIn("Error: Invalid -backup path\n", self.refused("apply", "-backup=none/b"))
        self.assertIn("Error: Invalid -backup path\n", self.refused("taint", "-backup=none/b", "local_file.v"))
        self.assertEqual((self.state(), self.files()), (before, ["v1"]))

    def test_a_state_that_cannot_be_rewritten_loses_no_finished_step(self) -> None:
        """The backup cannot be written: what the steps made is in the journal, the last one too."""
        self.version(1)
        self.done("apply")
        self.version(2)
        os.mkdir(self.path("terraform.tfstate.backup"))
        self.assertIn("Error: Failed to save the state\n", self.refused("apply"))
        os.rmdir(self.path("terraform.tfstate.backup"))
        ran = self.run_main("plan")
        self.assertEqual((ran.status, "No changes." in ran.out, "Recovered from the journal" in ran.err), (0, True, True))


class Refresh(InStack):
    def setUp(self) -> None:
        super().setUp()
        self.stack({"local_file": {name: {"filename": f"${{path.module}}/{name}", "content": name} for name in "ab"},
                    DATA: {"t": {"input": "${local_file.a.id}"}}})
        self.done("apply")

    def test_a_file_that_changed_or_went_is_created_again(self) -> None:
        write(self.directory, "a", "other")
        os.unlink(self.path("b"))
        self.assertEqual(self.planned(), ["local_file.a has been deleted", "local_file.a will be created",
                                          "local_file.b will be created", f"terraform_data.t {UPDATES}"])

    def test_drift_is_noted_only_where_a_change_uses_it(self) -> None:
        os.unlink(self.path("b"))
        self.assertNotIn("Objects have changed outside", self.done("plan"))
        os.unlink(self.path("a"))
        note = self.done("plan").partition("Note: Objects have changed outside of minigraph\n")[2].partition("─")[0]
        self.assertIn("# local_file.a has been deleted", note)
        self.assertNotIn("local_file.b", note)

    def test_without_refresh_nothing_is_read_or_noticed(self) -> None:
        os.unlink(self.path("a"))
        self.assertEqual(self.done("plan", "-refresh=false"), "\nNo changes. Your infrastructure matches the configuration.\n")

    def test_refresh_only_shows_all_drift_and_apply_takes_it_into_the_state(self) -> None:
        for name in "ab":
            os.unlink(self.path(name))
        self.assertEqual(self.planned("-refresh-only"), ["local_file.a has been deleted", "local_file.b has been deleted"])
        self.assertIn("Resources: 0 added, 0 changed, 0 destroyed.", self.done("apply", "-refresh-only"))
        self.assertEqual(sorted(self.objects()), ["terraform_data.t"])
        self.assertEqual(os.path.exists(self.path("a")), False)

    def test_refresh_only_without_drift_says_so_and_changes_no_byte(self) -> None:
        before = self.state()
        self.assertIn("No changes. Your infrastructure still matches the configuration.", self.done("apply", "-refresh-only"))
        self.assertEqual(self.state(), before)

    def test_refresh_only_takes_away_outputs_that_the_configuration_no_longer_has(self) -> None:
        self.stack({DATA: {"t": {"input": 1}}}, output={name: {"value": name} for name in "op"})
        self.done("apply")
        self.stack({DATA: {"t": {"input": 1}}}, output={"p": {"value": "p"}})
        self.assertIn('Changes to Outputs:\n  - o = "o" -> null\n', self.done("plan", "-refresh-only"))
        self.done("apply", "-refresh-only")
        self.assertEqual(list(self.state()["outputs"]), ["p"])

    def test_destroy_does_not_count_what_is_already_gone(self) -> None:
        os.unlink(self.path("b"))
        self.assertIn("Destroy complete! Resources: 2 destroyed.", self.done("destroy"))
        self.assertEqual(self.objects(), {})

    def test_a_file_that_cannot_be_read_is_an_error_and_the_rest_is_planned(self) -> None:
        os.unlink(self.path("a"))
        os.mkdir(self.path("a"))
        os.unlink(self.path("b"))
        ran = self.run_main("plan")
        self.assertEqual((ran.status, "is a directory" in ran.err, "with local_file.a," in ran.err), (1, True, True))
        self.assertIn("# local_file.b will be created", ran.out)


class TypedNulls(InStack):
    """A null has the type of its attribute; recorded with terraform 1.11.4, from variables of these types."""

    def recorded(self, name: str, attribute: str = "input") -> Any:
        """Return an attribute as the state file holds it."""
        entry, = [entry for entry in self.state()["resources"] if entry["name"] == name]
        return entry["instances"][0]["attributes"][attribute]

    def test_the_state_says_of_what_type_a_null_is(self) -> None:
        self.stack({"random_pet": {"p": {"keepers": {"a": None, "b": "x"}}, "n": {}}, DATA: {
            "q": {"input": "${random_pet.p.prefix}"}, "e": {"input": "${random_pet.p.keepers[\"a\"]}"},
            "t": {"triggers_replace": ["${random_pet.p.prefix}", "${random_pet.n.keepers}"]},
            "u": {"input": "${random_pet.p.keepers}"},
            "w": {"input": "${terraform_data.q}"}, "x": {"triggers_replace": "${random_pet.n}"}}},
            output={"o": {"value": "${random_pet.p.keepers}"}, "r": {"value": "${terraform_data.q.input}"},
                    "p": {"value": ["${random_pet.p.prefix}", "${random_pet.n.keepers}"]}})
        out = self.done("apply")
        self.assertIn("""
  # terraform_data.q will be created
  + resource "terraform_data" "q" {
      + id = (known after apply)
    }
""", out)
        null = {"value": None, "type": "string"}
        self.assertEqual((self.recorded("q"), self.recorded("q", "output"), self.recorded("e")), (null, null, null))
        self.assertEqual(self.recorded("t", "triggers_replace"),
                         {"value": [None, None], "type": ["tuple", ["string", ["map", "string"]]]})
        self.assertEqual(self.recorded("u"), {"value": {"a": None, "b": "x"}, "type": ["map", "string"]})
        self.assertEqual(self.recorded("w")["type"], ["object", {
            "id": "string", "input": "string", "output": "string", "triggers_replace": "dynamic"}])
        self.assertEqual(self.recorded("x", "triggers_replace")["type"], ["object", {
            "id": "string", "keepers": ["map", "string"], "length": "number", "prefix": "string", "separator": "string"}])
        self.assertEqual(self.state()["outputs"], {
            "o": {"value": {"a": None, "b": "x"}, "type": ["map", "string"]},
            "p": {"value": [None, None], "type": ["tuple", ["string", ["map", "string"]]]}})
        self.assertEqual(self.run_main("plan", "-detailed-exitcode").status, 0)
        self.assertEqual(self.done("output"), """\
o = tomap({
  "a" = tostring(null)
  "b" = "x"
})
p = [
  tostring(null),
  tomap(null) /* of string */,
]
""")

    def test_a_null_of_another_type_is_another_value(self) -> None:
        self.stack({"random_pet": {"p": {}}, DATA: {"q": {"input": "${random_pet.p.prefix}"}}})
        self.done("apply")
        self.stack({"random_pet": {"p": {}}, DATA: {"q": {"input": "${random_pet.p.keepers}"}}})
        self.assertEqual(self.planned(), ["terraform_data.q will be updated in-place"])

    def test_arguments_take_it_as_not_set(self) -> None:
        self.stack({"random_pet": {"p": {}, "q": {"prefix": "${random_pet.p.prefix}", "keepers": "${random_pet.p.keepers}"}},
                    "local_file": {"f": {"filename": "f", "content": "x", "source": "${random_pet.p.prefix}"}}})
        self.done("apply")
        self.assertEqual(self.planned(), [])

    def test_it_is_no_part_of_a_text_and_no_key(self) -> None:
        for value in ("x${random_pet.p.prefix}", {"${random_pet.p.prefix}": 1}):
            self.stack({"random_pet": {"p": {}}, DATA: {"q": {"input": value}}})
            self.assertIn("null", self.refused("plan"))


class PlanningErrors(InStack):
    def test_what_could_be_planned_is_shown_and_then_the_errors(self) -> None:
        self.stack({DATA: {"good": {"input": {"x": 1}}, "bad": {"input": "${terraform_data.good.input.zz}"},
                           "behind": {"input": "${terraform_data.bad.id}"}}})
        ran = self.run_main("plan")
        self.assertEqual(self.planned(), ["terraform_data.good will be created"])
        self.assertIn("minigraph planned the following actions, but then encountered a problem:\n", ran.out)
        self.assertEqual((ran.status, ran.err.count("Error: ")), (1, 1))

    def test_apply_does_nothing_then(self) -> None:
        self.stack({DATA: {"good": {"input": {"x": 1}}, "bad": {"input": "${terraform_data.good.input.zz}"}}})
        self.refused("apply")
        self.assertEqual(os.listdir(self.directory), ["main.tf.json"])

    def test_an_empty_state_has_nothing_to_destroy_whatever_the_expressions_give(self) -> None:
        self.stack({DATA: {"good": {"input": {"x": 1}}, "bad": {"input": "${terraform_data.good.input.zz}"}}})
        self.assertIn("No changes. No objects need to be destroyed.", self.done("destroy"))


class SavedPlans(InStack):
    def setUp(self) -> None:
        super().setUp()
        self.stack({DATA: {"a": {"input": 1}}}, output={"o": {"value": "${terraform_data.a.output}"}})

    def test_a_saved_plan_does_what_it_showed_even_when_the_configuration_changed(self) -> None:
        self.done("plan", "-out=p")
        self.stack({DATA: {"other": {}}})
        self.assertIn("Resources: 1 added, 0 changed, 0 destroyed.", self.done("apply", "p"))
        self.assertEqual(sorted(self.objects()), ["terraform_data.a"])

    def test_it_is_readable_by_its_owner_alone(self) -> None:
        self.done("plan", "-out=p")
        self.assertEqual(os.stat(self.path("p")).st_mode & 0o777, 0o600)
        os.chmod(self.path("p"), 0o644)
        self.done("plan", "-out=p")
        self.assertEqual(os.stat(self.path("p")).st_mode & 0o777, 0o600)

    def test_it_is_stale_once_the_state_has_moved(self) -> None:
        self.done("plan", "-out=p")
        self.done("apply", "p")
        self.assertEqual(self.refused("apply", "p"), """
Error: Saved plan is stale

The given plan file can no longer be applied because the state was changed by
another operation after the plan was created.
""")

    def test_it_is_stale_when_another_apply_came_between(self) -> None:
        self.done("apply")
        self.done("plan", "-out=p", "-replace=terraform_data.a")
        self.done("apply", "-replace=terraform_data.a")
        before = self.state()
        self.assertIn("\nError: Saved plan is stale\n", self.refused("apply", "p"))
        self.assertEqual(self.state(), before)

    def test_it_fits_only_the_state_that_it_was_made_from(self) -> None:
        self.done("apply")
        self.done("plan", "-out=p")
        os.unlink(self.path("terraform.tfstate"))
        self.done("apply")
        self.assertIn("\nError: Saved plan does not match the given state\n", self.refused("apply", "p"))

    def test_a_damaged_one_is_refused_whatever_byte_was_hit(self) -> None:
        self.done("plan", "-out=p")
        with open(self.path("p"), encoding="utf-8") as file:
            text = file.read()
        damaged = {"cut": text[:len(text) // 2], "value": text.replace('"input"', '"inpux"'), "longer": text + "x",
                   "number": text.replace('"input":1', '"input":2'), "seal": text.replace('"digest":"', '"digest":"0')}
        for name, content in damaged.items():
            with self.subTest(name=name):
                self.assertNotEqual(content, text)
                write(self.directory, "q", content)
                for command in (["apply", "q"], ["show", "q"], ["show", "-json", "q"], ["graph", "-plan=q"]):
                    self.assertIn('\nError: Failed to load "q" as a plan file\n\nIt is damaged', self.refused(*command))
        self.assertFalse(os.path.exists(self.path("terraform.tfstate")))

    def test_what_is_no_plan_is_called_so(self) -> None:
        for name, content in (("text", "hello"), ("empty", ""), ("json", {}), ("zip", b"PK\x03\x04"), ("bytes", b"\xff\xfe")):
            with self.subTest(name=name):
                write(self.directory, "q", content)
                self.assertIn("It is not a plan file of minigraph", self.refused("apply", "q"))
        self.assertIn("Error: stat nofile: no such file or directory\n", self.refused("apply", "nofile"))
        self.assertIn("is a directory, not a plan file", self.refused("apply", "."))

    def test_a_saved_plan_without_changes_applies(self) -> None:
        self.done("apply")
        self.done("plan", "-out=p")
        self.assertIn("Apply complete! Resources: 0 added, 0 changed, 0 destroyed.", self.done("apply", "p"))

    def test_a_saved_destroy_ends_as_an_apply(self) -> None:
        self.done("apply")
        self.done("plan", "-destroy", "-out=p")
        self.assertIn("Apply complete! Resources: 0 added, 0 changed, 1 destroyed.", self.done("apply", "p"))
        self.assertEqual(self.objects(), {})

    def test_planning_options_beside_a_plan_file_change_nothing(self) -> None:
        self.done("plan", "-out=p")
        self.assertIn("Resources: 1 added, 0 changed, 0 destroyed.",
                      self.done("apply", "-destroy", "-target=terraform_data.zz", "p"))

    def test_show_prints_the_plan_again(self) -> None:
        planned = self.done("plan", "-out=p").partition("\n─")[0]
        self.assertEqual(self.done("show", "p"), planned)

    def test_the_after_unknown_line_of_the_lesson_works_on_show_json(self) -> None:
        shutil.copy(FIXTURES / "demo" / "main.tf.json", self.directory)
        self.done("plan", "-out=p")
        changes = json.loads(self.done("show", "-json", "p"))["resource_changes"]
        found = {item["address"]: sorted(k for k, v in item["change"]["after_unknown"].items() if v) for item in changes}
        self.assertIn("content", found["local_file.config"])
        self.assertNotIn("content", found["local_file.index"])
        self.assertEqual(found["random_pet.name"], ["id"])
        self.assertEqual(found["terraform_data.release"], ["id", "input", "output"])

    def test_a_plan_with_unknowns_and_a_create_first_replacement_runs_from_its_file(self) -> None:
        shutil.copy(FIXTURES / "demo" / "main.tf.json", self.directory)
        self.done("apply")
        text = (FIXTURES / "demo" / "main.tf.json").read_text().replace("/v1.txt", "/v2.txt")
        write(self.directory, "main.tf.json", text)
        self.done("plan", "-out=p", "-replace=random_pet.name")
        log = steps(self.done("apply", "p"))
        order = [next(n for n, line in enumerate(log) if line.startswith(start)) for start in (
            "local_file.versioned: Creating", "local_file.pointer: Creating", "local_file.versioned (deposed object")]
        self.assertEqual(order, sorted(order))
        self.assertEqual(self.planned(), [])


if __name__ == "__main__":
    unittest.main()
