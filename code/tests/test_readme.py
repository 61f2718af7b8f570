"""README.md says what is true: its commands run in order, its tables are those of the source.

    python3 code/tests/test_readme.py --write     put tables and present output in place, then read the difference

A fence ``json DIRECTORY/main.tf.json`` is written to that file. The ``console`` fences are one session in a shell,
in a copy of the clone whose pauses are short, where ``minigraph`` starts compiled: a line that begins with ``$ `` is
a command, what follows is its output, and a line ``...`` stands for lines that are left out.
"""
from __future__ import annotations

import os
import py_compile
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Callable, Dict, Iterable, List, NamedTuple, Sequence, Tuple

import cases
import support
from support import CODE, main

README = CODE.parent / "README.md"
END_OF_COMMAND = "== end of a command =="
ELLIPSIS = "..."
ADJECTIVES = set(main.PET_ADJECTIVES.split())
PROGRESS = re.compile(r"\w+\.\w+( \(deposed object KEY\))?: (Refreshing|Creat|Modif|Destr|Still)")

# --------------------------------------------------------------------------------------
# blocks and the session
# --------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block: its language, the word behind it, its text, and where the text stands."""

    language: str
    name: str
    text: str
    start: int
    end: int


class Shown(NamedTuple):
    """A command of the README, what the README shows behind it, and what it printed."""

    command: str
    shown: str
    real: str


def blocks(document: str) -> List[Block]:
    """Return the fenced blocks in order."""
    found = re.finditer(r"^```(\w+) ?(\S*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [Block(*match.group(1, 2, 3), match.start(3), match.end(3)) for match in found]


def commands(block: Block) -> List[Tuple[str, str]]:
    """Return (command, shown output) for each command of a console block."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def clone(directory: Path, short: bool) -> Dict[str, str]:
    """Lay out a clone with a home directory and short pauses; return the environment of its shell."""
    for name in ("code", "home/.local/bin", "bin", "tmp"):
        (directory / name).mkdir(parents=True)
    (directory / "code" / "main.py").symlink_to(CODE / "main.py")
    compiled = f'case $1 in */minigraph) shift; exec {shlex.join(cases.program().command)} "$@";; esac'
    (directory / "bin" / "python3").write_text(f'#!/bin/sh\n{compiled}\nexec "{sys.executable}" "$@"\n')
    (directory / "bin" / "python3").chmod(0o755)
    shutil.copytree(CODE / "tests" / "fixtures", directory / "code" / "fixtures", ignore=shutil.ignore_patterns("*.jsonl"))
    if short:
        demo = directory / "code" / "fixtures" / "demo" / "main.tf.json"
        demo.write_text(demo.read_text().replace('"1s"', '"1ms"'))
    kept = {name: value for name, value in os.environ.items() if not name.startswith("TF_")}
    home = str(directory / "home")
    path = os.pathsep.join([str(directory / "bin"), f"{home}/.local/bin", kept.get("PATH", "")])
    return {**kept, "HOME": home, "PATH": path, "CHECKPOINT_DISABLE": "1"}


def played(document: str, short: bool = True) -> List[Tuple[Block, List[Shown]]]:
    """Run the console blocks as one session of bash and return them with their commands."""
    consoles = [block for block in blocks(document) if block.language == "console"]
    with tempfile.TemporaryDirectory(prefix="minigraph-test-") as name:
        directory = Path(name).resolve()
        environment = clone(directory, short)
        for block in blocks(document):
            if block.name.endswith(".tf.json"):
                (directory / block.name).parent.mkdir()
                (directory / block.name).write_text(block.text)
        script = "".join(f"{command}\necho '{END_OF_COMMAND}'\n" for block in consoles for command, _ in commands(block))
        script = script.replace(" /tmp/", f" {directory}/tmp/")
        done = subprocess.run(["bash"], input=script, cwd=str(directory), stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                              env=environment, universal_newlines=True, encoding="utf-8")
    outputs = iter(done.stdout.split(END_OF_COMMAND + "\n"))
    return [(block, [Shown(command, shown, next(outputs)) for command, shown in commands(block)]) for block in consoles]


# --------------------------------------------------------------------------------------
# comparing
# --------------------------------------------------------------------------------------


def same_every_run(text: str) -> str:
    """Return a text without what differs from run to run: ids, keys, hashes, pets, times, and the order of a log."""
    text = re.sub(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b", "UUID", text)
    text = re.sub(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", "TIME", text)
    text = re.sub(r"\(deposed object [0-9a-f]{8}\)", "(deposed object KEY)", text)
    text = re.sub(r"\b[0-9a-f]{40}\b", "SHA1", text)
    text = re.sub(r"\b([a-z]+)-([a-z]+)\b", lambda pet: "PET" if pet[1] in ADJECTIVES else pet[0], text)
    text = re.sub(r"after \d+s", "after 0s", text).replace('"1ms"', '"1s"')
    return in_one_order(text.strip("\n").split("\n"))


def in_one_order(lines: Sequence[str]) -> str:
    """Return the lines with each log in alphabetical order, unless the log is that of a replacement, a chain of steps."""
    result: List[str] = []
    log: List[str] = []
    for line in [*lines, ""]:
        if PROGRESS.match(line):
            log.append(line)
            continue
        result += log if any("deposed" in item for item in log) else sorted(log)
        result.append(line)
        log = []
    return "\n".join(result[:-1])


def agrees(shown: str, real: str) -> bool:
    """Return whether the README shows what was printed; an ellipsis takes any lines."""
    pattern = "".join(r"(?:[^\n]*\n)*?" if line == ELLIPSIS else re.escape(line) + "\n"
                      for line in same_every_run(shown).split("\n"))
    return re.fullmatch(pattern, same_every_run(real) + "\n") is not None


# --------------------------------------------------------------------------------------
# tables
# --------------------------------------------------------------------------------------


def commands_table() -> str:
    """Return the commands with what they do and their options; apply and destroy as they differ from another."""
    rows = ["| command | does | options |", "|---|---|---|"]
    models = {"apply": "plan", "destroy": "apply"}
    for name, command in main.COMMANDS.items():
        words = " ".join(filter(None, (name, command.arguments)))
        model = main.COMMANDS[models[name]].offered() if name in models else []
        options = listed(option for option in command.offered() if option not in model)
        if model:
            missing = listed(option for option in model if option not in command.offered())
            options = f"those of `{models[name]}` without {missing}" + (f", and {options}" if options else "")
        rows.append(f"| `{words}` | {command.summary} | {options} |")
    return "\n".join(rows)


def listed(options: Iterable[main.Option]) -> str:
    """Return options as the table shows them."""
    return " ".join(f"`-{option.name}{option.shown}`" for option in options)


def layout_table() -> str:
    """Return the parts and sections as the contents list at the top of main.py has them."""
    contents = (main.__doc__ or "").split("stands above it):\n\n")[1]
    rows = ["| part | sections |", "|---|---|"]
    for part, sections in re.findall(r"^  ([A-Z]+) +(.*(?:\n {8}.*)*)", contents, re.MULTILINE):
        rows.append(f"| {part} | {' '.join(sections.split())} |")
    return "\n".join(rows)


def tests_table() -> str:
    """Return the files of tests with the first line of each."""
    rows = ["| file | proves |", "|---|---|"]
    for path in sorted((CODE / "tests").glob("test_*.py")):
        found = re.match(r'(?:#!.*\n)?"""(.*?)(?:"""|\n)', path.read_text(encoding="utf-8"))
        rows.append(f"| `{path.name}` | {found[1] if found else ''} |")
    return "\n".join(rows)


TABLES: Dict[str, Callable[[], str]] = {"commands": commands_table, "layout": layout_table, "tests": tests_table}


def table_in(document: str, name: str) -> str:
    """Return a table as the README has it, between its two marks."""
    found = re.search(rf"<!-- {name} -->\n(.*?)\n<!-- end -->", document, re.DOTALL)
    return found[1] if found else ""


def written_anew(document: str) -> str:
    """Return the document with the present tables, and the present output where all of it is shown."""
    for block, results in reversed(played(document, short=False)):
        text = "".join(f"$ {command}\n{shown if agrees(shown, real) or ELLIPSIS in shown else real.lstrip(chr(10))}"
                       for command, shown, real in results)
        document = document[:block.start] + text + document[block.end:]
    for name, table in TABLES.items():
        document = document.replace(table_in(document, name), table())
    return document


# --------------------------------------------------------------------------------------
# specs
# --------------------------------------------------------------------------------------


def load_tests(loader: unittest.TestLoader, tests: unittest.TestSuite, pattern: Any) -> unittest.TestSuite:
    """Run beside the other files' specs."""
    return support.beside(tests)


class CommandsAndOutput(unittest.TestCase):
    """What the README tells a reader to type works and prints what it shows."""

    def test_every_command_prints_what_the_readme_shows(self) -> None:
        for _, results in played(README.read_text(encoding="utf-8")):
            for command, shown, real in results:
                if not agrees(shown, real):
                    with self.subTest(command):
                        self.assertEqual(same_every_run(shown), same_every_run(real))

    def test_the_demo_command_runs_in_a_clean_clone(self) -> None:
        command = next(block.text for block in blocks(README.read_text(encoding="utf-8")) if block.language == "sh")
        with tempfile.TemporaryDirectory(prefix="minigraph-test-") as name:
            environment = clone(Path(name), short=True)
            done = subprocess.run(["bash", "-c", command.replace("/tmp/", f"{name}/tmp/")], cwd=name, env=environment,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, universal_newlines=True, encoding="utf-8")
        self.assertIn("\nApply complete! Resources: 10 added, 0 changed, 0 destroyed.\n", done.stdout)

    def test_every_minigraph_command_is_one_that_the_parser_takes(self) -> None:
        document = README.read_text(encoding="utf-8")
        typed = [line for block in blocks(document) if block.language == "console" for line, _ in commands(block)]
        typed += [block.text for block in blocks(document) if block.language == "sh"]
        lines = re.findall(r"(?:\bminigraph|code/main\.py) ([a-z-][^|>&\n]*)", "\n".join(typed))
        self.assertGreater(len(lines), 10)
        for line in lines:
            call = main.parse_command_line(shlex.split(line.split(" 2")[0], comments=True), {})
            self.assertIn(call.command, main.COMMANDS)

    def test_the_first_screen_has_the_two_commands_and_a_link_for_each_reader(self) -> None:
        first = "\n".join(README.read_text(encoding="utf-8").split("\n")[:30])
        for needed in ("code/main.py -chdir=", "python3 -m unittest discover -s code/tests\n",
                       "](#the-walk-step-by-step)", "](#read-a-cycle-error)", "](#how-the-file-is-laid-out)"):
            self.assertIn(needed, first)

    def test_every_link_leads_somewhere(self) -> None:
        document = README.read_text(encoding="utf-8")
        headings = {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-")
                    for heading in re.findall(r"^#+ (.*)$", document, re.MULTILINE)}
        for link in re.findall(r"\]\(([^)]+)\)", document):
            with self.subTest(link):
                self.assertTrue(link[1:] in headings if link.startswith("#") else (README.parent / link).exists())

    def test_every_name_of_the_source_that_it_points_at_is_there(self) -> None:
        document = README.read_text(encoding="utf-8")
        for heading in ("How the file is laid out", "Add a resource type"):
            text = re.sub(r"```.*?```", "", document.split(f"\n## {heading}\n")[1].split("\n## ")[0], flags=re.DOTALL)
            for name in re.findall(r"`([A-Za-z_]+)`", text):
                self.assertTrue(hasattr(main, name) or hasattr(main.Provider, name) or name == "runtime", name)

    def test_every_file_it_names_is_there(self) -> None:
        for name in set(re.findall(r"`(?:bash |python3 )?((?:code|\.ci)/[\w./-]+)", README.read_text(encoding="utf-8"))):
            self.assertTrue((README.parent / name).exists(), name)


class Tables(unittest.TestCase):
    """The tables are made from the source; ``--write`` puts them in place."""

    def test_commands_and_layout_are_the_present_ones(self) -> None:
        document = README.read_text(encoding="utf-8")
        for name in ("commands", "layout"):
            with self.subTest(name):
                self.assertEqual(table_in(document, name), TABLES[name](), "run: python3 code/tests/test_readme.py --write")

    def test_every_file_of_tests_in_the_table_is_there(self) -> None:
        named = re.findall(r"^\| `(test_\w+\.py)`", table_in(README.read_text(encoding="utf-8"), "tests"), re.MULTILINE)
        self.assertGreater(len(named), 10)
        self.assertEqual([name for name in named if not (CODE / "tests" / name).exists()], [])

    def test_every_command_has_its_row(self) -> None:
        rows = table_in(README.read_text(encoding="utf-8"), "commands")
        self.assertEqual([name for name in main.COMMANDS if f"| `{name}" not in rows], [])


class AFifthType(unittest.TestCase):
    """The three blocks under "Add a resource type" are all that a new type takes."""

    def test_a_file_with_the_three_blocks_applies_the_new_type(self) -> None:
        parts = {block.name: block.text for block in blocks(README.read_text(encoding="utf-8")) if block.language == "python"}
        source = (CODE / "main.py").read_text(encoding="utf-8")
        for table in ("SCHEMAS: Dict[str, Schema] = {\n", "PROVIDERS: Dict[str, Provider] = {\n"):
            self.assertEqual(source.count(table), 1)
            source = source.replace(table, table + parts[table.split(":")[0]])
        source = source.replace("PROVIDERS: Dict[str, Provider] = {\n", parts["class"] + "PROVIDERS: Dict[str, Provider] = {\n")
        with tempfile.TemporaryDirectory() as name:
            (Path(name) / "grown.py").write_text(source, encoding="utf-8")
            grown = py_compile.compile(os.path.join(name, "grown.py"), os.path.join(name, "grown.pyc"), doraise=True)
            (Path(name) / "main.tf.json").write_text(
                '{"resource": {"null_resource": {"a": {"triggers": {"x": "1"}}},'
                ' "terraform_data": {"b": {"input": "${null_resource.a.id}"}}}}')
            said = [subprocess.run([sys.executable, "-S", str(grown), command], cwd=name, stdout=subprocess.PIPE,
                                   universal_newlines=True, encoding="utf-8").stdout for command in ("apply", "plan", "destroy")]
        self.assertIn("Resources: 2 added", said[0])
        self.assertIn("No changes.", said[1])
        self.assertIn("Resources: 2 destroyed", said[2])


class TheComparisonItself(unittest.TestCase):
    def test_an_ellipsis_takes_any_lines_and_nothing_else_does(self) -> None:
        self.assertTrue(agrees("a\n...\nd\n", "a\nb\nc\nd\n"))
        self.assertTrue(agrees("a\n...\nd\n", "a\nd\n"))
        self.assertFalse(agrees("a\nd\n", "a\nb\nd\n"))

    def test_only_what_is_random_may_differ(self) -> None:
        line = "random_pet.name: Creation complete after {}s [id={}]\n"
        self.assertTrue(agrees(line.format(0, "loyal-collie"), line.format(1, "happy-koala")))
        self.assertFalse(agrees(line.format(0, "not-a-pet"), line.format(0, "happy-koala")))


if __name__ == "__main__":
    if sys.argv[1:] == ["--write"]:
        README.write_text(written_anew(README.read_text(encoding="utf-8")), encoding="utf-8")
    else:
        unittest.main()
