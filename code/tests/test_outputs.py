"""The documents in outputs/ say what is true: their commands are run, their example answers compared.

    python3 code/tests/test_outputs.py --write     put the real output behind every command, then read the difference

A fence ``json DIRECTORY/main.tf.json`` is written to that file. The ``console`` blocks run beside those directories,
one after the other; a line that begins with ``$ `` is a command, what follows is its output.
"""
from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path
from typing import Any, Dict, Iterator, List, NamedTuple, Set, Tuple

import cases
from support import CODE, main, temporary_directory

OUTPUTS = CODE.parent / "outputs"
SKILL = OUTPUTS / "skill-iac-dependency-review.md"
PROMPT = OUTPUTS / "prompt-explain-tofu-graph.md"
Deps = Dict[str, Set[str]]

# --------------------------------------------------------------------------------------
# blocks and commands
# --------------------------------------------------------------------------------------


class Block(NamedTuple):
    """A fenced block: the words behind the fence, its text, where the text stands in the document."""

    language: str
    file: str
    text: str
    start: int
    end: int


def blocks(document: str) -> List[Block]:
    """Return the fenced blocks of a document in order."""
    found = re.finditer(r"^```(\w+) ?(\S*)\n(.*?)^```$", document, re.MULTILINE | re.DOTALL)
    return [Block(match[1], match[2], match[3], match.start(3), match.end(3)) for match in found]


def commands(block: Block) -> List[Tuple[str, str]]:
    """Return (command, shown output) for each command of a console block."""
    parts = re.split(r"^\$ (.*)\n", block.text, flags=re.MULTILINE)
    return list(zip(parts[1::2], parts[2::2]))


def run_shell(command: str, directory: Path) -> str:
    """Return what a command prints, errors included, with ``minigraph`` standing for this main.py."""
    shell = f'minigraph() {{ {shlex.join(cases.program().command)} "$@"; }}; {command}'
    kept = {k: v for k, v in os.environ.items() if not k.startswith("TF_")}
    done = subprocess.run(["bash", "-c", shell], cwd=directory, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                          env={**kept, "CHECKPOINT_DISABLE": "1"}, text=True)
    return done.stdout


def played(document: str) -> Iterator[Tuple[Block, List[Tuple[str, str, str]]]]:
    """Run every console block beside the stacks before it; yield it with (command, shown, real output)."""
    with temporary_directory() as name:
        directory = Path(name)
        for block in blocks(document):
            if block.file:
                (directory / block.file).parent.mkdir()
                (directory / block.file).write_text(block.text)
            elif block.language == "console":
                yield block, [(command, shown, run_shell(command, directory)) for command, shown in commands(block)]


def plain(text: str) -> str:
    """Return a text without what differs from run to run and without empty lines at both ends."""
    text = re.sub(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", "ID", text)
    text = re.sub(r"deposed (object )?[0-9a-f]{8}", r"deposed \1KEY", text)
    return re.sub(r"after \d+s", "after 0s", text).strip("\n")


def written_anew(document: str) -> str:
    """Return the document with the real output behind every command."""
    for block, results in reversed(list(played(document))):
        text = "".join(f"$ {command}\n{real.strip(chr(10))}\n" if real.strip("\n") else f"$ {command}\n"
                       for command, _, real in results)
        document = document[:block.start] + text + document[block.end:]
    return document


# --------------------------------------------------------------------------------------
# graphs
# --------------------------------------------------------------------------------------


def resources_of_dot(dot: str) -> Deps:
    """Return the resources of a plan graph and their needs: the prompt's rules 2, 3 and 5."""
    deps: Deps = {}
    for line in dot.split("\n"):
        names = [_undecorated(name) for name in re.findall(r'"((?:[^"\\]|\\.)*)"', line.split(" [label")[0])]
        if "->" in line:
            deps.setdefault(names[0], set()).add(names[1])
        for name in names if "[root]" in line else ():
            deps.setdefault(name, set())
    kept = {name for name in deps if re.match(r"[a-z]\w*_\w+\.\w+$", name)}
    looked_through = {name: {need for need in main.reachable(deps, name) if need in kept} for name in kept}
    return {name: set(needs) for name, needs in main.transitive_reduction(looked_through).items()}


def _undecorated(name: str) -> str:
    return re.sub(r"^\[root\] | \(expand\)$", "", name)


def translated(configuration: Dict[str, Any]) -> Dict[str, Any]:
    """Return the configuration with every resource as a terraform_data of the name TYPE--NAME."""
    text = json.dumps(configuration)
    for kind, named in configuration["resource"].items():
        for name in named:
            new = f"terraform_data.{kind}--{name}"
            text = re.sub(rf"\b{kind}\.{name}\.\w+", f"{new}.id", text)
            text = re.sub(rf"\b{kind}\.{name}\b", new, text)
    bodies = {f"{kind}--{name}": _as_data(body) for kind, named in json.loads(text)["resource"].items()
              for name, body in named.items()}
    return {**json.loads(text), "resource": {"terraform_data": bodies}}


def _as_data(body: Dict[str, Any]) -> Dict[str, Any]:
    kept: Dict[str, Any] = {key: body[key] for key in ("depends_on", "lifecycle") if key in body}
    return {**kept, "input": {key: value for key, value in body.items() if key not in kept}}


def real_address(address: str) -> str:
    """Return the address that a translated one stands for."""
    return address.replace("terraform_data.", "", 1).replace("--", ".")


def waves_text(found: List[List[str]]) -> List[str]:
    """Return waves as the answer writes them."""
    return [f"wave {number}: {', '.join(wave)}" for number, wave in enumerate(found, 1)]


# --------------------------------------------------------------------------------------
# specs
# --------------------------------------------------------------------------------------


class SkillTellsTheTruth(unittest.TestCase):
    """outputs/skill-iac-dependency-review.md"""

    maxDiff = None

    def test_every_command_prints_what_is_shown(self) -> None:
        """Each command of each console block."""
        document = SKILL.read_text()
        if "jq" in document and not shutil.which("jq"):
            self.skipTest("jq is not installed")
        number = 0
        for _, results in played(document):
            for command, shown, real in results:
                number += 1
                with self.subTest(command=command):
                    self.assertEqual(plain(real), plain(shown))
        self.assertGreater(number, 10)

    def test_the_stack_has_the_hidden_dependency_that_the_report_names(self) -> None:
        """No path from instance to attachment, and attachment is a leaf."""
        stack = next(block.text for block in blocks(SKILL.read_text()) if block.language == "json")
        with tempfile.TemporaryDirectory(prefix="minigraph-test-") as name:
            (Path(name) / "main.tf.json").write_text(stack)
            deps = main.resource_graph(main.load_config(name))
        self.assertNotIn("terraform_data.attachment", main.reachable(deps, "terraform_data.instance"))
        self.assertEqual([], [node for node, needs in deps.items() if "terraform_data.attachment" in needs])
        self.assertIn("terraform_data.role", main.reachable(deps, "terraform_data.profile"))


class FrontMatter(unittest.TestCase):
    """Both documents begin with a name, which is that of the file, and a description on one line."""

    def test_name_and_description(self) -> None:
        """The names without the prefix of the kind are accepted as well."""
        for path in (SKILL, PROMPT):
            found = re.match(r"---\nname: (\S+)\ndescription: (.{40,})\n---\n\n# ", path.read_text())
            self.assertTrue(found, path.name)
            assert found
            self.assertIn(found.group(1), (path.stem, path.stem.split("-", 1)[1]))


class PromptAnswersRightly(unittest.TestCase):
    """outputs/prompt-explain-tofu-graph.md: the worked answer is minigraph's own result on the same graph."""

    def setUp(self) -> None:
        found = {block.language: block.text for block in blocks(PROMPT.read_text().split("## Example")[1])}
        self.answer = found["markdown"]
        self.drawn = resources_of_dot(found["dot"])
        self.configuration = json.loads(found["json"])
        with tempfile.TemporaryDirectory(prefix="minigraph-test-") as name:
            (Path(name) / "main.tf.json").write_text(json.dumps(translated(self.configuration)))
            config = main.load_config(name)
            _, causes = main.config_graph(config)
            self.deps = {real_address(node): {real_address(need) for need in needs}
                         for node, needs in main.resource_graph(config).items()}
        self.explicit = {(real_address(node), real_address(need))
                         for (node, need), cause in causes.items() if cause.explicit}

    def section(self, number: int) -> List[str]:
        """Return the lines of one section of the answer."""
        return re.split(r"^## \d\. .*\n", self.answer, flags=re.MULTILINE)[number].strip().split("\n")

    def edges(self, label: str) -> Set[Tuple[str, str]]:
        """Return the edges that section 4 lists behind a label."""
        line = next(line for line in self.section(4) if line.startswith(label + ": "))
        return {(edge.split(" -> ")[0], edge.split(" -> ")[1]) for edge in line[len(label) + 2:].split(", ")}

    def test_drawing_and_configuration_are_one_graph(self) -> None:
        """The DOT, read by the prompt's rules, is the reduction of what minigraph reads from the configuration."""
        self.assertEqual(self.drawn, {node: set(needs) for node, needs in main.transitive_reduction(self.deps).items()})

    def test_count(self) -> None:
        """Section 1."""
        edges = sum(len(needs) for needs in self.drawn.values())
        self.assertIn(f"{len(self.drawn)} resources, {edges} edges between them", self.section(1)[-1])

    def test_waves_and_critical_path(self) -> None:
        """Section 3."""
        path = main.critical_path(self.deps)
        self.assertEqual([*waves_text(main.waves(self.deps)),
                          f"critical path ({len(path)} steps): {' -> '.join(path)}"], self.section(3))

    def test_explicit_and_implicit_edges(self) -> None:
        """Section 4: together they are the drawn edges."""
        drawn = {(node, need) for node, needs in self.drawn.items() for need in needs}
        self.assertEqual(self.explicit, self.edges("explicit"))
        self.assertEqual(drawn - self.explicit, self.edges("implicit"))

    def test_missing_edge(self) -> None:
        """Section 5: the edge called missing has no path."""
        source, target = re.findall(r"- (\S+) -> (\S+) \(possibly missing\)", "\n".join(self.section(5)))[0]
        self.assertNotIn(target, main.reachable(self.deps, source))
        self.assertNotIn(source, main.reachable(self.deps, target))

    def test_destroy_order(self) -> None:
        """Section 6: the waves of the graph turned round."""
        self.assertEqual(waves_text(main.waves(main.invert(self.deps))), self.section(6))

    def test_the_shape_is_that_of_the_template(self) -> None:
        """The worked answer has the eight headings that the prompt demands, in order."""
        template = next(block.text for block in blocks(PROMPT.read_text()) if block.language == "markdown")
        heads = [re.findall(r"^## .*$", text, re.MULTILINE) for text in (template, self.answer)]
        self.assertEqual(heads[0], heads[1])
        self.assertEqual(8, len(heads[0]))


if __name__ == "__main__":
    if "--write" in sys.argv:
        for path in (SKILL, PROMPT):
            path.write_text(written_anew(path.read_text()))
    else:
        unittest.main()
