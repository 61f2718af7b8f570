#!/usr/bin/env bash
# Compare minigraph's resource graph with that of tofu or terraform, whichever is on PATH.
#
#   bash code/smoke.sh                  every configuration in tests/fixtures
#   bash code/smoke.sh DIR [DIR ...]    these directories
#
# Same nodes and the same reduced edges between resources are required, of the tool's own drawing and of its
# whole plan graph; where one refuses a cycle the other must, with the same members. Works on temporary copies.
# Exit status: 0 all the same (or nothing to compare with), 1 any difference.
set -u
cd_code=$(cd "$(dirname "$0")" && pwd) || exit 1
tool=$(command -v tofu || command -v terraform)
if [ -z "$tool" ]; then
    echo "skipped: neither tofu nor terraform is on PATH"
    exit 0
fi
export CHECKPOINT_DISABLE=1 PYTHONDONTWRITEBYTECODE=1
unset TF_CLI_CONFIG_FILE TF_CLI_ARGS TF_CLI_ARGS_graph TF_CLI_ARGS_init TF_WORKSPACE TF_DATA_DIR TF_LOG

work=$(mktemp -d) || exit 1
trap 'rm -rf "$work"' EXIT

cat > "$work/compare.py" <<'PYTHON'
"""compare.py OURS THEIRS: files that end in .dot hold a graph, in .err an error. Prints; exit status 1 is a difference."""
import re
import sys

QUOTED = r'"((?:[^"\\]|\\.)*)"'
EDGE = re.compile(rf"\s*{QUOTED} -> {QUOTED}")
NODE = re.compile(rf"\s*{QUOTED} \[")
PLUMBING = re.compile(r'provider\[|provisioner\.|meta\.|root$|(local|output|var)\.|.* \(close\)$')


def parse(text):
    """Return the graph of a DOT text, decoration and all."""
    graph = {}
    for line in text.splitlines():
        edge, node = EDGE.match(line), NODE.match(line)
        names = [re.sub(r"\\(.)", r"\1", name) for name in (edge or node).groups()] if edge or node else []
        for name in names:
            graph.setdefault(name, set())
        if edge:
            graph[names[0]].add(names[1])
    return graph


def resource(node):
    """Return the address that a node stands for, or "" for locals, outputs, providers, closers and the root."""
    name = node[len("[root] "):] if node.startswith("[root] ") else node
    return "" if PLUMBING.match(name) else re.sub(r" \((expand|orphan|destroy|deposed \w+)\)$", "", name)


def resources(graph):
    """Return the reduced graph of the resources alone; everything else is looked through."""
    needs = {resource(node): set() for node in graph if resource(node)}
    for node in graph:
        pending, seen = list(graph[node]) if resource(node) else [], set()
        while pending:
            dep = pending.pop()
            if resource(dep):
                needs[resource(node)].add(resource(dep))
            elif dep not in seen:
                seen.add(dep)
                pending += graph[dep]
    behind = {node: reach(needs, node) for node in needs}
    return {node: {dep for dep in found if not any(dep in behind[other] for other in found)}
            for node, found in needs.items()}


def reach(graph, node):
    """Return all that a node needs, directly or not."""
    found, pending = set(), [node]
    while pending:
        new = graph[pending.pop()] - found
        found |= new
        pending += new
    return found


def members(text):
    """Return the names in the cycle errors of a text: "Cycle: a -> b -> a" or "Cycle: b (expand), a"."""
    plain = " ".join(re.sub(r"\x1b\[[0-9;]*m|[│╷╵]", " ", text).split())
    lists = re.findall(r"Error: Cycle: ((?:[^\s,]+(?: \(expand\))?(?:, | -> ))*[^\s,]+)", plain)
    return {name for part in lists for name in re.split(r"(?: \(expand\))?(?:, | -> )", part)}


def show(what, ours, theirs):
    """Print what only one side has; return how many."""
    for side, only in (("minigraph", ours - theirs), ("the tool", theirs - ours)):
        for item in sorted(only):
            print(f"    {what} only in {side}: {item}")
    return len(ours ^ theirs)


def compare(ours, theirs):
    """Print the differences, or one line of counts; return whether there are any."""
    texts = []
    for name in (ours, theirs):
        with open(name, encoding="utf-8") as file:
            texts.append(file.read())
    if ours.endswith(".err") != theirs.endswith(".err"):
        print(f"    only {'minigraph' if ours.endswith('.err') else 'the tool'} refuses it:")
        print("    " + (texts[0] if ours.endswith(".err") else texts[1]).strip().replace("\n", "\n    "))
        return True
    if ours.endswith(".err"):
        one, two = map(members, texts)
        print(f"    both refuse: {'cycle of ' + ', '.join(sorted(one)) if one else 'no cycle'}")
        return show("member", one, two) > 0
    one, two = (resources(parse(text)) for text in texts)
    edges = [{f"{node} -> {dep}" for node, found in graph.items() for dep in found} for graph in (one, two)]
    print(f"    {len(one)} resources, {len(edges[0])} reduced edges")
    return show("node", set(one), set(two)) + show("edge", *edges) > 0


sys.exit(compare(*sys.argv[1:]))
PYTHON

# run NAME COMMAND...: the output goes to NAME.dot, or what was said to NAME.err if it fails; prints the file's name
run() {
    local name=$1
    shift
    if "$@" > "$name.dot" 2> "$name.err"; then echo "$name.dot"; else echo "$name.err"; fi
}

# theirs COPY NAME OPTIONS...: the tool's graph, after init where it needs plugins; status 2 if it cannot have them
theirs() {
    local copy=$1 name=$2
    shift 2
    local found
    found=$(run "$name" "$tool" -chdir="$copy" graph "$@")
    case $found in
    *.err)
        if ! grep -q 'Cycle:' "$found" && [ ! -e "$copy/.terraform" ]; then
            if "$tool" -chdir="$copy" init -input=false -no-color > "$name.init" 2>&1; then
                found=$(run "$name" "$tool" -chdir="$copy" graph "$@")
            elif grep -qE 'query available provider|install provider|provider registry' "$name.init"; then
                grep -m 1 'Error' "$name.init" | sed 's/^[^E]*//'
                return 2
            fi
        fi ;;
    esac
    echo "$found"
}

if [ $# -eq 0 ]; then set -- "$cd_code"/tests/fixtures/*/; fi
same=0 different=0 skipped=0
for directory in "$@"; do
    directory=${directory%/}
    name=$(basename "$directory")
    if ! ls "$directory"/*.json > /dev/null 2>&1; then
        echo "skipped   $name: no *.tf.json in it"
        skipped=$((skipped + 1))
        continue
    fi
    mkdir -p "$work/$name/ours" "$work/$name/theirs"
    for copy in ours theirs; do cp "$directory"/*.json "$work/$name/$copy/"; done
    verdict=same
    report=""
    for form in "" "-type=plan"; do
        ours=$(run "$work/$name/ours$form" python3 "$cd_code/main.py" -chdir="$work/$name/ours" graph $form)
        if ! other=$(theirs "$work/$name/theirs" "$work/$name/theirs$form" $form); then
            verdict="skipped"
            report="    $(basename "$tool") init fails: $other"
            break
        fi
        said=$(python3 "$work/compare.py" "$ours" "$other") || verdict=differs
        report="$report${report:+
}    graph $form
$said"
    done
    if [ "$verdict" = same ]; then report=$said; fi
    printf '%-9s %s\n%s\n' "$verdict" "$name" "$report"
    case $verdict in
    same) same=$((same + 1)) ;;
    skipped) skipped=$((skipped + 1)) ;;
    *) different=$((different + 1)) ;;
    esac
    rm -rf "${work:?}/$name"
done
echo "$same same, $different different, $skipped skipped (compared with $("$tool" version | head -n 1))"
[ "$different" -eq 0 ]
