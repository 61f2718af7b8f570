"""The state file: every kind of value there and back, what is carried along, what is refused, serials and backups."""
from __future__ import annotations

import contextlib
import io
import json
import os
import tempfile
import unittest
from decimal import Decimal
from typing import Any, Dict, List

from support import FIXTURES, deps, write

import main
from main import Entry, Instance, Map, OutputValue, State, Typed, read_state, state_text

BUILTIN = 'provider["terraform.io/builtin/terraform"]'
LINEAGE = "11111111-2222-4333-8444-555555555555"


def document(*resources: Dict[str, Any], **others: Any) -> str:
    """Return the text of a state file with these entries."""
    return json.dumps({"version": 4, "serial": 1, "lineage": LINEAGE, "outputs": {}, "resources": list(resources), **others})


def data(name: str = "a", count: int = 1, **instance: Any) -> Dict[str, Any]:
    """Return the entry of one terraform_data whose instances hold what is given."""
    given = {"schema_version": 0, "attributes": {"id": "i"}, **instance}
    return {"mode": "managed", "type": "terraform_data", "name": name, "provider": BUILTIN, "instances": [given] * count}


def with_input(value: Any, kind: Any) -> str:
    """Return a state file with one terraform_data whose input is written as given."""
    return document(data(attributes={"id": "i", "input": {"value": value, "type": kind}}))


def there_and_back(state: State) -> State:
    """Return what is read from what is written."""
    return read_state(state_text(state), "terraform.tfstate")


def instance(*needs: str, **attributes: Any) -> Instance:
    """Return a terraform_data with attributes and recorded dependencies."""
    whole = {**dict.fromkeys(sorted(main.SCHEMAS["terraform_data"].kinds)), **attributes}
    return Instance("terraform_data", whole, dependencies=needs, provider=BUILTIN)


def refusal(text: str) -> str:
    """Return what read_state says of a text that it refuses."""
    try:
        read_state(text, "x.tfstate")
    except main.StateError as error:
        return f"{error.diagnostics[0].summary}: {error.diagnostics[0].detail}"
    raise AssertionError("it was read")


class ValuesThereAndBack(unittest.TestCase):
    """What is written of a dynamic value is read as the same value of the same type."""

    KINDS: Dict[str, Any] = {
        "a text": "x", "an empty text": "", "a number as text": "42", "a whole number": 42, "zero": 0,
        "a fraction": Decimal("1.5"), "minus zero": Decimal("-0"), "a tiny number": Decimal("0.0000001"),
        "a number beyond 64 bits": 123456789012345678901234567890, "a power of ten": 10**30,
        "154 digits": int("9" * 154), "true": True, "false": False,
        "a list": [1, "a", True, None], "an empty list": [], "an object": {"a": 1, "b": [None]}, "an empty object": {},
        "a key that is no name": {"a b": 1, "": 2, "é": 3}, "nested": {"l": [{"x": [[1]]}]},
        "a map": Map({"k": "v"}), "an empty map": Map(), "a map in a list": [Map({"k": "v"}), {"k": "v"}],
        "a null of a type": Typed(None, "string"), "a list of a type": Typed(["a"], ["list", "string"]),
        "a set in an object": {"s": Typed(["a", "b"], ["set", "string"])},
        "quotes and controls": "\"q\" \\ / \t \n \r \x01 \x7f", "what Go escapes": "<b>&amp; \u2028 \u2029",
        "beyond ASCII": "é ☃ 𝄞 e\u0301", "a template": "${literal} %{x}"}

    def test_every_kind_of_value_comes_back_as_it_was(self) -> None:
        for name, value in self.KINDS.items():
            with self.subTest(name):
                state = State(LINEAGE, 1)
                state.objects["terraform_data.a"] = instance(id="i", input=value)
                state.outputs["o"] = OutputValue(value)
                found = there_and_back(state)
                self.assertTrue(main.same(value, found.objects["terraform_data.a"].attributes["input"]))
                self.assertTrue(main.same(value, found.outputs["o"].value))
                self.assertEqual(state_text(state), state_text(found))

    def test_the_forms_in_the_file_are_those_of_the_real_tool(self) -> None:
        forms: List[Any] = [("x", '{"value":"x","type":"string"}'), (None, "null"),
                            (Decimal("-0"), '{"value":-0,"type":"number"}'),
                 ([1, None], '{"value":[1,null],"type":["tuple",["number","dynamic"]]}'),
                 ({}, '{"value":{},"type":["object",{}]}'), (Map(k="v"), '{"value":{"k":"v"},"type":["map","string"]}'),
                 (Typed(None, "string"), '{"value":null,"type":"string"}')]
        self.assertEqual([form for _, form in forms], [main.compact_json(main.write_dynamic(value)) for value, _ in forms])

    def test_numbers_are_written_in_full_and_without_exponent(self) -> None:
        numbers = [Decimal("1E+3"), Decimal("1E-7"), Decimal("1.50"), 10**30, Decimal("-0")]
        self.assertEqual("[1000,0.0000001,1.5,1000000000000000000000000000000,-0]", main.compact_json(numbers))

    def test_what_go_escapes_is_escaped_and_the_rest_is_raw(self) -> None:
        state = State()
        state.outputs["o"] = OutputValue("<é>&\u2028")
        self.assertIn('"value": "\\u003cé\\u003e\\u0026\\u2028"', state_text(state))

    def test_a_lone_surrogate_does_not_stop_the_write(self) -> None:
        state = State()
        state.outputs["o"] = OutputValue("\ud800")
        self.assertIn(b'"value": "?"', main.state_bytes(state))

    def test_elements_of_keepers_that_are_no_text_are_read_as_text(self) -> None:
        entry = {**data(attributes={"id": "p", "length": "2", "keepers": {"n": 1, "b": True, "s": "x"}}), "type": "random_pet"}
        found = read_state(document(entry), "x").objects["random_pet.a"].attributes
        self.assertEqual((2, Map(n="1", b="true", s="x")), (found["length"], found["keepers"]))


class InstancesThereAndBack(unittest.TestCase):

    def test_everything_that_is_known_of_an_object_comes_back(self) -> None:
        state = State(LINEAGE, 7)
        state.objects["local_file.a"] = Instance(
            "local_file", dict.fromkeys(main.SCHEMAS["local_file"].kinds, "x"), True, ("random_pet.p", "time_sleep.t"), True,
            (("sensitive_content",),), 'provider["registry.terraform.io/hashicorp/local"]', 0, {"private": "bnVsbA=="})
        state.deposed["local_file.a"] = {"0a1b2c3d": state.objects["local_file.a"]._replace(tainted=False)}
        state.outputs["o"] = OutputValue(1, True)
        found = there_and_back(state)
        self.assertTrue(main.same_content(state, found))
        self.assertEqual((state.objects, state.deposed, state.outputs, LINEAGE, 7),
                         (found.objects, found.deposed, found.outputs, found.lineage, found.serial))

    def test_sensitive_paths_keep_names_indexes_and_keys(self) -> None:
        paths = (("input",), ("input", 0), ("input", "k", 1))
        self.assertEqual(set(paths), set(main.read_paths(main.write_paths(paths))))
        self.assertEqual([[{"type": "get_attr", "value": "input"}, {"type": "index", "value": {"value": 0, "type": "number"}}]],
                         main.write_paths([("input", 0)]))

    def test_missing_attributes_are_null_and_unknown_ones_are_dropped(self) -> None:
        found = read_state(document(data(attributes={"id": "i", "newer": 1})), "x").objects["terraform_data.a"]
        self.assertEqual({"id": "i", "input": None, "output": None, "triggers_replace": None}, found.attributes)

    def test_what_may_be_missing_may_be_missing(self) -> None:
        entry = {"mode": "managed", "type": "terraform_data", "name": "a", "provider": BUILTIN, "instances": [{"attributes": {}}]}
        found = read_state(json.dumps({"version": 4, "resources": [entry]}), "x")
        self.assertEqual(("", 0, (), False), (found.lineage, found.serial, *found.objects["terraform_data.a"][3:5]))

    def test_an_empty_file_is_an_empty_state(self) -> None:
        self.assertTrue(read_state(" \n", "x").holds_nothing())


class RecordedFiles(unittest.TestCase):
    """State files that terraform 1.11.4 wrote."""

    def test_they_are_written_back_as_they_were(self) -> None:
        lines = (FIXTURES / "states.jsonl").read_text(encoding="utf-8").splitlines()
        self.assertEqual(3, len(lines))
        for line in lines:
            case = json.loads(line, parse_float=Decimal, parse_int=main.state_number)
            with self.subTest(case["name"]):
                text = main.go_escaped(main.json_text(with_hashes(case["state"]))) + "\n"
                self.assertEqual(text, state_text(read_state(text, case["name"])))

    def test_the_one_with_a_deposed_object_holds_both(self) -> None:
        lines = (FIXTURES / "states.jsonl").read_text(encoding="utf-8").splitlines()
        case = next(json.loads(line) for line in lines if "state-deposed" in line)
        state = read_state(json.dumps(case["state"]), case["name"])
        self.assertEqual((["local_file.v", "terraform_data.ptr"], {"local_file.v": ["026ba11f"]}),
                         (sorted(state.objects), {address: list(found) for address, found in state.deposed.items()}))


def with_hashes(state: Any) -> Any:
    """Return a raw state with the hashes of local_file that came with later provider releases than the samples'."""
    for entry in state["resources"]:
        for item in entry["instances"] if entry["type"] == "local_file" else ():
            item["attributes"] = dict(sorted({**item["attributes"], **dict.fromkeys(main.HASHES)}.items()))
    return state


class Foreign(unittest.TestCase):
    """What minigraph does not understand is written back unchanged, in its place."""

    ENTRIES: List[Dict[str, Any]] = [
        {"mode": "data", "type": "local_file", "name": "d", "provider": "p", "instances": [{"attributes": {"n": 1}}]},
        {"mode": "managed", "type": "aws_vpc", "name": "v", "provider": "p", "instances": [{"identity": {"x": None}}]},
        {"mode": "managed", "type": "terraform_data", "name": "many", "provider": BUILTIN,
         "instances": [{"index_key": 0, "attributes": {}}, {"index_key": "k", "attributes": {}}]},
        {"module": "module.m", "mode": "managed", "type": "terraform_data", "name": "a", "provider": "p", "instances": []}]

    def test_it_is_kept_entry_by_entry(self) -> None:
        found = there_and_back(read_state(document(*self.ENTRIES, data("own")), "x"))
        self.assertEqual((self.ENTRIES, ["terraform_data.own"]), (found.foreign, sorted(found.objects)))

    def test_entries_are_sorted_by_module_mode_type_and_name(self) -> None:
        text = state_text(read_state(document(*reversed(self.ENTRIES), data("own")), "x"))
        self.assertEqual(["d", "v", "many", "own", "a"], [item["name"] for item in json.loads(text)["resources"]])

    def test_big_numbers_in_it_keep_all_digits(self) -> None:
        entry = '{"mode":"data","type":"t","name":"n","instances":[{"attributes":{"n":12345678901234567890.5,"z":-0}}]}'
        text = document().replace("[]", f"[{entry}]")
        self.assertEqual('{"n":12345678901234567890.5,"z":-0}',
                         main.compact_json(there_and_back(read_state(text, "x")).foreign[0]["instances"][0]["attributes"]))

    def test_check_results_and_extra_keys_of_an_instance_are_kept(self) -> None:
        state = read_state(document(data(private="eA==", identity={"a": 1}), check_results=[{"status": "pass"}]), "x")
        found = json.loads(state_text(state))
        kept = found["resources"][0]["instances"][0]
        self.assertEqual(([{"status": "pass"}], "eA==", {"a": 1}), (found["check_results"], kept["private"], kept["identity"]))


class Refusals(unittest.TestCase):
    """A damaged file is left as it is, and the message says which file and what is wrong with it."""

    FORMAT = "Unsupported state file format: x.tfstate: "

    def test_what_is_no_state_file_is_refused(self) -> None:
        texts = {
            "{": "The state file could not be parsed as JSON: Expecting property name enclosed in double quotes at byte"
                 " offset 1 (line 1).",
            "[]": "The state file does not hold a JSON object.",
            "{}": 'The state file does not have a "version" attribute, which is required to identify the format version.',
            '{"version": 3}': "The state file uses format version 3; minigraph reads and writes version 4 only.",
            '{"version": "4"}': "The state file uses format version 4; minigraph reads and writes version 4 only.",
            '{"version": 4, "serial": "1"}': '"serial" is not what it should be (int), but str.',
            '{"version": 4, "serial": -1}': '"serial" is not what it should be (int), but int.',
            '{"version": 4, "serial": true}': '"serial" is not what it should be (int), but bool.',
            '{"version": 4, "lineage": 1}': '"lineage" is not what it should be (str), but int.',
            '{"version": 4, "outputs": []}': '"outputs" is not what it should be (dict), but list.',
            '{"version": 4, "resources": {}}': '"resources" is not what it should be (list), but dict.',
            "[" * 100_000: "The state file is nested too deeply."}
        for text, what in texts.items():
            self.assertEqual(f"{self.FORMAT}{what} The file was left as it is.", refusal(text))

    def test_an_entry_that_does_not_fit_is_named_with_its_fault(self) -> None:
        file = {"mode": "managed", "type": "local_file", "name": "f", "instances": [{"attributes": {}}]}
        entries: Dict[str, Any] = {
            "it stands in the file twice": [data(), data()],
            "it has two current objects": [data(count=2)],
            "'xyz' is not the key of one deposed object": [data(deposed="xyz")],
            "'0a1b2c3d' is not the key of one deposed object": [data(deposed="0a1b2c3d", count=2)],
            "the status 'odd' is not \"tainted\"": [data(status="odd")],
            "schema_version 1 comes from a newer provider; minigraph knows version 0": [data(schema_version=1)],
            "dependencies are not a list of addresses": [data(dependencies=[1])],
            "attribute \"input\" is not written as {\"value\": ..., \"type\": ...}": [data(attributes={"input": "bare"})],
            "True is not a number": [{**data(attributes={"length": True}), "type": "random_pet"}],
            "a required key 'attributes' is missing": [{**data(), "instances": [{}]}],
            "a required key 'provider' is missing": [file]}
        for what, found in entries.items():
            address = f"{found[0]['type']}.{found[0]['name']}"
            self.assertEqual(f"{self.FORMAT}The entry of {address} cannot be read: {what}. The file was left as it is.",
                             refusal(document(*found)))

    def test_a_value_that_is_not_of_its_type_is_refused(self) -> None:
        pairs = [([1], "string", "[1] is not a string"), ("x", "number", None), (1, "bool", "1 is not a bool"),
                 ([1], ["tuple", []], "[1] is not of the type ['tuple', []]"),
                 ({"a": 1}, ["object", {}], "{'a': 1} is not of the type ['object', {}]"),
                 ("x", "odd", "'x' is not of the type 'odd'"), ("x", "dynamic", "'x' is not of the type 'dynamic'")]
        for value, kind, what in pairs:
            told = refusal(with_input(value, kind))
            self.assertTrue(told.startswith(f"{self.FORMAT}The entry of terraform_data.a cannot be read: {what or ''}"), told)

    def test_an_output_without_its_type_is_refused(self) -> None:
        self.assertEqual(f"{self.FORMAT}The entry of o cannot be read: a required key 'type' is missing."
                         " The file was left as it is.", refusal(document(outputs={"o": {"value": 1}})))

    def test_nothing_else_than_a_refusal_comes_of_any_wrong_shape(self) -> None:
        """Every part of a sound file is replaced by values of other kinds."""
        sound = json.loads(document(data(dependencies=["a.b"], sensitive_attributes=[[{"type": "get_attr", "value": "input"}]]),
                                    outputs={"o": {"value": [1], "type": ["tuple", ["number"]]}}))
        for path in list(paths_of(sound)):
            for odd in (None, True, 1, -1, "x", [], [1], {}, {"x": 1}, [[1]]):
                with self.subTest(f"{path} {odd}"), contextlib.suppress(main.StateError):
                    state_text(read_state(json.dumps(replaced(sound, path, odd)), "x"))


def paths_of(value: Any, path: Any = ()) -> Any:
    """Yield the way to every part of a JSON value."""
    for key, item in value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ():
        yield (*path, key)
        yield from paths_of(item, (*path, key))


def replaced(value: Any, path: Any, other: Any) -> Any:
    """Return a JSON value with one part replaced."""
    if not path:
        return other
    twin = value.copy()
    twin[path[0]] = replaced(value[path[0]], path[1:], other)
    return twin


class InDirectory(unittest.TestCase):
    """A temporary directory and main.main in it."""

    def setUp(self) -> None:
        holder = tempfile.TemporaryDirectory()
        self.addCleanup(holder.cleanup)
        self.directory = holder.name

    def run_main(self, *arguments: str) -> int:
        """Run a command quietly and return its status."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()):
            return main.main([f"-chdir={self.directory}", *arguments])

    def apply(self, value: Any, *arguments: str) -> Dict[str, Any]:
        """Apply one terraform_data with this input and return the state file."""
        write(self.directory, "main.tf.json", {"resource": {"terraform_data": {"a": {"input": value}}}})
        self.assertEqual(0, self.run_main("apply", *arguments))
        return dict(json.loads(self.text("terraform.tfstate")))

    def text(self, name: str) -> str:
        """Return the content of a file."""
        with open(os.path.join(self.directory, name), encoding="utf-8") as file:
            return file.read()

    def names(self) -> List[str]:
        """Return the files of the directory, the configuration left out."""
        return sorted(name for name in os.listdir(self.directory) if name != "main.tf.json")


class SerialAndLineage(InDirectory):

    def test_the_first_write_gives_a_lineage_that_stays(self) -> None:
        first, second = self.apply(1), self.apply(2)
        self.assertRegex(first["lineage"], "^[0-9a-f]{8}-[0-9a-f]{4}-4[0-9a-f]{3}-[89ab][0-9a-f]{3}-[0-9a-f]{12}$")
        self.assertEqual(first["lineage"], second["lineage"])

    def test_the_serial_grows_with_every_change(self) -> None:
        self.assertLess(self.apply(1)["serial"], self.apply(2)["serial"])

    def test_without_a_change_the_file_stays_as_it_is(self) -> None:
        self.apply(1)
        before = self.text("terraform.tfstate")
        self.apply(1)
        self.assertEqual(before, self.text("terraform.tfstate"))

    def test_a_change_of_dependencies_alone_is_written(self) -> None:
        self.apply(1)
        stack: Dict[str, Any] = {"resource": {"terraform_data": {"a": {"input": 1}, "b": {}}}}
        write(self.directory, "main.tf.json", stack)
        self.run_main("apply")
        before = json.loads(self.text("terraform.tfstate"))
        stack["resource"]["terraform_data"]["b"] = {"depends_on": ["terraform_data.a"]}
        write(self.directory, "main.tf.json", stack)
        self.run_main("apply")
        after = json.loads(self.text("terraform.tfstate"))
        self.assertEqual((["terraform_data.a"], before["serial"] + 1),
                         (after["resources"][1]["instances"][0]["dependencies"], after["serial"]))

    def test_plan_and_the_looking_commands_write_nothing(self) -> None:
        self.apply(1)
        before = self.text("terraform.tfstate")
        write(self.directory, "main.tf.json", {"resource": {"terraform_data": {"a": {"input": 2}}}})
        for command in (["plan"], ["show"], ["output"], ["state", "list"], ["graph"], ["order", "-destroy"], ["validate"]):
            self.run_main(*command)
        self.assertEqual((before, ["terraform.tfstate"]), (self.text("terraform.tfstate"), self.names()))

    def test_a_plan_without_a_state_leaves_no_file(self) -> None:
        write(self.directory, "main.tf.json", {"resource": {"terraform_data": {"a": {}}}})
        self.assertEqual((0, []), (self.run_main("plan"), self.names()))

    def test_destroy_leaves_an_empty_state_of_the_same_lineage(self) -> None:
        first = self.apply(1)
        self.assertEqual(0, self.run_main("destroy"))
        last = json.loads(self.text("terraform.tfstate"))
        self.assertEqual(({}, [], first["lineage"], True),
                         (last["outputs"], last["resources"], last["lineage"], last["serial"] > first["serial"]))


class Backup(InDirectory):

    def test_it_holds_the_state_as_it_was_before_the_run(self) -> None:
        self.apply(1)
        before = self.text("terraform.tfstate")
        self.apply(2)
        self.assertEqual(before, self.text("terraform.tfstate.backup"))

    def test_without_a_state_before_or_a_change_there_is_none(self) -> None:
        self.apply(1)
        self.apply(1)
        self.assertEqual(["terraform.tfstate"], self.names())

    def test_it_goes_where_it_is_told_or_nowhere(self) -> None:
        self.apply(1)
        self.apply(2, "-backup=-")
        self.apply(3, "-backup=kept")
        self.assertEqual((["kept", "terraform.tfstate"], 2), (self.names(), json.loads(
            self.text("kept"))["resources"][0]["instances"][0]["attributes"]["input"]["value"]))

    def test_a_relative_working_directory_is_not_named_twice(self) -> None:
        """-chdir=x with a state in x/ keeps the backup in x/, too."""
        self.apply(1)
        before = os.getcwd()
        os.chdir(os.path.dirname(self.directory))
        try:
            self.directory = os.path.basename(self.directory)
            self.apply(2)
            self.assertEqual(0, self.run_main("taint", "terraform_data.a"))
            self.assertEqual(["terraform.tfstate", "terraform.tfstate.backup"], self.names())
        finally:
            os.chdir(before)


class HandDown(unittest.TestCase):
    """Where direct sets are recorded, an object that leaves gives what it needed to those that needed it."""

    def test_its_users_take_over_what_it_needed(self) -> None:
        state = self.direct("d>c, c>b, b>a")
        main.record(state, Entry("end", "", "c", "delete"))
        main.record(state, Entry("end", "", "b", "delete"))
        self.assertEqual({"a": set(), "d": {"a"}}, main.state_deps(state))

    def test_whole_lists_need_none_of_it(self) -> None:
        state = self.direct("c>a b, b>a")
        state.direct = False
        main.record(state, Entry("end", "", "b", "delete"))
        self.assertEqual({"a": set(), "c": {"a", "b"}}, main.state_deps(state))

    def test_the_form_is_kept_in_the_file(self) -> None:
        self.assertTrue(there_and_back(self.direct("a")).direct)
        self.assertFalse(there_and_back(State()).direct)

    def direct(self, text: str) -> State:
        """Return a state that records what a drawn graph says, as direct sets."""
        state = State(LINEAGE)
        state.direct = True
        state.objects = {address: instance(*sorted(found), id=address) for address, found in deps(text).items()}
        state.index_users()
        return state


class DirectForm(InDirectory):
    """Past RECORDED_LIMIT direct sets are written; the order of later destroys does not depend on it."""

    CHAIN: Dict[str, Any] = {"a": {"triggers_replace": 1}, "b": {"triggers_replace": 1, "depends_on": ["terraform_data.a"]},
             "c": {"depends_on": ["terraform_data.b"]}}

    def recorded(self, limit: int, stack: Any) -> Dict[str, List[str]]:
        """Apply a stack with another RECORDED_LIMIT and return who reaches whom by the state."""
        normal, main.RECORDED_LIMIT = main.RECORDED_LIMIT, limit
        try:
            write(self.directory, "main.tf.json", {"resource": {"terraform_data": stack}})
            self.assertEqual(0, self.run_main("apply"))
        finally:
            main.RECORDED_LIMIT = normal
        graph = main.state_deps(read_state(self.text("terraform.tfstate"), "x"))
        return {address[-1]: sorted(name[-1] for name in main.reachable(graph, address)) for address in sorted(graph)}

    def test_direct_sets_reach_what_whole_lists_hold(self) -> None:
        self.assertEqual({"a": [], "b": ["a"], "c": ["a", "b"]}, self.recorded(0, self.CHAIN))
        self.assertIn('"minigraph_dependencies": "direct"', self.text("terraform.tfstate"))

    def test_a_smaller_stack_goes_back_to_whole_lists(self) -> None:
        self.recorded(0, self.CHAIN)
        self.assertEqual({"a": [], "b": ["a"], "c": ["a", "b"]}, self.recorded(100, self.CHAIN))
        found = read_state(self.text("terraform.tfstate"), "x")
        self.assertEqual((False, ("terraform_data.a", "terraform_data.b")),
                         (found.direct, found.objects["terraform_data.c"].dependencies))

    def test_a_replaced_object_is_still_needed_by_those_that_needed_it(self) -> None:
        self.recorded(0, self.CHAIN)
        edited = {**self.CHAIN, "b": {**self.CHAIN["b"], "triggers_replace": 2}}
        self.assertEqual({"a": [], "b": ["a"], "c": ["a", "b"]}, self.recorded(0, edited))

    def test_a_removed_object_leaves_the_order_of_its_neighbours(self) -> None:
        self.recorded(0, self.CHAIN)
        write(self.directory, "main.tf.json", {})
        state = read_state(self.text("terraform.tfstate"), "x")
        state.index_users()
        main.record(state, Entry("end", "", "terraform_data.b", "delete"))
        self.assertEqual({"terraform_data.a"}, main.state_deps(state)["terraform_data.c"])


class SameContent(unittest.TestCase):
    """A write is due when anything but serial and terraform_version differs."""

    def test_serial_and_version_do_not_count(self) -> None:
        left, right = State(LINEAGE, 1), State(LINEAGE, 2)
        right.terraform_version = "1.9.0"
        self.assertTrue(main.same_content(left, right))

    def test_everything_else_does(self) -> None:
        def changed(**fields: Any) -> bool:
            left, right = read_state(document(data()), "x"), read_state(document(data()), "x")
            for name, value in fields.items():
                setattr(right, name, value)
            return not main.same_content(left, right)
        made = read_state(document(data()), "x").objects["terraform_data.a"]
        others: List[Dict[str, Any]] = [{"lineage": "x"}, {"direct": True}, {"foreign": [{}]},
                                        {"outputs": {"o": OutputValue(1)}}, {"objects": {}},
                  {"deposed": {"terraform_data.a": {"0a1b2c3d": made}}}]
        others += [{"objects": {"terraform_data.a": made._replace(**field)}} for field in (
            {"tainted": True}, {"dependencies": ("x.y",)}, {"create_before_destroy": True}, {"attributes": {"id": "j"}})]
        self.assertEqual([True] * len(others), [changed(**other) for other in others])


if __name__ == "__main__":
    unittest.main()
