"""What the specs share: the path to main.py, graphs from text, and configurations from a few lines."""
from __future__ import annotations

import json
import os
import sys
import tempfile
from pathlib import Path
from typing import Any, Dict, Set

CODE = Path(__file__).resolve().parent.parent
FIXTURES = CODE / "tests" / "fixtures"
sys.path.insert(0, str(CODE))

import main  # noqa: E402


def config(content: Any, **others: Any) -> main.Config:
    """Load main.tf.json (a text, bytes or JSON value) and other files (x_tf_json=...) from a fresh directory."""
    with tempfile.TemporaryDirectory() as directory:
        write(directory, "main.tf.json", content)
        for name, text in others.items():
            write(directory, name.replace("_tf_json", ".tf.json").replace("_tofu_json", ".tofu.json"), text)
        return main.load_config(directory)


def write(directory: str, name: str, content: Any) -> None:
    """Write one file: bytes and text as they are, anything else as JSON."""
    data = content if isinstance(content, (bytes, str)) else json.dumps(content, indent=2)
    with open(os.path.join(directory, name), "wb") as file:
        file.write(data.encode() if isinstance(data, str) else data)


def deps(text: str) -> Dict[str, Set[str]]:
    """Return the graph that a text draws: "a>b c, b>d, e" is a needs b and c, b needs d, e stands alone."""
    graph: Dict[str, Set[str]] = {}
    for part in filter(str.strip, text.split(",")):
        node, _, needs = part.partition(">")
        graph.setdefault(node.strip(), set()).update(needs.split())
        for need in needs.split():
            graph.setdefault(need, set())
    return graph


def drawn(graph: Dict[str, Set[str]]) -> str:
    """Return the text that draws a graph, in name order; names that need nothing are left out."""
    return ", ".join(f"{node}>{' '.join(sorted(found))}" for node, found in sorted(graph.items()) if found)
