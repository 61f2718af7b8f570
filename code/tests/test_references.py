"""Templates and references: escapes, traversals, what is refused, undeclared names."""
import unittest

from support import config
import main

DECLARED = {"locals": {"x": 1, "release": 2, "s": "t"}, "resource": {
    "terraform_data": {"a": {"input": 1}}, "local_file": {"f": {"filename": "f", "content": "c"}}}}


def parse(text):
    return [part if isinstance(part, str) else (part.target or part.root, *part.steps) for part in main.parse_template(text)]


def refusal(text):
    try:
        main.parse_template(text)
    except main.ConfigError as error:
        return error.diagnostics[0].summary
    return None


class Templates(unittest.TestCase):
    def test_a_lone_reference_is_the_only_part(self):
        self.assertEqual(parse("${local.x}"), [("local.x",)])
        self.assertEqual(parse(" ${local.x}"), [" ", ("local.x",)])

    def test_text_without_templates_is_one_part(self):
        for text in ("", "$5", "100%", "$ {a}", "{{x}}", "#{x}", "$(x)", "}"):
            self.assertEqual(parse(text), [text])

    def test_of_several_dollars_before_a_brace_one_goes_and_nothing_opens(self):
        self.assertEqual([parse(text) for text in ("$${a}", "$$${a}", "$$$${a}", "%%{a}", "%%%{a}", "$%{x"[:1])],
                         [["${a}"], ["$${a}"], ["$$${a}"], ["%{a}"], ["%%{a}"], ["$"]])

    def test_a_percent_before_a_dollar_is_text(self):
        self.assertEqual(parse("%${local.x}%"), ["%", ("local.x",), "%"])

    def test_a_backslash_is_no_escape(self):
        self.assertEqual(parse("\\${local.x}"), ["\\", ("local.x",)])

    def test_text_behind_the_first_closing_brace_is_text(self):
        self.assertEqual(parse("${local.x}}"), [("local.x",), "}"])

    def test_the_end_is_found_through_quotes_braces_and_comments(self):
        for expression in ('"}"', '{ a = "}" }', '"${"}"}"', 'f("\\"}")', "local.x /* } */", "[{}]", '"$${"'):
            self.assertEqual(refusal("${%s} ${local.x}" % expression),
                             "minigraph understands plain references inside ${...}, got ${%s}" % expression)

    def test_directives_are_never_text(self):
        self.assertEqual([refusal(text) for text in ("%{ if x }", "%{", "%{ }", "%{ off }")], [
            "minigraph understands plain references inside ${...}, got %{ if x }", "Invalid template directive",
            "Invalid template directive", "Invalid template control keyword"])


class Traversals(unittest.TestCase):
    def test_steps_are_names_and_indexes(self):
        self.assertEqual(parse('${terraform_data.a.output["a b"][0].c.1.d}'),
                         [("terraform_data.a", "output", "a b", 0, "c", 1, "d")])

    def test_white_space_may_stand_around_dots_and_in_brackets(self):
        self.assertEqual(parse('${ local\n . x [ 0 ]\t[ "k" ] }'), [("local.x", 0, "k")])

    def test_names_may_have_dashes(self):
        self.assertEqual(parse("${local.a-b}"), [("local.a-b",)])

    def test_quoted_keys_know_escapes(self):
        self.assertEqual(parse(r'${local.x["a\"\n\u00e9$"]}'), [("local.x", 'a"\n\u00e9$')])

    def test_the_resource_prefix_says_nothing_new(self):
        self.assertEqual(parse("${resource.terraform_data.a.id}"), [("terraform_data.a", "id")])

    def test_path_and_workspace_have_no_target(self):
        self.assertEqual([parse(text) for text in ("${path.module}", "${terraform.workspace}", "${tofu.workspace}")],
                         [[("path", "module")], [("terraform", "workspace")], [("terraform", "workspace")]])

    def test_syntax_errors_have_the_real_names(self):
        for text, summary in (
                ("${}", "Invalid expression"), ("${ }", "Invalid expression"), ("${", "Missing expression"),
                ("${local.x", "Unclosed template interpolation sequence"), ("a${ ", "Missing expression"),
                ("${local.}", "Invalid attribute name"), ("${local..x}", "Invalid attribute name"),
                ("${local.x local.y}", "Extra characters after interpolation expression"),
                ("${local.x, 1}", "Extra characters after interpolation expression"),
                ("${local.x...}", "Extra characters after interpolation expression"),
                ("${USER:-x}", "Extra characters after interpolation expression"),
                ("${'s'}", "Invalid character"), ('${"abc}', "Unterminated template string"),
                ("${local.x[}", "Invalid expression"), ("${local.x[0}", "Missing close bracket on index"),
                ("${local.x.0.0}", "Invalid legacy index syntax")):
            with self.subTest(text):
                self.assertEqual(refusal(text), summary)

    def test_everything_but_plain_references_is_refused(self):
        for expression in ("upper(local.x)", "local.x + 1", "local.x ? 1 : 2", "[for x in local.l : x]", "(local.x)",
                           "local.x[*].y", "local.x.*.y", "local.x[local.i]", '"text"', "5", "true", "null", "-local.x",
                           "!local.x", "local.x == 1", "~ local.x ~", "local.x # c\n"):
            with self.subTest(expression):
                self.assertEqual(refusal("${%s}" % expression),
                                 "minigraph understands plain references inside ${...}, got ${%s}" % expression.strip())


class Checks(unittest.TestCase):
    def setUp(self):
        self.config = config(DECLARED)

    def check(self, expression, owner="output.o"):
        found = main.check_reference(main.parse_reference(expression), self.config, owner)
        return found and (found.summary, found.detail)

    def test_declared_names_are_right(self):
        for expression in ("local.x", "terraform_data.a", "terraform_data.a.output.k", "local_file.f.content_md5",
                           "path.module", "path.root", "path.cwd", "terraform.workspace"):
            self.assertIsNone(self.check(expression))

    def test_undeclared_names_get_near_ones(self):
        self.assertEqual(self.check("local.relaese"), (
            "Reference to undeclared local value",
            'A local value with the name "relaese" has not been declared. Did you mean "release"?'))
        self.assertEqual(self.check("terraform_data.b")[1], (
            'A managed resource "terraform_data" "b" has not been declared in the root module.'
            ' Did you mean "terraform_data.a"?'))

    def test_wrong_first_names_get_advice(self):
        for expression, advice in (("locals.x", "local.NAME"), ("Local.x", "local.NAME"), ("output.o", "Outputs cannot"),
                                   ("env.HOME", "environment"), ("vars.x", "local.NAME")):
            summary, detail = self.check(expression)
            self.assertEqual(summary, "Reference to undeclared resource")
            self.assertIn(advice, detail)

    def test_attributes_are_those_of_the_schema(self):
        self.assertEqual(self.check("terraform_data.a.outputs"), (
            "Unsupported attribute", 'This object has no argument, nested block, or exported attribute named "outputs".'
                                     ' Did you mean "output"?'))
        self.assertEqual(self.check("terraform_data.a.count")[0], "Invalid resource count attribute")

    def test_a_single_resource_has_no_index(self):
        for expression in ("terraform_data.a[0].id", 'terraform_data.a["id"]', "terraform_data.a.0"):
            self.assertEqual(self.check(expression)[0], "Unexpected resource instance key")

    def test_invalid_forms(self):
        for expression, summary in (
                ("terraform_data", "Invalid reference"), ("HOME", "Invalid reference"), ("local", "Invalid reference"),
                ('local["x"]', "Invalid reference"), ("path", "Invalid reference"), ("data.x", "Invalid reference"),
                ("resource.x", "Invalid reference"), ("path.home", 'Invalid "path" attribute'),
                ("terraform.env", 'Invalid "terraform" attribute'), ("self.id", 'Invalid "self" reference'),
                ("var.x", "Reference to undeclared input variable"), ("module.m.o", "Reference to undeclared module"),
                ("data.x.y", "Reference to undeclared resource"), ("template.x", "Reserved symbol name"),
                ("each.key", 'Reference to "each" in context without for_each'),
                ("count.index", 'Reference to "count" in non-counted context')):
            with self.subTest(expression):
                self.assertEqual(self.check(expression)[0], summary)

    def test_a_local_value_may_not_use_itself(self):
        self.assertEqual(self.check("local.x", "local.x"), (
            "Self-referencing local value", "Local value local.x cannot use its own result as part of its expression."))


class LessonNames(unittest.TestCase):
    def setUp(self):
        self.config = config(DECLARED)

    def refuses(self, message, function, *arguments):
        with self.assertRaises(main.ConfigError) as caught:
            function(*arguments)
        self.assertEqual(caught.exception.diagnostics[0].summary, message)

    def test_template_parts(self):
        self.assertEqual(main.template_parts("a $${x} ${ local.x }!"), [("lit", "a ${x} "), ("ref", "local.x"), ("lit", "!")])
        self.refuses("w: minigraph understands plain references inside ${...}, got ${f(1)}", main.template_parts, "${f(1)}", "w")

    def test_reference_target(self):
        self.assertEqual([main.reference_target(text, self.config) for text in ("terraform_data.a.id", "local.x", "path.module")],
                         ["terraform_data.a", "local.x", None])
        self.refuses("w: reference to undeclared resource terraform_data.z",
                     main.reference_target, "terraform_data.z", self.config, "w")
        self.refuses('w: unsupported attribute "z" on terraform_data.a',
                     main.reference_target, "terraform_data.a.z", self.config, "w")

    def test_targets_of(self):
        value = {"k${local.x}": ["${terraform_data.a.id}-${local.release}", {"n": "${path.module}"}], "//": "${local.s}"}
        self.assertEqual(main.targets_of(value, self.config), {"local.x", "terraform_data.a", "local.release", "local.s"})


class ReferencesInValues(unittest.TestCase):
    def test_each_reference_comes_with_the_child_numbers_that_lead_to_it(self):
        value = {"a": 1, "${local.k}": ["x", "${local.x} ${local.y}"]}
        self.assertEqual([(trail, reference.target) for trail, _, reference in main.references_in(value)],
                         [((1,), "local.k"), ((1, 1), "local.x"), ((1, 1), "local.y")])

    def test_a_template_that_does_not_parse_has_none(self):
        self.assertEqual(list(main.references_in(["${", "${local.x"])), [])

    def test_repeated_keys_count(self):
        value = main.read_json('{"k": "${local.a}", "k": "${local.b}"}', "x")
        self.assertEqual([reference.target for _, _, reference in main.references_in(value)], ["local.a", "local.b"])


class PlainReferences(unittest.TestCase):
    """The short way for "${a.b.c}" gives what the grammar gives."""

    def short(self, text):
        """Return what the short way makes of the interpolation with which a text begins."""
        match = main.PLAIN_REFERENCE.match(text)
        return match and main.plain_reference(match)

    def test_both_ways_agree_wherever_the_short_one_answers(self) -> None:
        plain = ["${terraform_data.a}", "${terraform_data.a-b.output.k}", "${local.l}", "${local.l.x.y}", "${_a._b}", "${a-.b-}"]
        self.assertEqual([main.parse_reference(text[2:-1]) for text in plain], [self.short(text) for text in plain])

    def test_everything_else_is_left_to_the_grammar(self) -> None:
        others = ["${path.module}", "${var.x}", "${resource.a.b}", "${a}", "x${a.b}", "${a.b[0]}", "${ a.b }",
                  "${a.0}", "${é.b}", "${a.b.}", "$${a.b}", "${each.key}", "${self.id}", "${module.m.o}", "${data.t.x}"]
        self.assertEqual([], [text for text in others if self.short(text)])

    def test_both_kinds_stand_side_by_side(self) -> None:
        parts = main.scan_template("a${t.x.id}${ t.y.id }$${t.z}%%{${local.l}-${path.module}}")
        self.assertEqual(["a", "t.x.id", "t.y.id", "${t.z}%{", "local.l", "-", "path.module", "}"],
                         [part if isinstance(part, str) else part.text for part in parts])

    def test_the_same_text_is_the_same_object(self) -> None:
        first, _, second = main.scan_template("${t.x.id} ${t.x.id}")
        self.assertIs(first, second)


if __name__ == "__main__":
    unittest.main()
