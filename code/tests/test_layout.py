"""How main.py is laid out: the contents list, the direction of use, what it imports, what it says of itself."""
from __future__ import annotations

import ast
import re
import sys
import unittest
from typing import Dict, Iterator, List, Set, Tuple

from support import CODE

SOURCE = (CODE / "main.py").read_text(encoding="utf-8")
TREE = ast.parse(SOURCE)
RULES = {"=": "part", "-": "section"}


def banners() -> List[Tuple[str, str, int]]:
    """Return ("part" or "section", its name, its line) for every banner, in the order of the file."""
    lines = SOURCE.splitlines()
    rules = [number for number, line in enumerate(lines) if re.fullmatch("# (={20,}|-{20,})", line)]
    return [(RULES[lines[number][2]], lines[number + 1][2:], number + 2) for number in rules[::2]]


BANNERS = banners()
STARTS = [(at, name) for kind, name, at in BANNERS if kind == "section"]


def contents() -> List[Tuple[str, str]]:
    """Return ("part" or "section", name) for every entry of the contents list in the docstring."""
    text = (ast.get_docstring(TREE) or "").partition("Contents")[2].partition("\n\n")[2]
    found = []
    for part, names in re.findall(r"^ *([A-Z]+) ((?:.+\n?(?!^ *[A-Z]+ ))+)", text, re.MULTILINE):
        found.append(("part", part))
        found += [("section", " ".join(name.split())) for name in names.split("·")]
    return found


def section_at(line: int) -> str:
    """Return the section that a line of the file stands in, "" above the first."""
    return max((start for start in STARTS if start[0] <= line), default=(0, ""))[1]


def defined() -> Dict[str, str]:
    """Return every name that the module defines at its top level, with its section."""
    found: Dict[str, str] = {}
    for node in TREE.body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)):
            found[node.name] = section_at(node.lineno)
        for target in node.targets if isinstance(node, ast.Assign) else [node.target] if isinstance(node, ast.AnnAssign) else []:
            found.update({name.id: section_at(node.lineno) for name in ast.walk(target) if isinstance(name, ast.Name)})
    return found


def names_used(node: ast.AST) -> Set[str]:
    """Return the names that a piece of code uses; annotations, which nothing evaluates, are left out."""
    found: Set[str] = set()
    pending: List[ast.AST] = [node]
    while pending:
        item = pending.pop()
        if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Load):
            found.add(item.id)
        for name, value in ast.iter_fields(item):
            if name not in ("annotation", "returns"):
                pending += [child for child in (value if isinstance(value, list) else [value]) if isinstance(child, ast.AST)]
    return found


def names_bound(node: ast.AST) -> Set[str]:
    """Return the names that a piece of code gives to its own variables and parameters."""
    return ({item.id for item in ast.walk(node) if isinstance(item, ast.Name) and isinstance(item.ctx, ast.Store)}
            | {item.arg for item in ast.walk(node) if isinstance(item, ast.arg)})


def public(body: List[ast.stmt], prefix: str = "") -> Iterator[Tuple[str, ast.AST]]:
    """Yield the public functions, classes and methods with their names."""
    for node in body:
        if isinstance(node, (ast.FunctionDef, ast.ClassDef)) and not node.name.startswith("_"):
            yield prefix + node.name, node
            if isinstance(node, ast.ClassDef):
                yield from public(node.body, f"{node.name}.")


class Contents(unittest.TestCase):

    def test_the_contents_list_names_every_part_and_section_in_order(self) -> None:
        self.assertEqual([(kind, name) for kind, name, _ in BANNERS], contents())

    def test_an_example_stands_under_every_section_banner(self) -> None:
        lines = SOURCE.splitlines()
        bare = [name for kind, name, at in BANNERS if kind == "section" and not re.match("# [^-]", lines[at])]
        self.assertEqual([], bare)

    def test_blank_lines_stand_before_every_banner(self) -> None:
        lines = SOURCE.splitlines()
        self.assertEqual([], [name for _, name, at in BANNERS if lines[at - 3] != ""])

    def test_a_banner_can_be_found_by_one_search(self) -> None:
        names = [name for _, name, _ in BANNERS]
        self.assertEqual(len(names), len(set(names)))


class OneDirection(unittest.TestCase):

    def test_a_section_uses_only_names_from_itself_and_above(self) -> None:
        order = [""] + [name for _, name in STARTS]
        where, wrong = defined(), []
        for node in TREE.body:
            here = order.index(section_at(node.lineno))
            used = names_used(node) - names_bound(node)
            wrong += [f"line {node.lineno} ({order[here]}) uses {name} of {where[name]}" for name in sorted(used)
                      if name in where and order.index(where[name]) > here]
        self.assertEqual([], wrong)

    def test_every_name_is_defined_once(self) -> None:
        found = [node.name for node in TREE.body if isinstance(node, (ast.FunctionDef, ast.ClassDef))]
        found += [target.id for node in TREE.body if isinstance(node, ast.Assign)
                  for target in node.targets if isinstance(target, ast.Name)]
        self.assertEqual([], sorted({name for name in found if found.count(name) > 1}))

    def test_main_comes_last(self) -> None:
        functions = [node.name for node in TREE.body if isinstance(node, ast.FunctionDef)]
        self.assertEqual("main", functions[-1])


class OneFile(unittest.TestCase):

    def test_only_the_standard_library_is_imported(self) -> None:
        imported = {name.name for node in ast.walk(TREE) if isinstance(node, ast.Import) for name in node.names}
        imported |= {node.module or "" for node in ast.walk(TREE) if isinstance(node, ast.ImportFrom)}
        known = getattr(sys, "stdlib_module_names", None)  # Python 3.10
        if known is None:
            self.skipTest("this Python does not list its standard library")
        self.assertEqual([], sorted(name for name in imported if name.partition(".")[0] not in known))

    def test_every_public_function_class_and_method_says_what_it_is(self) -> None:
        silent = [name for name, node in public(TREE.body)
                  if not ast.get_docstring(node)]  # type: ignore[arg-type]
        self.assertEqual([], silent)

    def test_the_first_line_of_a_docstring_is_a_sentence(self) -> None:
        texts = {name: (ast.get_docstring(node) or "").partition("\n\n")[0]  # type: ignore[arg-type]
                 for name, node in public(TREE.body)}
        self.assertEqual([], [name for name, text in texts.items() if text[-1:] not in (".", "?", "'", '"', ":")])


if __name__ == "__main__":
    unittest.main()
