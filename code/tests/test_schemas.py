"""What the four types accept, how arguments are converted, and the wording of what is refused."""
from __future__ import annotations

import sys
import unittest
from decimal import Decimal
from pathlib import Path
from typing import Any, Dict, List, Tuple

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))
import main  # noqa: E402
from main import UNKNOWN, Map, Typed, keeps_object  # noqa: E402


def converted(type_name: str, **body: Any) -> Dict[str, Any]:
    """Return the converted arguments of a body that has no problem."""
    args, problems = main.convert_arguments(type_name, body)
    assert not problems, problems
    return args


def refused(type_name: str, **body: Any) -> List[Tuple[str, str, str]]:
    """Return (argument, summary, detail) of every problem of a body, as validate collects them."""
    args, problems = main.convert_arguments(type_name, body)
    problems = problems or main.check_arguments(type_name, args)
    return [(problem.argument, problem.summary, problem.detail) for problem in problems]


def wrong_type(name: str, detail: str) -> List[Tuple[str, str, str]]:
    """Return the one problem of a value that cannot be converted."""
    return [(name, "Incorrect attribute value type", f'Inappropriate value for attribute "{name}": {detail}')]


class Schemas(unittest.TestCase):
    """One row a type says everything that the engine knows about it."""

    def test_the_lesson_builds_a_schema_from_four_or_five_fields(self) -> None:
        schema = main.Schema({"input": None}, set(), {"input"}, {"id"}, {"id"})
        self.assertEqual(schema.attributes, {"input", "id"})

    def test_every_attribute_has_a_kind(self) -> None:
        for name, schema in main.SCHEMAS.items():
            self.assertEqual(schema.attributes, set(schema.kinds), name)

    def test_local_file_returns_its_id_and_six_hashes(self) -> None:
        self.assertEqual(sorted(main.SCHEMAS["local_file"].computed), [
            "content_base64sha256", "content_base64sha512", "content_md5", "content_sha1", "content_sha256",
            "content_sha512", "id"])

    def test_each_argument_of_local_file_replaces_the_file(self) -> None:
        schema = main.SCHEMAS["local_file"]
        self.assertEqual(schema.force_new, set(schema.arguments))

    def test_the_sources_are_those_of_the_registry_and_one_is_built_in(self) -> None:
        self.assertEqual({name: schema.source for name, schema in main.SCHEMAS.items()}, {
            "local_file": "hashicorp/local", "random_pet": "hashicorp/random", "terraform_data": "",
            "time_sleep": "hashicorp/time"})

    def test_only_sensitive_content_is_sensitive_by_itself(self) -> None:
        self.assertEqual({name: schema.sensitive for name, schema in main.SCHEMAS.items() if schema.sensitive},
                         {"local_file": {"sensitive_content"}})


class Defaults(unittest.TestCase):
    """Every argument is present after conversion; null takes the default like an absent one."""

    def test_permissions_default_to_text(self) -> None:
        self.assertEqual(converted("local_file", filename="f", content="x", file_permission=None), {
            "filename": "f", "content": "x", "content_base64": None, "source": None, "sensitive_content": None,
            "file_permission": "0777", "directory_permission": "0777"})

    def test_a_pet_has_two_words_and_a_dash(self) -> None:
        self.assertEqual(converted("random_pet", length=None, separator=None),
                         {"length": 2, "separator": "-", "prefix": None, "keepers": None})

    def test_a_typed_null_takes_the_default_too(self) -> None:
        null = Typed(None, "string")
        found = converted("random_pet", separator=null, length=null, keepers=Typed(None, ["map", "string"]))
        self.assertEqual((found["length"], found["keepers"]), (2, None))

    def test_an_empty_string_is_not_null(self) -> None:
        self.assertEqual(converted("random_pet", separator="", prefix="")["separator"], "")


class Strings(unittest.TestCase):
    """A string takes numbers as exact decimals and booleans as words, and nothing else."""

    def test_scalars_become_text(self) -> None:
        for value, text in ((5, "5"), (True, "true"), (False, "false"), (Decimal("1.0"), "1"),
                            (Decimal("-0"), "-0"), (Decimal("1e-7"), "0.0000001"), (Decimal("1E+3"), "1000"),
                            (Decimal("3.14159265358979323846264338"), "3.14159265358979323846264338")):
            self.assertEqual(converted("local_file", filename="f", content=value)["content"], text)

    def test_arrays_and_objects_are_refused_empty_ones_too(self) -> None:
        values: List[Any] = [[], {}, ["x"], {"a": 1}, Map(a="1"), Typed(["x"], ["set", "string"])]
        for value in values:
            self.assertEqual(refused("local_file", filename="f", content=value),
                             wrong_type("content", "string required."))

    def test_an_unknown_passes_unchecked(self) -> None:
        self.assertIs(converted("local_file", filename=UNKNOWN, content="x")["filename"], UNKNOWN)

    def test_an_array_with_an_unknown_inside_is_refused_now(self) -> None:
        self.assertEqual(refused("local_file", filename=[UNKNOWN], content="x"),
                         wrong_type("filename", "string required."))


class Numbers(unittest.TestCase):
    """A number takes decimal text; a length must be a 64-bit integer, whatever its sign."""

    def test_decimal_text_is_a_number(self) -> None:
        for text, number in (("2", 2), ("03", 3), ("+3", 3), ("-3", -3), ("2.0", 2), ("2.", 2), ("1e1", 10),
                             ("1E0", 1), (".2e1", 2), ("-0", 0), ("0", 0), ("9223372036854775807", 2**63 - 1)):
            length = converted("random_pet", length=text)["length"]
            self.assertEqual((length, type(length)), (number, int), text)

    def test_a_whole_decimal_is_an_integer(self) -> None:
        self.assertIs(type(converted("random_pet", length=Decimal("2.0"))["length"]), int)

    def test_other_text_is_refused(self) -> None:
        for text in ("abc", "", " 2 ", "2 ", "0x2", "1_0", "\u0662", "2\n", "e1", ".", "1e", "--1", "nan"):
            self.assertEqual(refused("random_pet", length=text), wrong_type("length", "a number is required."))

    def test_other_types_are_refused(self) -> None:
        values: List[Any] = [True, False, [2], {}, []]
        for value in values:
            self.assertEqual(refused("random_pet", length=value), wrong_type("length", "number required."))

    def test_a_fraction_and_infinity_are_no_length(self) -> None:
        for value in (Decimal("1.5"), "1.5", "inf", "-Inf", "1e-999999999"):
            [(name, summary, detail)] = refused("random_pet", length=value)
            self.assertEqual((name, summary), ("length", "Configuration Read Error"))
            self.assertRegex(detail, r"^The attribute length must be a whole number\. Value \S+ is not an integer\.$")

    def test_more_than_64_bits_are_no_length(self) -> None:
        for value in (2**63, -2**63 - 1, "9223372036854775808", "1e999999999", Decimal("1e40")):
            self.assertRegex(refused("random_pet", length=value)[0][2],
                             r" Value \S+ cannot be represented as a 64-bit integer\.$")

    def test_zero_and_negative_lengths_are_fine(self) -> None:
        for value in (0, -1, -100, -2**63, Decimal("0e40")):
            self.assertEqual(refused("random_pet", length=value), [])


class Maps(unittest.TestCase):
    """A map of strings takes an object; elements are converted one by one, nulls and unknowns stay."""

    def test_elements_become_strings_in_a_map(self) -> None:
        keepers = converted("random_pet", keepers={"b": 1, "a": True, "n": None, "u": UNKNOWN})["keepers"]
        self.assertEqual((type(keepers), keepers), (Map, {"a": "true", "b": "1", "n": None, "u": UNKNOWN}))

    def test_an_empty_object_is_a_value(self) -> None:
        self.assertEqual(converted("random_pet", keepers={})["keepers"], Map())

    def test_a_map_of_another_type_is_converted(self) -> None:
        triggers = converted("time_sleep", create_duration="1s", triggers=Typed({"a": 1}, ["map", "number"]))
        self.assertEqual(triggers["triggers"], Map(a="1"))

    def test_a_string_or_an_array_is_refused(self) -> None:
        values: List[Any] = ["x", 5, True, ["x"], Typed(["x"], ["set", "string"])]
        for value in values:
            self.assertEqual(refused("time_sleep", create_duration="0s", triggers=value),
                             wrong_type("triggers", "map of string required."))

    def test_the_first_wrong_element_is_named(self) -> None:
        self.assertEqual(refused("random_pet", keepers={"z": {}, "b": [1], "a": "fine"}),
                         wrong_type("keepers", 'element "b": string required.'))

    def test_a_wholly_unknown_map_passes(self) -> None:
        self.assertIs(converted("random_pet", keepers=UNKNOWN)["keepers"], UNKNOWN)


class TypesOfUnknowns(unittest.TestCase):
    """What is known of the type of an unknown, or of a null, is checked before anything runs."""

    PAIR = ["tuple", ["string", "string"]]

    def of(self, kind: Any) -> List[Any]:
        """Return an unknown and a null of a type."""
        return [main.Unknown(None, kind), Typed(None, kind)]

    def test_a_type_that_converts_passes(self) -> None:
        for kind in ("string", "number", "bool", "dynamic", None):
            for value in self.of(kind):
                self.assertEqual(refused("local_file", filename="f", content="c", file_permission=value), [])
        for kind in ("string", "number", "dynamic"):
            self.assertEqual(refused("random_pet", length=main.Unknown(None, kind)), [])
        for kind in (["map", "string"], ["object", {"a": "bool", "b": "dynamic"}], "dynamic"):
            self.assertEqual(refused("random_pet", keepers=main.Unknown(None, kind)), [])

    def test_a_type_that_does_not_convert_is_refused_in_the_words_for_a_known_value(self) -> None:
        for kind in (self.PAIR, ["object", {}], ["map", "string"]):
            for value in self.of(kind):
                self.assertEqual(refused("random_pet", prefix=value), wrong_type("prefix", "string required."))
        for kind in ("bool", self.PAIR):
            for value in self.of(kind):
                self.assertEqual(refused("random_pet", length=value), wrong_type("length", "number required."))
        for kind in ("string", "bool", self.PAIR):
            for value in self.of(kind):
                self.assertEqual(refused("random_pet", keepers=value), wrong_type("keepers", "map of string required."))
        for value in self.of(["object", {"a": "string", "b": self.PAIR}]):
            self.assertEqual(refused("random_pet", keepers=value), wrong_type("keepers", 'element "b": string required.'))

    def test_a_null_of_the_wrong_type_inside_a_map_is_refused(self) -> None:
        self.assertEqual(refused("random_pet", keepers={"a": Typed(None, ["map", "string"])}),
                         wrong_type("keepers", 'element "a": string required.'))


class Dynamic(unittest.TestCase):
    """terraform_data takes every value as it is."""

    def test_nothing_is_converted(self) -> None:
        for value in ("1", 1, True, [], {}, [1, None], {"a": UNKNOWN}, Map(a="1"), Typed(None, "string"), UNKNOWN):
            self.assertIs(converted("terraform_data", input=value)["input"], value)


class Required(unittest.TestCase):
    """A required argument must be there, and not null."""

    def test_an_absent_one_concerns_the_whole_body(self) -> None:
        self.assertEqual(refused("local_file", content="x"), [
            ("", "Missing required argument", 'The argument "filename" is required, but no definition was found.')])

    def test_a_null_one_is_the_providers_complaint(self) -> None:
        [(name, summary, detail)] = refused("local_file", content="x", filename=None)
        self.assertEqual((name, summary), ("filename", "Missing Configuration for Required Attribute"))
        self.assertTrue(detail.startswith("Must set a configuration value for the filename attribute"))


class ReadOnly(unittest.TestCase):
    """What only a provider sets is refused in a configuration, unless it is null."""

    def test_registry_providers_say_it_this_way(self) -> None:
        for type_name, body in (("local_file", {"filename": "f", "content": "x", "content_md5": "a"}),
                                ("random_pet", {"id": "x"}), ("random_pet", {"id": UNKNOWN}),
                                ("time_sleep", {"create_duration": "1s", "id": "2026-11-30T05:41:33.5+01:00"})):
            [(name, summary, detail)] = refused(type_name, **body)
            self.assertEqual((name in ("id", "content_md5"), summary, detail.split(". ")[0]), (
                True, "Invalid Configuration for Read-Only Attribute",
                "Cannot set value for this attribute as the provider has marked it as read-only"))

    def test_the_built_in_one_has_a_summary_for_each_and_no_detail(self) -> None:
        self.assertEqual(refused("terraform_data", output="x", id="y"), [
            ("id", '"id" attribute is read-only', ""), ("output", '"output" attribute is read-only', "")])

    def test_null_is_fine(self) -> None:
        self.assertEqual(refused("terraform_data", output=None, id=None), [])

    def test_a_time_must_be_one_before_it_is_refused(self) -> None:
        self.assertEqual(refused("time_sleep", create_duration="1s", id="x")[0][1], "Invalid RFC3339 String Value")

    def test_the_type_is_checked_first(self) -> None:
        self.assertEqual(refused("random_pet", id=[]), wrong_type("id", "string required."))


class ExactlyOneContent(unittest.TestCase):
    """local_file wants one of four contents; null counts as unset, "" as set, unknown puts the check off."""

    def test_none_is_reported_at_each_of_the_four(self) -> None:
        self.assertEqual([(name, detail) for name, _, detail in refused("local_file", filename="f", content=None)], [
            ("content", "No attribute specified when one (and only one) of "
             "[content_base64,source,sensitive_content] is required"),
            ("content_base64", "No attribute specified when one (and only one) of "
             "[content,source,sensitive_content] is required"),
            ("source", "No attribute specified when one (and only one) of "
             "[content,content_base64,sensitive_content] is required"),
            ("sensitive_content", "No attribute specified when one (and only one) of "
             "[content,content_base64,source] is required")])

    def test_two_and_three_are_counted(self) -> None:
        for body, count in (({"content": "", "content_base64": ""}, 2), ({"content": "a", "source": "b"}, 2),
                            ({"content": "a", "source": "b", "content_base64": "YQ=="}, 3)):
            found = refused("local_file", filename="f", **body)
            self.assertEqual({summary for _, summary, _ in found}, {"Invalid Attribute Combination"})
            self.assertTrue(found[0][2].startswith(f"{count} attributes specified when one (and only one) of ["))

    def test_an_unknown_one_puts_it_off(self) -> None:
        self.assertEqual(refused("local_file", filename="f", content=UNKNOWN, source="x"), [])
        self.assertEqual(refused("local_file", filename="f", content="a", source="b", content_base64=UNKNOWN), [])

    def test_sensitive_content_is_deprecated(self) -> None:
        args = converted("local_file", filename="f", sensitive_content="s")
        self.assertEqual(main.check_arguments("local_file", args), [main.Problem(
            "sensitive_content", "Attribute Deprecated", "Use the `local_sensitive_file` resource instead",
            "warning")])


class Permissions(unittest.TestCase):
    """Permissions are 3 or 4 bytes of octal up to 0777; a sign counts as one of them."""

    def test_these_are_accepted(self) -> None:
        for mode in ("644", "0644", "0777", "000", "0000", "+644", "+77", "+777", "-00", "-000", 644, 420):
            self.assertEqual(refused("local_file", filename="f", content="x", file_permission=mode), [], mode)

    def test_the_length_is_looked_at_first(self) -> None:
        for mode in ("", "7", "77", "-0", "00644", "\u0660\u0667\u0667", 0, "99999", "rwxr-xr-x"):
            self.assertEqual(refused("local_file", filename="f", content="x", directory_permission=mode), [
                ("directory_permission", "Invalid File Permission String Value",
                 f"bad mode permission: string length should be 3 or 4 digits: {mode}")])

    def test_the_rest_must_be_octal_and_at_most_0777(self) -> None:
        for mode in ("0888", "0999", "1777", "1000", "-644", "-001", "0x1f", "0o77", "0_77", " 644", "777 ", "777\n",
                     "++77", "true", "+07a", "\u0667\u0667"):
            self.assertEqual(refused("local_file", filename="f", content="x", file_permission=mode), [
                ("file_permission", "Invalid File Permission String Value",
                 f"bad mode permission: string must be expressed in octal numeric notation: {mode}")])

    def test_an_unknown_one_is_checked_later(self) -> None:
        self.assertEqual(refused("local_file", filename="f", content="x", file_permission=UNKNOWN), [])


class Durations(unittest.TestCase):
    """time_sleep wants at least one duration; each is one number with one unit and nothing around it."""

    def test_these_are_accepted(self) -> None:
        for text in ("0s", "00s", "0.0s", "0ms", "1.5h", "30s", "90m", "9999999999h", "00.000s"):
            self.assertEqual(refused("time_sleep", create_duration=text), [], text)

    def test_these_are_refused(self) -> None:
        for text in ("", "1", "0", "true", "1ns", "1us", "1\u00b5s", "1d", "1h30m", "-1s", "+1s", ".5s", "1.s", "1 s",
                     "1s\n", " 1s", "1e3ms", "\u0663s", "1.5.2s", "1S"):
            self.assertEqual(refused("time_sleep", destroy_duration=text), [(
                "destroy_duration", "Invalid Attribute Value Match",
                "Attribute destroy_duration must be a number immediately followed by ms (milliseconds), s (seconds), "
                f'm (minutes), or h (hours). For example, "30s" for 30 seconds., got: {text}')])

    def test_a_number_or_a_boolean_is_judged_as_the_text_it_becomes(self) -> None:
        self.assertTrue(refused("time_sleep", create_duration=1)[0][2].endswith("got: 1"))
        self.assertTrue(refused("time_sleep", create_duration=True)[0][2].endswith("got: true"))

    def test_neither_is_reported_at_both(self) -> None:
        self.assertEqual(refused("time_sleep", triggers={"a": "b"}), [
            ("create_duration", "Invalid Attribute Combination",
             "At least one attribute out of [destroy_duration,create_duration] must be specified"),
            ("destroy_duration", "Invalid Attribute Combination",
             "At least one attribute out of [create_duration,destroy_duration] must be specified")])

    def test_an_unknown_one_puts_it_off(self) -> None:
        self.assertEqual(refused("time_sleep", create_duration=UNKNOWN), [])
        self.assertEqual(len(refused("time_sleep", create_duration=UNKNOWN, destroy_duration="x")), 1)


class InPlaceOrReplaced(unittest.TestCase):
    """A changed argument replaces the object if it is force-new; keepers have a rule of their own."""

    def keepers(self, before: Any, after: Any) -> bool:
        """Return whether keepers may go from one object (or null) to the other in place."""
        return keeps_object("random_pet", "keepers", None if before is None else Map(before),
                            Map(after) if isinstance(after, dict) else after)

    def test_force_new_arguments_replace(self) -> None:
        for type_name, name in (("local_file", "file_permission"), ("random_pet", "length"), ("time_sleep", "triggers"),
                                ("terraform_data", "triggers_replace")):
            self.assertFalse(keeps_object(type_name, name, None, "x"))

    def test_the_others_are_changed_in_place(self) -> None:
        for type_name, name in (("terraform_data", "input"), ("time_sleep", "create_duration"),
                                ("time_sleep", "destroy_duration")):
            self.assertTrue(keeps_object(type_name, name, "x", UNKNOWN))

    def test_triggers_of_time_sleep_are_strict(self) -> None:
        for before, after in ((None, Map()), (Map(), None), (Map(), Map(a=None)), (None, Map(a=None))):
            self.assertFalse(keeps_object("time_sleep", "triggers", before, after))

    def test_keepers_from_nothing_replace_only_with_an_element_that_is_not_null(self) -> None:
        self.assertEqual([self.keepers(None, after) for after in ({}, {"a": None}, {"a": "1"}, {"a": UNKNOWN})],
                         [True, True, False, False])

    def test_keepers_lose_no_key(self) -> None:
        lost: List[Tuple[Any, Any]] = [
            ({"a": None}, {}), ({"a": "1"}, {}), ({"a": "1"}, None), ({"a": "1", "b": None}, {"a": "1"})]
        for before, after in lost:
            self.assertFalse(self.keepers(before, after), (before, after))
        self.assertTrue(self.keepers({}, None))

    def test_keepers_gain_only_nulls(self) -> None:
        allowed: List[Tuple[Any, Any]] = [({"a": "1"}, {"a": "1", "b": None}), ({}, {"a": None}), (None, {"a": None})]
        for before, after in allowed:
            self.assertTrue(self.keepers(before, after), (before, after))
        different: List[Tuple[Any, Any]] = [
            ({}, {"a": "1"}), ({"a": "1"}, {"a": "2"}), ({"a": None}, {"a": "1"}), ({"a": "1"}, {"a": None}),
            ({"a": "1"}, {"a": UNKNOWN}), ({}, {"a": UNKNOWN})]
        for before, after in different:
            self.assertFalse(self.keepers(before, after), (before, after))

    def test_wholly_unknown_keepers_replace_only_where_there_were_some(self) -> None:
        self.assertEqual([self.keepers(before, UNKNOWN) for before in (None, {}, {"a": None}, {"a": "1"})],
                         [True, True, False, False])


if __name__ == "__main__":
    unittest.main()
