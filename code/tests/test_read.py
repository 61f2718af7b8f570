"""Reading *.tf.json: the JSON grammar, files, blocks, literals, overrides, and where errors point."""
import os
import tempfile
import unittest
from decimal import Decimal

from support import config, write
import main


def errors(content, **others):
    """Return (summary, file:line) of everything that is wrong with a configuration."""
    return [(found.summary, place(found)) for found in problems(content, **others)]


def place(found):
    return f"{found.place.file}:{found.place.line}" if found.place else ""


def problems(content, **others):
    try:
        config(content, **others)
    except main.ConfigError as error:
        return error.diagnostics
    return []


def data(**resources):
    return {"resource": {"terraform_data": resources}}


class Numbers(unittest.TestCase):
    def read(self, text):
        return main.read_json(text, "x.json")

    def test_whole_numbers_are_integers_whatever_their_spelling(self):
        found = self.read("[1, 1.0, 1e3, 10E-1, 123456789012345678901234567890]")
        self.assertEqual([(type(n), n) for n in found], [
            (int, 1), (int, 1), (int, 1000), (int, 1), (int, 123456789012345678901234567890)])

    def test_fractions_are_exact_decimals(self):
        self.assertEqual(self.read("[1.50, 0.1, 1e-7]"), [Decimal("1.5"), Decimal("0.1"), Decimal("1E-7")])

    def test_minus_zero_stays_minus_zero(self):
        self.assertEqual([main.number_text(n) for n in self.read("[-0, -0.0, 0.0]")], ["-0", "-0", "0"])

    def test_more_than_4300_digits_are_read_and_rounded_to_154(self):
        self.assertEqual(self.read("1" * 5000).adjusted(), 4999)

    def test_an_absurd_exponent_is_refused_in_words(self):
        for text in ("1e999999999", "1e-999999999", "1e99999999999999999999"):
            with self.assertRaisesRegex(main.ConfigError, "at most 100000 digits"):
                self.read(text)

    def test_nan_and_infinity_are_refused(self):
        for text in ("NaN", "Infinity", "-Infinity"):
            with self.assertRaises(main.ConfigError):
                self.read(text)


class Strings(unittest.TestCase):
    def test_strings_and_keys_are_normalised(self):
        self.assertEqual(main.read_json('{"e\\u0301": "e\u0301"}', "x"), {"\u00e9": "\u00e9"})

    def test_lone_surrogates_become_the_replacement_character(self):
        self.assertEqual(main.read_json(r'["\ud800", "\ud83d\ude00"]', "x"), ["\ufffd", "\U0001f600"])

    def test_bad_bytes_in_a_string_become_one_replacement_character_each(self):
        found = config(b'{"locals": {"x": "a\xe2\x82b"}}')
        self.assertEqual(found.locals["x"].value, "a\ufffd\ufffdb")

    def test_repeated_keys_are_all_kept(self):
        self.assertEqual(list(main.items(main.read_json('{"a": 1, "a": 2}', "x"))), [("a", 1), ("a", 2)])


class Grammar(unittest.TestCase):
    """One error for one mistake, in the real grammar's words, on the line to mend."""

    CASES = [
        ('{"a": 1,\n}', "Trailing comma in object", 1),
        ("[1,\n2,\n]", "Trailing comma in array", 2),
        ('{"a": 1\n"b": 2}', "Missing attribute seperator comma", 2),
        ("[1\n2]", "Missing attribute seperator comma", 2),
        ('{"a":\n}', "Missing JSON value", 1),
        ('{"a"\n}', "Missing object value", 1),
        ('{"a" = 1}', "Missing property value colon", 1),
        ("{a: 1}", "Invalid JSON keyword", 1),
        ("{1: 1}", "Invalid object property name", 1),
        ("{'a': 1}", "Invalid start of value", 1),
        ("{\n// c\n}", "Invalid start of value", 2),
        ('{"a": True}', "Invalid JSON keyword", 1),
        ('{"a": 01}', "Invalid JSON number", 1),
        ('{"a": .5}', "Invalid JSON number", 1),
        ('{"a": "b\tc"}', "Invalid JSON string", 1),
        ('{"a": "\\q"}', "Invalid JSON string", 1),
        ('{\n"a": "b}', "Invalid JSON string", 2),
        ('{\n"a": {\n"b": 1}', "Unclosed object", 1),
        ('{\n"a": [\n1', "Unclosed object", 2),
        ('{"a": [1\n}\n}', "Mismatched brackets", 2),
        ('{"a": 1]', "Mismatched braces", 1),
        ("{}\n{}", "Extraneous data after value", 2),
        ("", "Missing value", 1),
        (" \n \n", "Missing value", 3),
        ("\ufeff{}", "Invalid start of value", 1),
        ("[1:2]", "Invalid array value", 1),
    ]

    def test_each_mistake_has_its_name_and_line(self):
        for text, summary, line in self.CASES:
            with self.subTest(text):
                self.assertEqual(errors(text), [(summary, f"main.tf.json:{line}")])

    def test_a_byte_order_mark_is_named(self):
        self.assertIn("byte order mark", problems("\ufeff{}")[0].detail)

    def test_utf_16_is_refused(self):
        self.assertEqual(errors("{}".encode("utf-16")), [("Invalid start of value", "main.tf.json:1")])

    def test_nesting_has_a_limit_and_no_traceback(self):
        for depth, expected in ((900, []), (100_000, [("Nesting too deep", "main.tf.json:1")])):
            text = '{"locals": {"x": ' + "[" * depth + "]" * depth + "}}"
            self.assertEqual(errors(text), expected)

    def test_every_broken_file_is_reported(self):
        found = errors("{", x_tf_json="[1,]", y_tf_json={"locals": {"1": 1}})
        self.assertEqual(found, [("Missing value", "main.tf.json:1"), ("Trailing comma in array", "x.tf.json:1"),
                                 ("Invalid local value name", "y.tf.json:3")])


class Files(unittest.TestCase):
    def load(self, **files):
        with tempfile.TemporaryDirectory() as directory:
            for name, text in files.items():
                write(directory, name.replace("__", "."), text)
            return main.load_config(directory)

    def test_names_that_the_real_tools_ignore_are_ignored(self):
        with tempfile.TemporaryDirectory() as directory:
            for name in (".x.tf.json", "x.tf.json~", "#x.tf.json#", "x.TF.json", "x.json", "x.tftest.json"):
                write(directory, name, "broken")
            os.mkdir(os.path.join(directory, "dir.tf.json"))
            write(directory, "#y.tf.json", {"locals": {"y": 1}})
            self.assertEqual(list(main.load_config(directory).locals), ["y"])

    def test_files_are_read_in_byte_order(self):
        found = errors({"locals": {"x": 1}}, Z_tf_json={"locals": {"x": 2}})
        self.assertEqual(found, [("Duplicate local value definition", "main.tf.json:3")])

    def test_a_tofu_file_hides_the_other_one_of_its_name(self):
        found = self.load(a__tf__json="broken", a__tofu__json={"locals": {"a": 1}}, b__tf__json={"locals": {"b": 1}})
        self.assertEqual(list(found.locals), ["a", "b"])

    def test_native_files_are_named_in_a_warning(self):
        found = self.load(main__tf="", x__tofu="", main__tf__json="{}")
        self.assertEqual([(w.severity, w.detail.partition(": ")[2]) for w in found.warnings], [("warning", "main.tf, x.tofu.")])

    def test_a_dangling_link_is_an_error(self):
        with tempfile.TemporaryDirectory() as directory:
            os.symlink("nowhere", os.path.join(directory, "x.tf.json"))
            with self.assertRaisesRegex(main.ConfigError, 'Failed to read file: The file "x.tf.json"'):
                main.load_config(directory)

    def test_a_missing_directory_is_an_error(self):
        with self.assertRaisesRegex(main.ConfigError, "Failed to read module directory"):
            main.load_config("/nonexistent/directory")

    def test_no_file_is_an_empty_configuration(self):
        self.assertEqual(self.load().resources, {})

    def test_texts_can_stand_in_for_files(self):
        found = main.load_config(".", {"b.tf.json": '{"locals": {"x": 1}}', "override.tf.json": '{"locals": {"x": 2}}'})
        self.assertEqual(found.locals["x"].value, 2)


class Blocks(unittest.TestCase):
    def test_arrays_are_flattened_at_every_level(self):
        found = config([{"resource": [{"terraform_data": [{"a": [{"input": 1}]}, {"b": {}}]}]}, {"locals": [{"x": 1}]}])
        self.assertEqual((list(found.resources), list(found.locals)), (["terraform_data.a", "terraform_data.b"], ["x"]))

    def test_null_and_an_empty_array_are_no_block_but_null_in_an_array_is(self):
        self.assertEqual(list(config(data(a=None, b=[], c=[None])).resources), ["terraform_data.c"])

    def test_one_body_may_be_made_of_several_objects(self):
        found = config(data(a=[[{"input": 1}, {"triggers_replace": 2}]]))
        self.assertEqual(found.resources["terraform_data.a"].body, {"input": 1, "triggers_replace": 2})

    def test_comments_are_ignored_in_bodies_only(self):
        self.assertEqual(errors('{"//": 1, "//": 2, "locals": {"//": 1}, "output": {"o": {"//": 1, "value": 1}}}'), [])
        self.assertEqual(errors({"resource": {"//": "c", "terraform_data": {"a": {}}}}),
                         [("Incorrect JSON value type", "main.tf.json:3")])

    def test_repeated_blocks_all_count(self):
        text = '{"locals": {"a": 1}, "locals": {"b": 1}, "resource": {"terraform_data": {"a": {}}, "terraform_data": {"b": {}}}}'
        found = config(text)
        self.assertEqual((list(found.locals), list(found.resources)), (["a", "b"], ["terraform_data.a", "terraform_data.b"]))

    def test_duplicates_name_the_place_of_the_first(self):
        found = problems('{"resource": {"terraform_data": {\n  "a": {},\n  "a": {}}}}')[0]
        self.assertEqual((found.summary, found.detail[:76], place(found)), (
            'Duplicate resource "terraform_data" configuration',
            'A terraform_data resource named "a" was already declared at main.tf.json:2,8', "main.tf.json:3"))

    def test_a_repeated_argument_names_the_range_of_the_first(self):
        found = problems('{"resource": {"terraform_data": {"a": {\n  "input": 1,\n  "input": 2}}}}')[0]
        self.assertEqual((found.summary, found.detail, place(found)), (
            "Duplicate argument", 'The argument "input" was already set at main.tf.json:2,3-13.', "main.tf.json:3"))

    def test_kinds_of_duplicates(self):
        for text, summary in (
                ('{"locals": {"x": 1, "x": 2}}', "Duplicate attribute definition"),
                ('{"locals": [{"x": 1}, {"x": 2}]}', "Duplicate local value definition"),
                ('{"output": {"o": {"value": 1}, "o": {"value": 2}}}', "Duplicate output definition"),
                ('{"resource": {"terraform_data": {"a": {"lifecycle": {}, "lifecycle": {}}}}}', "Duplicate lifecycle block")):
            with self.subTest(text):
                self.assertEqual([found.summary for found in problems(text)], [summary])

    def test_a_missing_level_is_named(self):
        self.assertIn('"o" stands where the name of the output is expected', problems({"output": {"o": "v"}})[0].detail)
        found = problems({"resource": {"terraform_data": {"input": 1}}})[0]
        self.assertIn('"input" stands where the name of the resource is expected', found.detail)

    def test_labels_may_not_be_missing(self):
        for value in ({}, [], None):
            self.assertEqual(errors({"resource": value}), [("Missing block label", "main.tf.json:2")])
        self.assertEqual(errors({"locals": None, "terraform": None}), [])

    def test_names_are_unicode_identifiers_with_dashes(self):
        names = ("a-b", "_a", "\u00e9", "\u65e5\u672c", "a\u00b7b", "true", "1a", "-a", "a b", "a.b", "", "${x}")
        accepted = [name for name in names if not errors(data(**{name: {}}))]
        self.assertEqual(accepted, ["a-b", "_a", "\u00e9", "\u65e5\u672c", "a\u00b7b", "true"])

    def test_unknown_properties_get_a_hint(self):
        self.assertEqual([found.detail for found in problems({"resources": {}, "zzz": 1})], [
            'No argument or block type is named "resources". Did you mean "resource"?',
            'No argument or block type is named "zzz".'])

    def test_unknown_types_get_a_hint(self):
        self.assertEqual(errors({"resource": {"terraform_dat": {"a": {}}, "foo_bar": {"a": {}}}}), [
            ("Invalid resource type", "main.tf.json:3"), ("Missing required provider", "main.tf.json:6")])

    def test_an_output_needs_a_value(self):
        self.assertEqual(errors('{"output": {"o": {\n"description": "d"\n}}}'), [("Missing required argument", "main.tf.json:3")])

    def test_terraform_and_provider_blocks(self):
        fine = {"terraform": {"required_version": ">= 1.0", "backend": {"local": {}},
                              "required_providers": {"local": {"source": "hashicorp/local"}}}, "provider": {"random": {}}}
        self.assertEqual(errors(fine), [])
        self.assertEqual([found.summary for found in problems(
            {"terraform": {"backend": {"s3": {}}, "required_versions": "1"}, "provider": {"local": {"alias": "x"}}})],
            ['minigraph does not support "backend"', "Extraneous JSON object property",
             'minigraph does not support "alias"'])


class OutsideTheSubset(unittest.TestCase):
    def test_what_is_not_supported_is_refused_by_name(self):
        for name in ("variable", "data", "module", "moved", "import", "removed", "check", "ephemeral"):
            self.assertEqual(errors({name: {}}), [(f'minigraph does not support "{name}"', "main.tf.json:2")])
        for name in ("count", "for_each", "provider", "provisioner", "connection", "_"):
            self.assertEqual(errors(data(a={name: {}})), [(f'minigraph does not support "{name}"', "main.tf.json:5")])
        for name in ("precondition", "postcondition", "destroy", "enabled"):
            self.assertEqual([found.summary for found in problems(data(a={"lifecycle": {name: {}}}))],
                             [f'minigraph does not support "{name}"'])

    def test_repetition_and_variables_point_to_the_next_lesson(self):
        for content in (data(a={"count": 2}), data(a={"for_each": {}}), {"variable": {"x": {}}}):
            self.assertIn("next lesson", problems(content)[0].detail)

    def test_expressions_are_refused_where_they_stand(self):
        found = problems(data(a={"input": ["x", {"k": "${upper(local.x)}"}]}))
        self.assertEqual([(found[0].summary, found[0].place.line, found[0].place.context)], [
            ("minigraph understands plain references inside ${...}, got ${upper(local.x)}", 8,
             "resource.terraform_data.a.input[1]")])


class MetaArguments(unittest.TestCase):
    def depends_on(self, value):
        return [found.summary for found in problems(data(a={"depends_on": value}, b={}))]

    def test_depends_on_takes_bare_addresses(self):
        found = config(data(a={"depends_on": [" terraform_data . b ", "resource.terraform_data.b", "local.x", "path.module"]}))
        self.assertEqual([(r.root, r.target) for r in found.resources["terraform_data.a"].depends_on], [
            ("resource", "terraform_data.b"), ("resource", "terraform_data.b"), ("local", "local.x"), ("path", "")])

    def test_depends_on_refuses_everything_else(self):
        for value in ("terraform_data.b", None, {}, True):
            self.assertEqual(self.depends_on(value), ["Invalid expression"])
        for item in ("${terraform_data.b}", "", 1, None, [], "terraform_data.*", "terraform_data.b.0", "a b"):
            self.assertEqual(self.depends_on([item]), ["Invalid expression"])
        self.assertEqual(self.depends_on(["terraform_data.b.id"]), ["Invalid depends_on reference"])
        self.assertEqual(self.depends_on(["terraform_data.b[0]"]), ["Unexpected resource instance key"])

    def test_lifecycle_truth_values_are_literal(self):
        for value, expected in ((True, True), ("true", True), ("1", True), (False, False), ("false", False), ("0", False)):
            found = config(data(a={"lifecycle": {"create_before_destroy": value}}))
            self.assertIs(found.resources["terraform_data.a"].lifecycle.create_before_destroy, expected)
        for value, detail in (("True", 'a bool is required; to convert from string, use lowercase "true"'),
                              ("${true}", "a bool is required"), (1, "bool required"), (None, "null value is not allowed")):
            found = problems(data(a={"lifecycle": {"create_before_destroy": value}}))
            self.assertEqual([(f.summary, f.detail) for f in found], [("Unsuitable value type", f"Unsuitable value: {detail}")])

    def test_ignore_changes_is_all_or_a_list_of_paths(self):
        for value, expected in (("all", "all"), (["input.k", "input[0]", 'input["a b"]'],
                                [[("input", False), ("k", False)], [("input", False), (0, True)],
                                 [("input", False), ("a b", True)]]), ([], None)):
            found = config(data(a={"lifecycle": {"ignore_changes": value}}))
            self.assertEqual(found.resources["terraform_data.a"].lifecycle.ignore_changes, expected)
        self.assertEqual(errors(data(a={"lifecycle": {"ignore_changes": ["*"]}}))[0][0], "Invalid ignore_changes wildcard")

    def test_replace_triggered_by_names_resources_only(self):
        found = config(data(a={"lifecycle": {"replace_triggered_by": ["terraform_data.b.id"]}}, b={}))
        self.assertEqual([r.target for r in found.resources["terraform_data.a"].lifecycle.replace_triggered_by],
                         ["terraform_data.b"])
        self.assertEqual(errors(data(a={"lifecycle": {"replace_triggered_by": ["local.x"]}}))[0][0],
                         "Invalid reference in replace_triggered_by expression")


class UnknownArguments(unittest.TestCase):
    def messages(self, body, kind="terraform_data"):
        found = config({"resource": {kind: {"a": body}}}).resources[f"{kind}.a"]
        return [(m.summary, m.detail) for m in main.unknown_arguments(found)]

    def test_the_lesson_wording(self):
        self.assertEqual(self.messages({"mode": None}, "local_file"),
                         [("Unsupported argument", 'An argument named "mode" is not expected here.')])

    def test_hints_know_meta_arguments_and_misplaced_lifecycle_settings(self):
        self.assertEqual([detail.partition("here. ")[2] for _, detail in self.messages(
            {"inputs": 1, "depend_on": 1, "lifecyle": 1, "prevent_destroy": 1})], [
            'Did you mean "input"?', 'Did you mean "depends_on"?', 'Did you mean "lifecycle"?',
            'Did you mean "prevent_destroy" inside "lifecycle"?'])


class Overrides(unittest.TestCase):
    BASE = {"locals": {"x": 1}, "output": {"o": {"value": 1, "sensitive": True}},
            **data(a={"input": {"k": 1}, "triggers_replace": 1, "lifecycle": {"prevent_destroy": True}})}

    def test_each_given_setting_replaces_the_earlier_one_whole(self):
        found = config(self.BASE, override_tf_json={
            "locals": {"x": 2}, "output": {"o": {"value": 2}},
            **data(a={"input": {"l": 2}, "lifecycle": {"create_before_destroy": True}})})
        resource = found.resources["terraform_data.a"]
        self.assertEqual((found.locals["x"].value, found.outputs["o"].value, found.outputs["o"].sensitive), (2, 2, True))
        self.assertEqual((resource.body, resource.lifecycle[:2]), ({"input": {"l": 2}, "triggers_replace": 1}, (True, True)))
        self.assertEqual(main.argument_spot(resource, "input").file, "override.tf.json")
        self.assertEqual(main.argument_spot(resource, "triggers_replace").file, "main.tf.json")

    def test_a_later_block_wins(self):
        found = config({"locals": {"x": 1}}, b_override_tf_json={"locals": [{"x": 2}, {"x": 3}]})
        self.assertEqual(found.locals["x"].value, 3)

    def test_what_may_not_be_overridden(self):
        found = errors(self.BASE, override_tf_json={"locals": {"y": 1}, "output": {"p": {}}, "resource": {
            "terraform_data": {"b": {}, "a": {"depends_on": ["terraform_data.b"]}}}})
        self.assertEqual([summary for summary, _ in found], [
            "Missing base local value definition to override", "Missing base output definition to override",
            "Missing resource to override", "Unsupported override"])

    def test_only_two_name_forms_override(self):
        self.assertEqual([name for name in ("override.tf.json", "x_override.tofu.json", "override_x.tf.json",
                                            "Override.tf.json") if main.is_override(name)],
                         ["override.tf.json", "x_override.tofu.json"])


class Places(unittest.TestCase):
    TEXT = '{"locals": {\n\t"x": [1,\r\n  {"k": "v"}\n]}}'

    def test_a_spot_becomes_line_column_path_and_source(self):
        found = main.placed([main.Diagnostic("x", spot=main.Spot("a", (0, 0, 1, 0)))], {"a": self.TEXT})
        self.assertEqual(found[0].place, main.Place("a", 3, 9, "locals.x[1]", '  {"k": "v"}', 24))

    def test_keys_and_closing_signs_have_places(self):
        layout = main.Layout("a", self.TEXT)
        self.assertEqual(layout.place(main.Spot("a", (0, 0), "key"))[:4], ("a", 2, 2, "locals"))
        self.assertEqual(layout.place(main.Spot("a", (0, 0), "end"))[:4], ("a", 4, 1, "locals.x"))

    def test_diagnostics_come_once_sorted_by_file_and_line(self):
        spots = [main.Spot("b", (0,)), main.Spot("a", (0, 0, 1)), main.Spot("a", (0, 0)), main.Spot("a", (0, 0))]
        found = main.placed([main.Diagnostic("x", spot=spot) for spot in spots], {"a": self.TEXT, "b": "[1]"})
        self.assertEqual([place(item) for item in found], ["a:2", "a:3", "b:1"])


if __name__ == "__main__":
    unittest.main()
