#!/usr/bin/env python3
"""minigraph: in what order will this run, and what decides it?

Reads OpenTofu's JSON configuration syntax (*.tf.json), turns every reference into an edge, refuses cycles, plans with
unknown values, builds a second graph of create and destroy steps from the plan, and walks it with a pool of workers.
The same main.tf.json runs in minigraph and in tofu or terraform, for local_file, random_pet, terraform_data, time_sleep.

    python3 main.py validate | order | graph | plan | apply | destroy       in a directory with *.tf.json files
    python3 main.py show | output | state list | state show | state rm | taint | untaint | version
    python3 main.py COMMAND -help                                             the options of a command

text -> configuration -> graph -> order -> plan -> steps -> run -> words

Contents (search for the name of a section; each uses only what stands above it):

  READ  names and types · errors and places · known and unknown values · schemas · what can be wrong with a
        configuration · reading JSON · templates · reading *.tf.json · references
  ORDER cycles, waves, paths · the configuration graph · transitive reduction and pictures
  PLAN  state · evaluator · the change of one object · checking the configuration · planning · the apply graph
  RUN   the walk · providers · the state file and its lock · the journal · recovery · applying, progress
  SHOW  differences of values · values as text · resource blocks · plan text · state and output text · JSON forms ·
        the state as JSON · the plan as JSON · diagnostics and log lines as JSON · saved plans · messages · the
        command line · showing progress · commands
"""
import os
import sys
if __name__ == "__main__":
    import gc
    import signal
    gc.disable()  # one command, then the end: an apply of 100,000 takes 40 s of CPU with it off, 50 with it on
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, signal.SIG_DFL)  # else Ctrl-C would show a traceback until a command handles it
import re
from json.encoder import JSONEncoder, encode_basestring  # a string as JSON, non-ASCII characters as they are
from decimal import Context, Decimal
from typing import (
    Any, Callable, Dict, Iterable, Iterator, List, Mapping, NamedTuple, Optional, Sequence, Set, Tuple,
    Union)

# ======================================================================================
# READ
# ======================================================================================

# --------------------------------------------------------------------------------------
# names and types
# "local_file.a" needs "local.dir"  ->  Deps {"local_file.a": {"local.dir"}, "local.dir": set()}
# --------------------------------------------------------------------------------------

Deps = Dict[str, Set[str]]  # address -> the addresses that it needs; the one shape of every graph
Value = Any  # None, bool, int, Decimal, str, list (tuple), dict (object), Map, Typed, Unknown
Path = Tuple[Union[str, int], ...]  # the way into a value: ("keepers", "a") or ("input", 0)


class Spot(NamedTuple):
    """A point in a configuration file, by the number of the child at every level from the root.

    ``pointer`` (0, 2, 1) is: first property (or element) of the root, third of that, second of that.
    ``part`` is "key", "value" or "end" (the closing brace or bracket). The line is looked up only
    when it must be shown (``locate``).
    """

    file: str
    pointer: Tuple[int, ...] = ()
    part: str = "value"


class Place(NamedTuple):
    """A line of a configuration file: ``file``, ``line`` and ``column`` from 1, the path around it, its text.

    ``byte``: how many bytes of the file stand above the line.
    """

    file: str
    line: int
    column: int = 1
    context: str = ""
    source: str = ""
    byte: int = 0


class Diagnostic(NamedTuple):
    """One error or warning: what was found (summary), what would be right (detail), and where."""

    summary: str
    detail: str = ""
    spot: Optional[Spot] = None
    place: Optional[Place] = None  # filled in by ``placed``, or given where no spot exists
    address: str = ""  # shown as "with ADDRESS,"
    severity: str = "error"
    values: Tuple[str, ...] = ()  # "local.l is tuple with 2 elements"


# --------------------------------------------------------------------------------------
# errors and places
# ConfigError([Diagnostic("Unsupported argument", ..., Spot("main.tf.json", (0, 0, 0, 1)))])
# --------------------------------------------------------------------------------------


class MinigraphError(Exception):
    """Something that the user can mend; ``diagnostics`` says what and where. Anything else is a bug.

    ``trail``: child numbers from the value that was evaluated to the text at fault, where that is known.
    """

    def __init__(self, problem: Union[str, Diagnostic, Sequence[Diagnostic]], detail: str = "") -> None:
        if isinstance(problem, str):
            problem = Diagnostic(problem, detail)
        self.trail: List[int] = []
        self.diagnostics: List[Diagnostic] = [problem] if isinstance(problem, Diagnostic) else list(problem)
        super().__init__("; ".join(f"{d.summary}: {d.detail}" if d.detail else d.summary for d in self.diagnostics))


class ConfigError(MinigraphError):
    """The configuration is refused."""


class StateError(MinigraphError):
    """The state, journal, plan file or lock is refused; nothing was changed."""


class CycleError(MinigraphError):
    """A graph has no order; ``path`` is the closed path of one loop (first name = last name)."""

    def __init__(self, path: Sequence[str], diagnostics: Sequence[Diagnostic] = ()) -> None:
        self.path = list(path)
        super().__init__(list(diagnostics) or [Diagnostic("Cycle: " + " -> ".join(self.path))])


# --------------------------------------------------------------------------------------
# known and unknown values
# {"a": UNKNOWN, "b": 1}  ->  is_known is False; same(1, True) is False; type_of([1, "x"]) is ["tuple", ["number", "string"]]
# --------------------------------------------------------------------------------------


class Unknown:
    """A value that exists only after apply: ``origin`` is the (address, attribute) that it comes from.

    ``type`` is what is known of its type (as ``type_of`` gives it), None or "dynamic" for nothing.
    """

    __slots__ = ("origin", "type")

    def __init__(self, origin: Optional[Tuple[str, str]] = None, type: Value = None) -> None:
        self.origin, self.type = origin, type

    def __repr__(self) -> str:
        return "UNKNOWN"


UNKNOWN = Unknown()


class Map(Dict[str, Any]):
    """A map of strings (``keepers``, ``triggers``): differs in type from an object with the same content."""


class Typed(NamedTuple):
    """A value whose type no JSON literal has (``["set", "string"]``, a typed null), as a state file recorded it."""

    value: Value
    type: Value


class Sensitive(NamedTuple):
    """A value that must not be shown; only the evaluator and the planner see this wrapper."""

    value: Value


def untyped(value: Value) -> Value:
    """Return None for a null of any type, other values as they are."""
    return None if type(value) is Typed and value.value is None else value


def is_known(value: Value) -> bool:
    """Return whether nothing inside the value is unknown."""
    if isinstance(value, dict):
        return all(is_known(item) for item in value.values())
    if isinstance(value, list):
        return all(is_known(item) for item in value)
    return not isinstance(value, Unknown)


def same(left: Value, right: Value) -> bool:
    """Return whether two known values are equal in type and content, as the real engine compares them.

    1 and 1.0 are one number, 0 and -0 too; 1, "1" and True are three values; a Map is not an object; an unknown equals nothing.
    """
    kind = type(left)
    if kind is str or kind is bool or left is None:
        return kind is type(right) and bool(left == right)
    if kind is int or kind is Decimal:
        return type(right) in (int, Decimal) and (left == right or number_text(left) == number_text(right))
    if kind is list:
        return type(right) is list and len(left) == len(right) and all(map(same, left, right))
    if kind is dict or kind is Map:
        return type(right) is kind and left.keys() == right.keys() and all(same(left[k], right[k]) for k in left)
    return kind is Typed and type(right) is Typed and left.type == right.type and same(left.value, right.value)


PRECISION = Context(prec=154)  # the real engine keeps 512 bits, about 154 decimal digits


def number_text(number: Union[int, Decimal]) -> str:
    """Return a number as the real engine writes it: plain decimal, all digits, no exponent, no trailing zeros."""
    if type(number) is int:
        return str(number)
    return format(PRECISION.normalize(number), "f")


def type_of(value: Value) -> Value:
    """Return the type as a state file writes it: "string", ["tuple", [...]], ["object", {...}], ["map", "string"]."""
    if value is None:
        return "dynamic"
    if isinstance(value, bool):
        return "bool"
    if isinstance(value, str):
        return "string"
    if isinstance(value, (int, Decimal)):
        return "number"
    if isinstance(value, list):
        return ["tuple", [type_of(item) for item in value]]
    if isinstance(value, Map):
        return ["map", "string"]
    if isinstance(value, Typed):
        return value.type
    if isinstance(value, Unknown):
        return value.type or "dynamic"
    return ["object", {key: type_of(item) for key, item in value.items()}]


def did_you_mean(name: str, candidates: Iterable[str]) -> str:
    """Return ' Did you mean "x"?' for the nearest candidate, or nothing where none is near."""
    import difflib  # only errors need it
    near = difflib.get_close_matches(name, sorted(candidates), 1, 0.7)
    return f' Did you mean "{near[0]}"?' if near else ""


# --------------------------------------------------------------------------------------
# schemas
# {"length": "3"} of a random_pet  ->  {"length": 3, "separator": "-", "prefix": None, "keepers": None}
# --------------------------------------------------------------------------------------

Attributes = Dict[str, Value]  # of one object or one resource body, by name


class Schema(NamedTuple):
    """What one resource type accepts and returns, as the current provider releases declare it."""

    arguments: Attributes  # argument -> its default
    required: Set[str]
    force_new: Set[str]  # a change of these replaces the object (``keeps_object`` knows the exceptions)
    computed: Set[str]  # exist only after apply; read-only in a configuration
    stable: Set[str] = set()  # the computed ones that an in-place update keeps
    kinds: Dict[str, str] = {}  # attribute -> "string", "number", "map" or "dynamic"
    sensitive: Set[str] = set()
    source: str = ""  # "hashicorp/local"; empty for the one that is built in

    @property
    def attributes(self) -> Set[str]:
        """Return every name that a reference may use."""
        return self.arguments.keys() | self.computed


class Problem(NamedTuple):
    """What is wrong with one argument of a resource; ``argument`` is "" where it concerns the whole body."""

    argument: str
    summary: str
    detail: str
    severity: str = "error"


CONTENTS = ("content", "content_base64", "source", "sensitive_content")  # local_file wants exactly one
PERMISSIONS = ("file_permission", "directory_permission")
HASHES = ("content_md5", "content_sha1", "content_sha256", "content_sha512",
          "content_base64sha256", "content_base64sha512")
DURATIONS = ("create_duration", "destroy_duration")  # time_sleep wants at least one

SCHEMAS: Dict[str, Schema] = {
    "local_file": Schema(
        {"filename": None, **dict.fromkeys(CONTENTS), **dict.fromkeys(PERMISSIONS, "0777")},
        {"filename"}, {"filename", *CONTENTS, *PERMISSIONS}, {"id", *HASHES}, set(),
        dict.fromkeys(("filename", *CONTENTS, *PERMISSIONS, "id", *HASHES), "string"),
        {"sensitive_content"}, "hashicorp/local"),
    "random_pet": Schema(
        {"length": 2, "separator": "-", "prefix": None, "keepers": None},
        set(), {"length", "separator", "prefix", "keepers"}, {"id"}, {"id"},
        {"length": "number", "separator": "string", "prefix": "string", "keepers": "map", "id": "string"},
        set(), "hashicorp/random"),
    "terraform_data": Schema(
        {"input": None, "triggers_replace": None}, set(), {"triggers_replace"}, {"id", "output"}, {"id"},
        {"input": "dynamic", "triggers_replace": "dynamic", "output": "dynamic", "id": "string"}),
    "time_sleep": Schema(
        {"create_duration": None, "destroy_duration": None, "triggers": None}, set(), {"triggers"}, {"id"}, {"id"},
        {"create_duration": "string", "destroy_duration": "string", "triggers": "map", "id": "string"},
        set(), "hashicorp/time"),
}


def kind_of(value: Value) -> Value:
    """Return the type of an unknown or of a typed null, None where nothing is known of it."""
    kind = value.type if isinstance(value, (Unknown, Typed)) else None
    return None if kind == "dynamic" else kind


def to_string(value: Value) -> Value:
    """Return a string, null or unknown; numbers become exact decimals, booleans words; ValueError else."""
    if value is None or isinstance(value, str):
        return value
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, (int, Decimal)):
        return number_text(value)
    if isinstance(kind_of(value), list) or not isinstance(untyped(value), (Unknown, type(None))):
        raise ValueError("string required.")
    return untyped(value)


DECIMAL = r"[+-]?(?:(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]{1,9})?|[iI]nf)"


def to_number(value: Value) -> Value:
    """Return an int, Decimal, null or unknown; text must be a decimal number; ValueError else."""
    if isinstance(value, str):
        if not re.fullmatch(DECIMAL, value):
            raise ValueError("a number is required.")
        value = Decimal(value)
    if isinstance(value, Decimal):
        small = value.is_finite() and value.adjusted() < 20
        return int(value) if small and value == value.to_integral_value() else value
    if value is None or type(value) is int:
        return value
    if kind_of(value) not in (None, "number", "string") or not isinstance(untyped(value), (Unknown, type(None))):
        raise ValueError("number required.")
    return untyped(value)


def to_map(value: Value) -> Value:
    """Return a Map of strings, null or unknown; null and unknown elements stay; ValueError else."""
    kind = kind_of(value)
    value = value.value if isinstance(value, Typed) else value
    if value is None or isinstance(value, Unknown):
        if kind is not None and kind[0] not in ("map", "object"):
            raise ValueError("map of string required.")
        if kind is not None and kind[0] == "object":  # what is known of its elements must do
            to_map({key: Unknown(None, item) for key, item in kind[1].items()})
        return value
    if not isinstance(value, dict):
        raise ValueError("map of string required.")
    result = Map()
    for key in sorted(value):
        try:
            result[key] = to_string(value[key])
        except ValueError as error:
            raise ValueError(f'element "{key}": {error}') from None
    return result


NULLS: Dict[str, Attributes] = {  # what an attribute that is null is to an expression
    name: {key: Typed(None, ["map", "string"] if kind == "map" else kind)
           for key, kind in schema.kinds.items() if kind != "dynamic"} for name, schema in SCHEMAS.items()}


def seen(type_name: str, attributes: Attributes) -> Attributes:
    """Return an object's attributes as expressions see them: a null has the type of its attribute."""
    nulls = {name: null for name, null in NULLS[type_name].items() if attributes.get(name, "") is None}
    return {**attributes, **nulls} if nulls else attributes


CONVERSIONS: Dict[str, Callable[[Value], Value]] = {
    "string": to_string, "number": to_number, "map": to_map, "dynamic": lambda value: value}


def convert_arguments(type_name: str, body: Attributes) -> Tuple[Attributes, List[Problem]]:
    """Return every argument of the type, converted, defaults filled in, and what is wrong with the body.

    An argument of the wrong type comes back unknown. Where there are problems the real engine does not
    ask the provider any more, so ``check_arguments`` need not be called.
    """
    schema = SCHEMAS[type_name]
    args: Attributes = {}
    problems: List[Problem] = []
    for name in [*schema.arguments, *sorted(body.keys() & schema.computed)]:
        value = body.get(name)
        if value is not None:
            try:
                value = CONVERSIONS[schema.kinds.get(name, "dynamic")](value)
            except ValueError as error:
                value = UNKNOWN
                detail = f'Inappropriate value for attribute "{name}": {error}'
                problems.append(Problem(name, "Incorrect attribute value type", detail))
            else:
                if value is not None and name in schema.computed:
                    problems.append(read_only_problem(schema, name, value))
        if value is None and name in schema.required:
            problems.append(Problem(
                name, "Missing Configuration for Required Attribute",
                f"Must set a configuration value for the {name} attribute as the provider has marked it as required. "
                f'The argument "{name}" is required, but null was given.') if name in body else
                Problem("", "Missing required argument",
                        f'The argument "{name}" is required, but no definition was found.'))
        if name in schema.arguments:
            args[name] = schema.arguments[name] if value is None else value
    return args, problems


TIMESTAMP = r"[0-9]{4}(?:-[0-9]{2}){2}T[0-9]{2}(?::[0-9]{2}){2}(?:\.[0-9]+)?(?:Z|[+-][0-9]{2}:[0-9]{2})"


def read_only_problem(schema: Schema, name: str, value: Value) -> Problem:
    """Return the problem of a computed attribute that the configuration sets."""
    if not schema.source:
        return Problem(name, f'"{name}" attribute is read-only', "")
    if schema.source == "hashicorp/time" and isinstance(value, str) and not re.fullmatch(TIMESTAMP, value):
        detail = f'The attribute holds a time such as "2026-11-30T05:41:33Z", got: {value}'
        return Problem(name, "Invalid RFC3339 String Value", detail)
    return Problem(
        name, "Invalid Configuration for Read-Only Attribute",
        "Cannot set value for this attribute as the provider has marked it as read-only. "
        "Remove the configuration line setting the value.")


def check_arguments(type_name: str, args: Attributes) -> List[Problem]:
    """Return what the provider finds wrong with converted arguments; what hangs on an unknown is put off."""
    check = CHECKS.get(type_name)
    return check(args) if check else []


def check_local_file(args: Attributes) -> List[Problem]:
    """Return the problems of a local_file: exactly one content, octal permissions, what is deprecated.

    A permission has 3 or 4 bytes of octal, at most 0777; a sign counts.
    """
    problems: List[Problem] = []
    given = [name for name in CONTENTS if args[name] is not None]
    if len(given) != 1 and not any(isinstance(args[name], Unknown) for name in given):
        found = f"{len(given)} attributes" if given else "No attribute"
        for name in CONTENTS:
            others = ",".join(other for other in CONTENTS if other != name)
            detail = f"{found} specified when one (and only one) of [{others}] is required"
            problems.append(Problem(name, "Invalid Attribute Combination", detail))
    for name in PERMISSIONS:
        mode = args[name]
        if isinstance(mode, str) and not re.fullmatch(r"0?[0-7]{3}|\+[0-7]{2,3}|-0{2,3}", mode):
            octal = len(mode.encode()) in (3, 4)
            rule = "must be expressed in octal numeric notation" if octal else "length should be 3 or 4 digits"
            detail = f"bad mode permission: string {rule}: {mode}"
            problems.append(Problem(name, "Invalid File Permission String Value", detail))
    if isinstance(args["sensitive_content"], str):
        advice = "Use the `local_sensitive_file` resource instead"
        problems.append(Problem("sensitive_content", "Attribute Deprecated", advice, "warning"))
    return problems


def check_random_pet(args: Attributes) -> List[Problem]:
    """Return the problem of a length that is no 64-bit integer; zero and negative ones are fine."""
    length = args["length"]
    if isinstance(length, Decimal) and (not length.is_finite() or length != length.to_integral_value()):
        rule = "is not an integer"
    elif isinstance(length, (int, Decimal)) and not -2 ** 63 <= length < 2 ** 63:
        rule = "cannot be represented as a 64-bit integer"
    else:
        return []
    detail = f"The attribute length must be a whole number. Value {length} {rule}."
    return [Problem("length", "Configuration Read Error", detail)]


def check_time_sleep(args: Attributes) -> List[Problem]:
    """Return the problems of a time_sleep: at least one duration, each one number with one unit."""
    problems: List[Problem] = []
    for name, order in zip(DURATIONS, (DURATIONS[::-1], DURATIONS)):
        if all(args[other] is None for other in DURATIONS):
            detail = f"At least one attribute out of [{','.join(order)}] must be specified"
            problems.append(Problem(name, "Invalid Attribute Combination", detail))
        elif isinstance(args[name], str) and not re.fullmatch(r"[0-9]+(?:\.[0-9]+)?(?:ms|s|m|h)", args[name]):
            problems.append(Problem(
                name, "Invalid Attribute Value Match",
                f"Attribute {name} must be a number immediately followed by ms (milliseconds), s (seconds), "
                f'm (minutes), or h (hours). For example, "30s" for 30 seconds., got: {args[name]}'))
    return problems


CHECKS: Dict[str, Callable[[Attributes], List[Problem]]] = {
    "local_file": check_local_file, "random_pet": check_random_pet, "time_sleep": check_time_sleep}


def keeps_object(type_name: str, name: str, before: Value, after: Value) -> bool:
    """Return whether a change of one argument is made in place (else the object is replaced).

    Changed keepers leave a pet alone where no key is lost, no element differs and the new ones are null. Null and {}
    are alike here. A wholly unknown map is only a replacement where there was an element before.
    """
    if (type_name, name) != ("random_pet", "keepers"):
        return name not in SCHEMAS[type_name].force_new
    before = before or Map()
    if isinstance(after, Unknown):
        return not before
    after = after or Map()
    return before.keys() <= after.keys() and all(same(after[key], before.get(key)) for key in after)


# --------------------------------------------------------------------------------------
# what can be wrong with a configuration
# fault("Duplicate argument", "input", "main.tf.json:5,9-19")  ->  a Diagnostic in the real engine's words
# --------------------------------------------------------------------------------------

A_VALUE = "A JSON value must start with a brace, a bracket, a number, a string, or a keyword."
A_NAME = (
    "A name must start with a letter or underscore and may contain only letters, digits, underscores, and dashes.")
ESCAPE = " If this belongs to another language, such as a shell script, write $${{ instead of ${{."
START = "Expected the start of an expression, but found "
DETAILS: Dict[str, str] = {  # a summary (what stands behind "/" is not shown)  ->  its detail
    # the JSON grammar
    "Missing value": "The JSON data ends prematurely.",
    "Missing JSON value": A_VALUE,
    "Missing array element value": A_VALUE,
    "Invalid start of value": A_VALUE + "{1}",
    "Invalid JSON string": "There is a syntax error in the given JSON string.",
    "Invalid JSON number": "There is a syntax error in the given JSON number.",
    "Invalid JSON number/size": "minigraph reads numbers of at most 100000 digits, got {:.40}.",
    "Invalid JSON keyword": '"{0}" is not a valid JSON keyword.{2}',
    "Invalid JSON keyword/script": 'The JavaScript identifier "{}" cannot be used in JSON.',
    "Invalid object property name": "A JSON object property name must be a string",
    "Missing object value": "A JSON object attribute must have a value, introduced by a colon.",
    "Missing property value colon": "A colon must appear between an object property's name and its value.",
    "Missing property value colon/=": "JSON uses a colon as its name/value delimiter, not an equals sign.",
    "Missing attribute seperator comma": "A comma must appear between each property definition in an object.{1}",
    "Missing attribute seperator comma/array": "A comma must appear between each value in an array.{1}",
    "Trailing comma in object": "JSON does not permit a trailing comma after the final property in an object.",
    "Trailing comma in array": "JSON does not permit a trailing comma after the final value in an array.",
    "Mismatched braces": "A JSON object must be closed with a brace, not a bracket.",
    "Mismatched brackets": "A JSON array must be closed with a bracket, not a brace.",
    "Invalid array value": "A colon is not used to introduce values in a JSON array.",
    "Unclosed object": "No closing brace was found for this JSON object.",
    "Unclosed object/array": "No closing bracket was found for this JSON array.",
    "Extraneous data after value": "Extra characters appear after the JSON value.",
    "Nesting too deep": "minigraph reads JSON of at most 1000 levels.",
    # templates
    "Unterminated template string": "No closing marker was found for the string.",
    "Missing expression": START + "the end of the file.",
    "Unclosed template interpolation sequence": (
        "There is no closing brace for this interpolation sequence before the end of the string. The nesting of "
        "braces or quotes inside it may be wrong." + ESCAPE),
    "Invalid template directive": (
        'A template directive keyword ("if", "for", etc) is expected at the beginning of a %{{ sequence. Write %%{{ '
        "for the characters themselves."),
    "Invalid template control keyword": (
        '"{}" is not a valid template control keyword.{} Write %%{{ for the characters themselves.'),
    "Invalid legacy index syntax": "Two indexes in a row stand in brackets, like [0][0].",
    "Invalid character": "This character is not used within the language.",
    "Invalid character/'": 'Single quotes are not valid. Use double quotes (") to enclose strings.',
    "Invalid expression": START + "an invalid expression token." + ESCAPE,
    "Invalid attribute name": "An attribute name is required after a dot.",
    "Missing close bracket on index": 'The index operator must end with a closing bracket ("]").',
    "Extra characters after interpolation expression": (
        "Expected a closing brace to end the interpolation expression, but found extra characters." + ESCAPE),
    "Extra characters after interpolation expression/:": (
        "Template interpolation doesn't expect a colon at this location." + ESCAPE),
    "minigraph understands plain references inside ${{...}}, got {}": (
        'A plain reference is names, ".attribute", "[0]" and "["key"]". Functions, operators, conditionals and '
        "directives are not computed: write the result, or take it from an attribute or a local value." + ESCAPE),
    # files and blocks
    "Failed to read module directory": "Module directory {} does not exist or cannot be read: {}.",
    "Failed to read file": 'The file "{}" could not be read: {}.',
    "Root value must be object": (
        "The root value in a JSON-based configuration must be either a JSON object or a JSON array of objects."),
    "Incorrect JSON value type": "{} is required here, {}.",
    "Incorrect JSON value type/body": (
        'Either a JSON object or a JSON array is required, representing the contents of one or more "{}" blocks.{}'),
    "Missing block label": "At least one object property is required, whose name represents the {} block's {}.",
    "Extraneous JSON object property": 'No argument or block type is named "{}".{}',
    "Invalid required_providers block": 'A "required_providers" block must be nested inside a "terraform" block.',
    'minigraph does not support "{}"': "{1}",
    "Invalid resource type name": A_NAME,
    "Invalid resource name": A_NAME,
    "Invalid local value name": A_NAME,
    "Invalid output name": A_NAME,
    "Invalid resource type": 'The provider {} does not support resource type "{}".{}',
    "Missing required provider": (
        "This configuration requires provider hashicorp/{}, but minigraph has these resource types only: {}.{}"),
    "Duplicate argument": 'The argument "{}" was already set at {}.',
    "Duplicate attribute definition": 'The argument "{}" was already set at {}.',
    "Duplicate lifecycle block": "This resource already has a lifecycle block at {}.",
    'Duplicate resource "{0}" configuration': (
        'A {0} resource named "{1}" was already declared at {2}. Resource names must be unique per type in each '
        "module."),
    "Duplicate local value definition": (
        'A local value named "{}" was already defined at {}. Local value names must be unique within a module.'),
    "Duplicate output definition": (
        'An output named "{}" was already defined at {}. Output names must be unique within a module.'),
    "Missing resource to override": (
        'There is no {} resource named "{}". An override file can only override a resource block defined in a '
        "primary configuration file."),
    "Missing base local value definition to override": (
        'There is no local value named "{}". An override file can only override a local value that was already '
        "defined in a primary configuration file."),
    "Missing base output definition to override": (
        'There is no output named "{}". An override file can only override an output that was already defined in a '
        "primary configuration file."),
    "Unsupported override": "The depends_on argument may not be overridden.",
    "Missing required argument": 'The argument "{}" is required, but no definition was found.',
    "Unsuitable value type": "Unsuitable value: {}",
    "Ephemeral output not allowed": "Ephemeral outputs are not allowed in context of a root module",
    "Postconditions are not allowed": "Output values can only have preconditions, not postconditions.",
    "Invalid expression/list": "A static list expression is required.",
    "Invalid expression/static": (
        "A single static variable reference is required: only attribute access and indexing with constant keys. No "
        "calculations, function calls, template expressions, etc are allowed here.{}"),
    "Invalid depends_on reference": (
        "References in depends_on must be to a whole object (resource, etc), not to an attribute of an object."),
    "Invalid ignore_changes wildcard": 'Write "ignore_changes": "all" to ignore changes to all attributes.',
    "Invalid reference expression": "A single reference string is required.",
    "Invalid reference in replace_triggered_by expression": (
        "Only resources and their attributes may be used in replace_triggered_by."),
    # references
    "Invalid reference": (
        "A reference to a resource type must be followed by at least one attribute access, specifying the resource "
        "name." + ESCAPE),
    "Invalid reference/two": 'The "{}" object must be followed by two attribute names: the {} type and the {} name.',
    "Invalid reference/direct": 'The "{}" object cannot be accessed directly. Instead, access one of its attributes.',
    "Invalid reference/index": 'The "{}" object does not support this operation.',
    "Reference to undeclared resource": '{} resource "{}" "{}" has not been declared in the root module.{}',
    "Reference to undeclared local value": 'A local value with the name "{}" has not been declared.{}',
    "Reference to undeclared input variable": 'An input variable with the name "{}" has not been declared.{}',
    "Reference to undeclared module": 'No module call named "{}" is declared in the root module.{}',
    "Self-referencing local value": "Local value {} cannot use its own result as part of its expression.",
    "Unexpected resource instance key": (
        'Because {} does not have "count" or "for_each" set, references to it must not include an index key. Remove '
        "the bracketed index to refer to the single instance of this resource."),
    "Unsupported attribute": 'This object has no argument, nested block, or exported attribute named "{}".{}',
    "Invalid resource count attribute": (
        'The special "count" attribute is no longer supported: a resource is one object here.'),
    'Invalid "{0}" attribute': 'The "{0}" object does not have an attribute named "{1}".{2}',
    "Reserved symbol name": 'The symbol name "{0}" is reserved. For a resource type of that name write "resource.{0}".',
    'Invalid "self" reference': (
        'The "self" object is not available in this context. Refer to another resource, or to a local value.'),
    'Reference to "each" in context without for_each': (
        'The "each" object can be used only where the "for_each" argument is set.{1}'),
    'Reference to "count" in non-counted context': (
        'The "count" object can only be used where the "count" argument is set.{1}'),
    "Unsupported argument": 'An argument named "{}" is not expected here.{}',
    "Redundant ignore_changes element": (
        "The attribute {} is decided by the provider alone, so there is no configured value whose changes could be "
        "ignored. Remove it from ignore_changes."),
}
REFUSED = {  # what the real tools have and minigraph has not  ->  what to do instead
    "count": "Repetition comes in the next lesson: write one resource for each object.",
    "for_each": "Repetition comes in the next lesson: write one resource for each object.",
    "variable": "Input variables come in the next lesson: put the value into locals.",
    "data": "There are no data sources: put the value into locals.",
    "module": "There is one module, the root: put the module's resources into this directory.",
    "ephemeral": "There are no ephemeral values: use a resource or a local value.",
    "moved": "Rename the object with the real tool (state mv), then remove the block.",
    "import": "Import the object with the real tool, then remove the block.",
    "removed": "Remove the resource itself: the next apply destroys the object.",
    "check": "Check the result outside, for example with output -json.",
    "language": "Remove it: there is one edition of the language.",
    "provisioner": "Run the command outside of minigraph, after apply.",
    "connection": "Remove it: there are no provisioners that could use it.",
    "provider": "Remove it: each type has its one provider.",
    "_": "Write the arguments directly into the resource.",
    "locals": "Local values stand at the top level.",
    "precondition": "Check the value outside of minigraph, before apply.",
    "postcondition": "Check the value outside of minigraph, after apply.",
    "destroy": "Remove it: an object whose resource is removed is destroyed.",
    "enabled": "Remove the resource to disable it.",
    "cloud": "State is kept in the file terraform.tfstate.",
    "backend": 'State is kept in a local file: use {"local": {}}, and -state= for another file.',
    "encryption": "State is kept in plain text.",
    "experiments": "Remove it: there are none.",
    "provider_meta": "Remove it: the providers take no settings.",
}


def fault(key: str, *facts: object, spot: Optional[Spot] = None, place: Optional[Place] = None) -> Diagnostic:
    """Return the diagnostic for one entry of ``DETAILS``."""
    return Diagnostic(key.partition("/")[0].format(*facts), DETAILS[key].format(*facts), spot, place)


# --------------------------------------------------------------------------------------
# reading JSON
# '{"a": [1.0, "e\u0301"]}'  ->  {"a": [1, "é"]}; the spot (0, 1) of it  ->  line 1, column 13, in a
# --------------------------------------------------------------------------------------

MAX_NESTING = 1_000  # levels; the real engine takes a few thousand, and minutes to plan them
MAX_EXPONENT = 100_000  # a number is written with all its digits
MAX_DIGITS = 154  # of a whole number that is kept exactly

# Walking a value takes about three frames a level.
sys.setrecursionlimit(max(sys.getrecursionlimit(), 10 * MAX_NESTING))

DIGITS = r"-?(?:0|[1-9][0-9]*)(?:\.[0-9]+)?(?:[eE][-+]?[0-9]+)?"
PLAIN_TEXT = r'[^"\\\x00-\x1f]*'
TOKEN = (
    r'[ \t\r\n]*(?:(?P<string>"[^"\\]*(?:\\.[^"\\]*)*(?:"|\\?\Z))|(?P<number>[-+.0-9][-+.eE0-9]*)'
    r"|(?P<word>[A-Za-z][A-Za-z0-9_]*)|(?P<end>\Z)|(?P<mark>.))")
MARK_HINTS = {
    "/": ' JSON has no comments: a property named "//" may hold one.',
    "#": ' JSON has no comments: a property named "//" may hold one.',
    "'": " JSON strings stand in double quotes.",
    "\ufeff": " The file starts with a byte order mark: save it as UTF-8 without one.",
    "\ufffd": " The file is not UTF-8 text: save it as UTF-8.",
    "\0": " The file is not UTF-8 text: save it as UTF-8.",
}


class Repeated(Dict[str, Any]):
    """A JSON object in which a key repeats: as a dict it has the last value of each, ``pairs`` has all."""

    pairs: List[Tuple[str, Value]]


NESTING = (dict, list, Repeated)


def object_of(pairs: List[Tuple[str, Value]]) -> Dict[str, Value]:
    """Return a JSON object; the real engine counts every property, so repeated keys are kept."""
    found = dict(pairs)
    if len(found) < len(pairs):
        found = Repeated(found)
        found.pairs = pairs
    return found


def items(value: Dict[str, Value]) -> Iterable[Tuple[str, Value]]:
    """Return the properties of a JSON object in order, each repeated key as often as it stands there."""
    return value.pairs if isinstance(value, Repeated) else value.items()


def read_number(text: str) -> Union[int, Decimal]:
    """Return an int where the number is whole and of at most 154 digits, else a Decimal of that precision.

    -0 stays what it is. Raises ValueError or ArithmeticError where the exponent is absurd.
    """
    number = PRECISION.normalize(PRECISION.create_decimal(text))
    if abs(number.adjusted()) > MAX_EXPONENT or not number and re.match("[-0.]*[1-9]", text):
        raise ValueError("exponent out of range")
    whole = number == number.to_integral_value() and number.adjusted() < MAX_DIGITS
    return int(number) if whole and (number or not number.is_signed()) else number


def read_integer(text: str) -> Union[int, Decimal]:
    """Return a number without fraction and exponent."""
    return int(text) if len(text) <= MAX_DIGITS and text != "-0" else read_number(text)


def refuse_constant(text: str) -> None:
    """Raise ValueError: NaN and Infinity are no JSON, though Python's reader takes them."""
    raise ValueError(text)


def read_json(text: str, file: str) -> Value:
    """Return the value of a JSON document; ConfigError with the place where the real grammar refuses it."""
    import json
    decoder = json.JSONDecoder(object_pairs_hook=object_of, parse_float=read_number, parse_int=read_integer,
                               parse_constant=refuse_constant)
    try:
        value = decoder.decode(text)
        if too_deep(value):
            raise RecursionError
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise ConfigError(grammar_error(text, file) or Diagnostic("Invalid JSON", f"{error}.")) from None
    return value if text.isascii() and "\\u" not in text else cleaned(value)


def too_deep(value: Value) -> bool:
    """Return whether a value has more levels than ``MAX_NESTING``."""
    level: List[Any] = [value] if value.__class__ in NESTING else []
    for _ in range(MAX_NESTING):
        level = [child for item in level for child in (item if item.__class__ is list else item.values())
                 if child.__class__ in NESTING]
        if not level:
            return False
    return True


def cleaned(value: Value) -> Value:
    """Return a value with strings and keys as the real engine keeps them: NFC, lone surrogates as U+FFFD."""
    from unicodedata import normalize
    if isinstance(value, str):
        return value if value.isascii() else normalize("NFC", re.sub("[\ud800-\udfff]", "\ufffd", value))
    if isinstance(value, list):
        return [cleaned(item) for item in value]
    if isinstance(value, dict):
        return object_of([(cleaned(key), cleaned(item)) for key, item in items(value)])
    return value


def grammar_error(text: str, file: str) -> Optional[Diagnostic]:
    """Return the first mistake in a JSON text, in the real grammar's words, at the place to mend.

    One token after the other is held against what may stand there: "value", "property" (the first key or a
    closing brace), "key", "colon", "element" (the first one or a closing bracket), "item", "comma" or "end".
    """
    opened: List[int] = []
    expected, last, position = "value", 0, 0
    pattern = re.compile(TOKEN, re.DOTALL)
    while True:
        match = pattern.match(text, position)
        if match is None or match.lastgroup is None or expected == match.lastgroup == "end":
            return None
        kind, token, start = match.lastgroup, match[match.lastgroup], match.start(match.lastgroup)
        top = text[opened[-1]] if opened else ""
        closes = top + token in ("{}", "[]") and expected in ("property", "element", "comma")
        wrong = "" if closes else token_fault(expected, kind, token, top)
        if len(opened) > MAX_NESTING:
            wrong = "Nesting too deep"
        if wrong:
            at = last if kind == "end" and position or wrong.startswith(POINT_BEFORE) else start
            at = opened[-1] if wrong.startswith("Unclosed") else at
            near = did_you_mean(token, ("true", "false", "null")) if kind == "word" else ""
            found = fault(wrong, token, MARK_HINTS.get(token, ""), near, place=Layout(file, text).place_of(at))
            dotted = kind == "word" and text.startswith(".", match.end())
            return found._replace(detail=found.detail + ' A reference stands in a string: "${...}".' * dotted)
        if closes:
            opened.pop()
            expected = ""
        elif token in ("{", "["):
            opened.append(start)
        if token == ",":
            expected = "key" if top == "{" else "item"
        else:
            expected = AFTER.get(token) or AFTER.get(expected) or ("comma" if opened else "end")
        last, position = start, match.end()


RIGHT = (  # what is expected, the bracket that is open, a blank and the token, where that may stand there
    rf'colon. :|comma. ,|(value|property|key|element|item).? ([{{[]|({DIGITS}|true|false|null'
    rf'|"{PLAIN_TEXT}(?:\\(?:["\\/bfnrt]|u[0-9a-fA-F]{{4}}){PLAIN_TEXT})*")\Z)')
GRAMMAR = (  # the same where it may not  ->  what is wrong, a key of DETAILS
    ("end", "Extraneous data after value"), ("colon. [},]", "Missing object value"),
    ("colon. =", "Missing property value colon/="), ("colon", "Missing property value colon"),
    (r"comma\{ \Z", "Unclosed object"), (r"comma\[ \Z", "Unclosed object/array"),
    (r"comma\{ []}]", "Mismatched braces"), (r"comma\[ []}]", "Mismatched brackets"),
    (r"comma\[ :", "Invalid array value"), (r"comma\{", "Missing attribute seperator comma"),
    (r"comma", "Missing attribute seperator comma/array"),
    (r"key\{ \}", "Trailing comma in object"), (r"item\[ \]", "Trailing comma in array"),
    (r'\S+ "', "Invalid JSON string"), (r"\S+ [-+.0-9]", "Invalid JSON number"),
    (r"\S+ (NaN|Infinity|undefined)\Z", "Invalid JSON keyword/script"), (r"\S+ [A-Za-z]", "Invalid JSON keyword"),
    (r"\S+ \Z", "Missing value"), (r"\S+ \}", "Missing JSON value"), (r"\S+ \]", "Missing array element value"),
    ("", "Invalid start of value"))
AFTER = {"{": "property", "[": "element", "property": "colon", "key": "colon", "colon": "value"}
POINT_BEFORE = ("Trailing comma", "Missing JSON value", "Missing object value")  # at the token before


def token_fault(expected: str, kind: str, token: str, top: str) -> str:
    """Return a key of ``DETAILS`` where a token may not stand, else an empty text."""
    line = f"{expected}{top} {token}"
    if not re.match(RIGHT, line):
        return next(key for pattern, key in GRAMMAR if re.match(pattern, line))
    if kind == "number":
        try:
            read_number(token)
        except (ValueError, ArithmeticError):
            return "Invalid JSON number/size"
    return "Invalid object property name" if expected in ("property", "key") and kind != "string" else ""


Child = Tuple[int, Optional[str], int]  # where a property or element starts, its key, where its value starts


class Layout:
    """Where everything stands in one valid JSON text; made only when there is something to report."""

    def __init__(self, file: str, text: str) -> None:
        import json
        self.file, self.text = file, text
        self.lines = [0, *(match.end() for match in re.finditer("\n", text))]
        self.decode = json.JSONDecoder(parse_int=str, parse_float=str).raw_decode
        self.between = re.compile(r"[ \t\r\n,:]*")
        self.known: Dict[int, List[Child]] = {}
        self.counted = 0, 0  # a position in the text, and how many bytes stand before it

    def skip(self, position: int) -> int:
        """Return where the next value, or closing sign, starts."""
        match = self.between.match(self.text, position)
        return match.end() if match else position

    def children(self, start: int) -> List[Child]:
        """Return the children of a container and, as the last one, the sign that closes it."""
        if start not in self.known:
            found: List[Child] = []
            position = self.skip(start + 1)
            while self.text[position] not in "}]":
                first, key = position, None
                if self.text[start] == "{":
                    key, position = self.decode(self.text, position)
                    position = self.skip(position)
                found.append((first, key, position))
                position = self.skip(self.decode(self.text, position)[1])
            self.known[start] = [*found, (position, None, position)]
        return self.known[start]

    def find(self, spot: Spot) -> Tuple[int, int, str]:
        """Return where the property (or element) and its value or end start, and the path around it."""
        first = value = self.skip(0)
        path, around = "", ""
        for number in spot.pointer:
            found = self.children(value) if self.text[value] in "{[" else []
            if number + 1 >= len(found):
                break
            first, key, value = found[number]
            around, path = path, path + (f"[{number}]" if key is None else f".{key}")
        if spot.part == "end" and self.text[value] in "{[":
            value, around = self.children(value)[-1][0], path
        return first, value, around.lstrip(".")

    def place(self, spot: Spot) -> Place:
        """Return the place of a spot: of the key, of the value, or of the sign that closes it."""
        first, value, around = self.find(spot)
        return self.place_of(first if spot.part == "key" else value, around)

    def place_of(self, position: int, context: str = "") -> Place:
        """Return the place of a position in the text; its line must not show a secret."""
        from bisect import bisect_right
        number = bisect_right(self.lines, position)
        start = self.lines[number - 1]
        source = self.text[start:self.lines[number] if number < len(self.lines) else None].rstrip("\r\n")
        source = re.sub(r'("sensitive_content"\s*:\s*)"(?:[^"\\]|\\.)*"', r'\1"(sensitive value)"', source)
        counted, size = self.counted if self.counted[0] <= start else (0, 0)  # errors mostly come in their order
        self.counted = start, size + len(self.text[counted:start].encode("utf-8", "replace"))
        return Place(self.file, number, position - start + 1, context, source, self.counted[1])

    def span(self, spot: Spot) -> str:
        """Return "main.tf.json:4,9-20", from the key to the value's end; of a value its first character."""
        first, value, _ = self.find(spot)
        key = spot.part == "key"
        start = self.place_of(first if key else value)
        end = self.place_of(self.decode(self.text, value)[1] if key else value + 1)
        line = "" if start.line == end.line else f"{end.line},"
        return f"{self.file}:{start.line},{start.column}-{line}{end.column}"


def placed(diagnostics: Iterable[Diagnostic], sources: Dict[str, str]) -> List[Diagnostic]:
    """Return diagnostics with their places, each once, by file and line; those without a place first."""
    layouts: Dict[str, Layout] = {}
    found: Dict[Diagnostic, None] = {}
    for diagnostic in diagnostics:
        spot = diagnostic.spot
        if spot and diagnostic.place is None and spot.file in sources:
            if spot.file not in layouts:
                layouts[spot.file] = Layout(spot.file, sources[spot.file])
            diagnostic = diagnostic._replace(place=layouts[spot.file].place(spot))
        found[diagnostic] = None
    return sorted(found, key=lambda item: item.place[:3] if item.place else ("", 0, 0))


# --------------------------------------------------------------------------------------
# templates
# "a-${local.x.k[0]}"  ->  ("a-", Reference("local.x.k[0]", "local.x", "local", ("k", 0)))
# --------------------------------------------------------------------------------------

BLANK = " \t\r\n"
NAME = r"(?:[A-Za-z0-9_-]|[^\x00-\x7f])+"
OPENING = re.compile(r"\$+\{|%+\{")
CODE_MARK = re.compile(r'[{}"]|#[^\n]*(?:\n|\Z)|//[^\n]*(?:\n|\Z)|/\*.*?\*/', re.DOTALL)
QUOTE_MARK = re.compile(r'\\.|"|\$+\{|%+\{|\n', re.DOTALL)
STEP = re.compile(
    rf"\s*(?:\.\s*({NAME})|\[\s*(?:([0-9]+)|"
    r'"((?:[^"\\$%\n]|\\["\\nrt]|\\u[0-9a-fA-F]{4}|[$%](?!\{))*)"'
    r")\s*\])", re.ASCII)
ESCAPES = {"n": "\n", "r": "\r", "t": "\t"}
DIRECTIVES = ("if", "else", "endif", "for", "endfor")
OBJECTS = (
    "count", "data", "each", "ephemeral", "local", "module", "path", "self", "terraform", "tofu", "var")
RESERVED = ("arg", "lazy", "template")  # for future versions of the real engine


class Reference(NamedTuple):
    """A traversal: its text as written, the address that it names, and the steps behind the address.

    ``root`` is "resource", "local", "path" or "terraform", or a first name that minigraph does not have
    ("var", "each"); the target is empty where nothing is named that needs to be evaluated.
    ``indexed``: the first step stands in brackets.
    """

    text: str
    target: str
    root: str
    steps: Path
    indexed: bool = False


class OutsideSubset(ConfigError):
    """The real tools may well accept it; minigraph reads plain references only."""


Parts = Tuple[Union[str, Reference], ...]
Steps = List[Tuple[Union[str, int], bool]]  # of a traversal, each with whether it is an index
TEMPLATES: Dict[str, Parts] = {}  # what was parsed before: the same texts are asked for many times
REFERENCES: Dict[str, Reference] = {}  # of the plain form


def parse_template(text: str) -> Parts:
    """Return the literal texts and references of a string; a lone reference keeps its value's type."""
    if "${" not in text and "%{" not in text:
        return (text,)
    if text not in TEMPLATES:
        plain = PLAIN_REFERENCE.fullmatch(text)
        lone = plain and plain_reference(plain)
        TEMPLATES[text] = (lone,) if lone else tuple(scan_template(text))
    return TEMPLATES[text]


PLAIN_REFERENCE = re.compile(r"\$\{(([A-Za-z_][\w-]*)\.([A-Za-z_][\w-]*)((?:\.[A-Za-z_][\w-]*)*))\}", re.ASCII)


def plain_reference(match: "re.Match[str]") -> Optional[Reference]:
    """Return what "${a.b.c}" refers to, the same object for the same text, or None for a name with a meaning of its own.

    A stack of 10,000 with 20 references each loads in a third of the time that ``parse_reference`` alone would take.
    """
    text, first, second, rest = match.groups()
    if text not in REFERENCES:
        if first != "local" and (first in OBJECTS or first in RESERVED or first == "resource"):
            return None
        root = "local" if first == "local" else "resource"
        REFERENCES[text] = Reference(text, f"{first}.{second}", root, tuple(rest.split(".")[1:]))
    return REFERENCES[text]


def scan_template(text: str) -> List[Union[str, Reference]]:
    """Return the parts of a template; of n > 1 dollars (or percents) before a brace, n - 1 stay as text."""
    parts: List[Union[str, Reference]] = []
    literal, position = "", 0
    match = OPENING.search(text)
    while match:
        literal += text[position:match.start()]
        position = match.end()
        if len(match[0]) > 2:
            literal += match[0][1:]
        elif match[0] == "%{":
            raise directive_error(text[position:])
        else:
            plain = PLAIN_REFERENCE.match(text, match.start())
            end = plain.end() - 1 if plain else expression_end(text, position)
            parts += [literal] if literal else []
            parts.append(plain and plain_reference(plain) or parse_reference(text[position:end]))
            literal, position = "", end + 1
        match = OPENING.search(text, position)
    literal += text[position:]
    return parts + [literal] if literal or not parts else parts


def expression_end(text: str, start: int) -> int:
    """Return where the brace stands that closes an interpolation: quotes, braces and comments nest.

    Where there is none, the error is that of the place where the expression breaks off, if it does.
    """
    open_marks = ""
    position = start
    while True:
        quoted = open_marks[-1:] == '"'
        match = (QUOTE_MARK if quoted else CODE_MARK).search(text, position)
        if quoted and (match is None or match[0] == "\n"):
            raise ConfigError(fault("Unterminated template string"))
        if match is None:
            break
        mark, position = match[0], match.end()
        if mark == "}" and not open_marks:
            return match.start()
        if mark == "}" or quoted and mark == '"':
            open_marks = open_marks[:-1]
        elif mark in ('"', "{", "${", "%{"):
            open_marks += mark[-1]
    rest = text[start:].strip(BLANK)
    try:
        if rest:
            parse_reference(rest)
    except OutsideSubset:
        pass
    raise ConfigError(fault("Unclosed template interpolation sequence" if rest else "Missing expression"))


def directive_error(rest: str) -> ConfigError:
    """Return the refusal of a %{ sequence: minigraph has no directives, and the real engine none but five."""
    match = re.match(rf"~?\s*({NAME})", rest)
    if match is None or not is_name(match[1]):
        return ConfigError(fault("Invalid template directive"))
    if match[1] in DIRECTIVES:
        return OutsideSubset(fault(NO_REFERENCE, "%{" + rest.partition("}")[0] + "}"))
    return ConfigError(fault("Invalid template control keyword", match[1], did_you_mean(match[1], DIRECTIVES)))


NO_REFERENCE = "minigraph understands plain references inside ${{...}}, got {}"


def is_name(text: str) -> bool:
    """Return whether a text is an identifier: Unicode letters, digits, _ and, not first, -."""
    return text[:1] != "-" and text.replace("-", "_").isidentifier()


def parse_reference(inside: str) -> Reference:
    """Return the reference between ${ and }; ConfigError where there is none that minigraph reads.

    The error is the real grammar's, if it has one, else the refusal.
    """
    expression = inside.strip(BLANK)
    steps, end = parse_traversal(expression)
    if not steps or end < len(expression) or len(steps) == 1 and expression in ("true", "false", "null"):
        rest = f"{min(end, 1)}{expression[end:].lstrip(BLANK)}"
        key = next((key for pattern, key in EXPRESSION_FAULTS if re.match(pattern, rest)), "")
        raise ConfigError(fault(key)) if key else OutsideSubset(fault(NO_REFERENCE, f"${{{expression}}}"))
    if re.search(r"\.\s*[0-9]+\s*\.\s*[0-9]+(?![\w-])", expression):
        raise ConfigError(fault("Invalid legacy index syntax"))
    return reference_of(expression, steps)


EXPRESSION_FAULTS = (  # what stands where an expression breaks off: behind 0 at its start, behind 1 later
    ("[01]'", "Invalid character/'"), (r"[01][@`\\;^$]", "Invalid character"),
    (r"0[,.)\]}:=*%<>&|?+]|0\Z", "Invalid expression"), ("0", ""),
    (r"1\.(?!\.\.|[ \t\r\n]*\*)", "Invalid attribute name"), (r"1\[[ \t\r\n]*(\]|\Z)", "Invalid expression"),
    (r'1\[[ \t\r\n]*([0-9]+|"[^"]*")\Z', "Missing close bracket on index"),
    ("1:", "Extra characters after interpolation expression/:"),
    (r'1(\.\.\.|[,)\]}{"\w]|=(?!=))', "Extra characters after interpolation expression"))


def parse_traversal(text: str, static: bool = False) -> Tuple[Steps, int]:
    """Return the steps of a traversal and where they end; a ``static`` one knows no ``.0``."""
    match = re.match(NAME, text)
    if match is None or not is_name(match[0]):
        return [], 0
    steps: Steps = [(cleaned(match[0]), False)]
    while True:
        end = match.end()
        match = STEP.match(text, end)
        if match is None:
            return steps, end
        name, index, key = match.groups()
        if name and name.isdigit() and name.isascii() and not static:
            name, index = None, name
        if name and not is_name(name):
            return steps, end
        steps.append((cleaned(name), False) if name else (int(index[-18:]) if index else unescaped(key), True))


def unescaped(key: str) -> str:
    """Return a quoted key of the native syntax as plain text."""
    def character(found: "re.Match[str]") -> str:
        return chr(int(found[2], 16)) if found[2] else ESCAPES.get(found[1], found[1])
    return str(cleaned(re.sub(r"\\(u(....)|.)", character, key)))


def reference_of(text: str, steps: Steps) -> Reference:
    """Return the reference that a traversal is: ``resource.TYPE.NAME`` equals ``TYPE.NAME``."""
    names = tuple(step for step, _ in steps)
    indexed = [is_index for _, is_index in steps] + [False, False, False]
    prefixed_form = names[0] == "resource"
    root = str(names[0]) if names[0] in OBJECTS or names[0] in RESERVED else "resource"
    if prefixed_form and len(names) > 2 and not indexed[1]:
        names, indexed, prefixed_form = names[1:], indexed[1:], False
    if prefixed_form or root not in ("local", "resource") or len(names) < 2 or indexed[1]:
        return Reference(text, "", "terraform" if root == "tofu" else root, names[1:], indexed[1])
    return Reference(text, f"{names[0]}.{names[1]}", root, names[2:], indexed[2])


Templates = List[Tuple[Tuple[int, ...], str]]  # each with the child numbers that lead to it


def templates_in(value: Value) -> Templates:
    """Return every string and object key with an opening brace, with the child numbers that lead to it."""
    found: Templates = []
    collect_templates(value, (), found)
    return found


def collect_templates(value: Value, trail: Tuple[int, ...], found: Templates) -> None:
    """Add the templates in a value to ``found``; strings are looked at before a call is spent on them."""
    if isinstance(value, str):
        if "{" in value:
            found.append((trail, value))
    elif isinstance(value, dict):
        for number, (key, item) in enumerate(items(value)):
            if "{" in key:
                found.append(((*trail, number), key))
            if item.__class__ in NESTING or item.__class__ is str and "{" in item:
                collect_templates(item, (*trail, number), found)
    elif isinstance(value, list):
        for number, item in enumerate(value):
            if item.__class__ in NESTING or item.__class__ is str and "{" in item:
                collect_templates(item, (*trail, number), found)


def references_in(value: Value) -> Iterator[Tuple[Tuple[int, ...], str, Reference]]:
    """Yield (trail, text, reference) for every reference at any depth; a faulty template has none."""
    for trail, text in templates_in(value):
        try:
            parts = parse_template(text)
        except ConfigError:
            continue  # reported when the value is evaluated, as the real engine does
        for part in parts:
            if isinstance(part, Reference):
                yield trail, text, part


# --------------------------------------------------------------------------------------
# reading *.tf.json
# {"resource": {"local_file": {"a": {"content": "x"}}}}  ->  resources {"local_file.a": Resource(...)}
# --------------------------------------------------------------------------------------

BLOCKS = ("terraform", "required_providers", "provider", "locals", "output", "resource", "variable", "data",
          "module", "ephemeral", "moved", "import", "removed", "check", "language")
META_ARGUMENTS = frozenset((
    "depends_on", "lifecycle", "count", "for_each", "provider", "provisioner", "connection", "_", "locals"))
LIFECYCLE_SETTINGS = ("create_before_destroy", "prevent_destroy", "ignore_changes", "replace_triggered_by")
OUTPUT_SETTINGS = ("value", "description", "sensitive", "ephemeral", "depends_on")
TERRAFORM_SETTINGS = ("required_version", "required_providers", "backend", "cloud", "experiments", "language",
                      "provider_meta", "encryption")
CONTENTS_OF_BLOCK = "to define arguments and child blocks"
PROVIDER_SOURCES = {
    schema.source.rpartition("/")[2] or "terraform": schema.source or "terraform.io/builtin/terraform"
    for schema in SCHEMAS.values()}


class Body(NamedTuple):
    """The settings of one block without comments; ``spots`` where they are not the children of one object."""

    values: Dict[str, Value]
    spot: Spot
    raw: Value
    spots: Optional[Dict[str, Spot]] = None

    def at(self, name: str, part: str = "value") -> Spot:
        """Return the spot of a setting, or of the body's end where it has no such setting."""
        if self.spots is not None:
            found = self.spots.get(name)
            return found._replace(part=part) if found else self.spot._replace(part="end")
        for number, key in enumerate(self.raw):
            if key == name:
                return Spot(self.spot.file, (*self.spot.pointer, number), part)
        return self.spot._replace(part="end")


class Lifecycle(NamedTuple):
    """The lifecycle settings of a resource, None where not set; ``spots`` says where they stand."""

    create_before_destroy: Optional[bool] = None
    prevent_destroy: Optional[bool] = None
    ignore_changes: Union[None, str, List[Steps]] = None
    replace_triggered_by: List[Reference] = []
    spots: Dict[str, Spot] = {}


class Resource(NamedTuple):
    """A resource as configured: ``body`` has the arguments only, raw; ``source`` has the whole block."""

    address: str
    type: str
    name: str
    body: Dict[str, Value]
    depends_on: List[Reference]
    lifecycle: Lifecycle
    spot: Spot
    source: Body


class Local(NamedTuple):
    """A local value, raw, and its spot."""

    name: str
    value: Value
    spot: Spot


class Output(NamedTuple):
    """An output with its raw value; ``spot`` is the value's, ``source`` the whole block."""

    name: str
    value: Value
    sensitive: bool
    description: Optional[str]
    depends_on: List[Reference]
    spot: Spot
    source: Body


class Config:
    """Everything that the files of one directory declare; ``sources`` are the texts that were read."""

    def __init__(self, directory: str, sources: Dict[str, str]) -> None:
        self.directory, self.sources = directory, sources
        self.resources: Dict[str, Resource] = {}
        self.locals: Dict[str, Local] = {}
        self.outputs: Dict[str, Output] = {}
        self.warnings: List[Diagnostic] = []


class Reading:
    """A configuration while it is read, and its errors; ``later`` are looked at only when there are no others."""

    def __init__(self, config: Config) -> None:
        self.config = config
        self.found: List[Diagnostic] = []
        self.later: List[Diagnostic] = []
        self.incomplete = False  # a file could not be read, so a name may seem undeclared that is not
        self.override = False  # whether the file that is read now overrides the others
        self.layouts: Dict[str, Layout] = {}

    def report(self, key: str, spot: Spot, *facts: object) -> None:
        """Note an error."""
        self.found.append(fault(key, *facts, spot=spot))

    def unexpected(self, name: str, spot: Spot, refused: Iterable[str], known: Iterable[str]) -> None:
        """Note a property that minigraph does not have, or that no block of this kind has."""
        if name in refused:
            self.report('minigraph does not support "{}"', spot, name, REFUSED[name])
        elif name not in known:
            self.report("Extraneous JSON object property", spot, name, did_you_mean(name, known))

    def templates(self, value: Value, spot: Spot) -> None:
        """Note what is more than plain references in the templates of a value: edges might be missing."""
        for trail, text in templates_in(value):
            try:
                parse_template(text)
            except OutsideSubset as error:
                where = spot._replace(pointer=spot.pointer + trail)
                self.found += [item._replace(spot=where) for item in error.diagnostics]
            except ConfigError:
                pass  # reported when the value is evaluated, after the search for cycles

    def span(self, spot: Spot) -> str:
        """Return the range of an earlier declaration, to name it in an error."""
        if spot.file not in self.layouts:
            self.layouts[spot.file] = Layout(spot.file, self.config.sources[spot.file])
        return self.layouts[spot.file].span(spot)

    def fits(self, first: Optional[Spot], duplicate: str, name: Spot, missing: str, body: Spot, *facts: object) -> bool:
        """Return whether a name is declared for the first time or, in an override file, was declared before."""
        if first and not self.override:
            self.report(duplicate, name, *facts, self.span(first))
        elif self.override and not first and not self.incomplete:
            self.report(missing, body, *facts)
        return self.override == bool(first)


def argument_spot(owner: Union[Resource, Output], *path: Union[str, int], part: str = "value") -> Spot:
    """Return the spot of an argument, of depends_on or of lifecycle, by name and then by child numbers."""
    found = owner.source.at(str(path[0]), part)
    return found._replace(pointer=found.pointer + tuple(int(number) for number in path[1:]))


def key_of(spot: Spot) -> Spot:
    """Return the spot of the key of a property."""
    return spot._replace(part="key")


def child(spot: Spot, number: int) -> Spot:
    """Return the spot of an element of an array, or of the value of a property."""
    return Spot(spot.file, (*spot.pointer, number))


def load_config(directory: str, sources: Optional[Dict[str, str]] = None) -> Config:
    """Return what the *.tf.json and *.tofu.json files of a directory (or the texts given) declare.

    Raises ConfigError with everything that is wrong in any file. What only a look at several blocks can tell
    (references, argument names) is checked later, after the search for cycles, as in the real engine.
    """
    import gc
    config = Config(directory, {} if sources is None else sources)
    reading = Reading(config)
    if sources is None:
        read_files(reading)
    enabled = gc.isenabled()
    gc.disable()  # it would search new objects for loops again and again: three times the time for a large file
    for file in sorted(config.sources, key=lambda name: (is_override(name), os.fsencode(name))):
        try:
            read_document(read_json(config.sources[file], file), Spot(file), reading)
        except ConfigError as error:
            reading.found += error.diagnostics
            reading.incomplete = True
    gc.freeze()
    if enabled:
        gc.enable()
    found = reading.found or reading.later
    if found:
        raise ConfigError(placed(found, config.sources))
    return config


def read_files(reading: Reading) -> None:
    """Read the files of the directory in byte order of their names; every bad byte is U+FFFD, as in the real engine."""
    config = reading.config
    try:
        with os.scandir(config.directory) as entries:
            found = {entry.name for entry in entries if not entry.is_dir(follow_symlinks=False)}
    except OSError as error:
        raise ConfigError(fault("Failed to read module directory", config.directory, error.strerror)) from None
    names = sorted((name for name in found if not re.fullmatch(r"(?s:\..*|.*~|#|#.*#)", name)), key=os.fsencode)
    native = [name for name in names if name.endswith((".tf", ".tofu"))]
    if native:
        config.warnings.append(Diagnostic(
            "Files in native syntax are not read", "minigraph reads *.tf.json and *.tofu.json only. What these files"
            f" declare is missing here: {', '.join(native)}.", severity="warning"))
    for name in names:
        hidden = name.endswith(".tf.json") and f"{name[:-8]}.tofu.json" in found
        if hidden or not name.endswith((".tf.json", ".tofu.json")):
            continue
        try:
            with open(os.path.join(config.directory, name), "rb") as file:
                data = file.read()
            config.sources[name] = data.decode()
        except OSError as error:
            reading.found.append(fault("Failed to read file", name, error.strerror))
        except UnicodeDecodeError:
            config.sources[name] = re.sub("[\udc80-\udcff]", "\ufffd", data.decode("utf-8", "surrogateescape"))


def is_override(file: str) -> bool:
    """Return whether a file overrides what the ordinary files declare."""
    stem = re.sub(r"\.(tf|tofu)\.json\Z", "", file)
    return stem == "override" or stem.endswith("_override")


def read_document(value: Value, spot: Spot, reading: Reading) -> None:
    """Add everything that one file declares to the configuration."""
    reading.override = is_override(spot.file)
    if not isinstance(value, (dict, list)):
        reading.report("Root value must be object", spot)
        return
    for name, block, where in properties(value, spot, CONTENTS_OF_BLOCK, reading):
        if name in BLOCK_READERS:
            BLOCK_READERS[name](block, where, reading)
        elif name == "required_providers":
            reading.report("Invalid required_providers block", key_of(where))
        elif name != "//":
            reading.unexpected(name, key_of(where), BLOCKS, BLOCKS)


def properties(value: Value, spot: Spot, purpose: str, reading: Reading) -> List[Tuple[str, Value, Spot]]:
    """Return the properties of an object, or of all objects in an array: the real engine flattens arrays."""
    objects, kinds = [(value, spot)], "Either a JSON object or JSON array of objects"
    if isinstance(value, list):
        objects, kinds = [(item, child(spot, number)) for number, item in enumerate(value)], "A JSON object"
    found: List[Tuple[str, Value, Spot]] = []
    for item, where in objects:
        if isinstance(item, dict):
            found += [(key, inner, child(where, number)) for number, (key, inner) in enumerate(items(item))]
        elif item is not None or where is not spot:
            reading.report("Incorrect JSON value type", where, kinds, purpose)
    return found


Labels = Tuple[Tuple[str, Spot], ...]  # each label of a block with its spot


def block_bodies(kind: str, labels: Sequence[str], value: Value, spot: Spot, reading: Reading,
                 used: Labels = ()) -> Iterator[Tuple[Labels, Value, Spot]]:
    """Yield labels, body and spot of every block: an object for each label, then one body or several.

    Where a body is a plain value, probably a level of names is missing.
    """
    name = used[-1][0] if used else ""
    hint = ' A "//" comment may stand inside a body only.' if name == "//" else ""
    if labels:
        count = len(reading.found)
        purpose = f"to specify {labels[0]} labels for this block.{hint}"[:-1]  # the message ends in a full stop
        found = properties(value, spot, purpose, reading)
        if not found and len(reading.found) == count:
            reading.report("Missing block label", spot, kind, labels[0])
        for label, inner, where in found:
            yield from block_bodies(kind, labels[1:], inner, where, reading, (*used, (label, where)))
    elif isinstance(value, dict):
        yield used, value, spot
    elif isinstance(value, list):
        for number, item in enumerate(value):
            yield used, item, child(spot, number)
    elif value is not None:
        if name and not hint:
            shape = '"TYPE": {"NAME": {...}}' if kind == "resource" else '"NAME": {"value": ...}'
            block = "resource" if kind == "resource" else "output"
            hint = f' "{name}" stands where the name of the {kind} is expected: {{"{block}": {{{shape}}}}}.'
        reading.report("Incorrect JSON value type/body", spot, kind, hint)


def read_body(value: Value, spot: Spot, reading: Reading) -> Body:
    """Return the settings of a block; several objects in an array make one body; no setting may repeat."""
    if type(value) is dict:
        return Body({k: v for k, v in value.items() if k != "//"} if "//" in value else value, spot, value)
    values: Dict[str, Value] = {}
    spots: Dict[str, Spot] = {}
    for name, item, where in properties(value, spot, CONTENTS_OF_BLOCK, reading):
        if name == "lifecycle" and name in values:
            reading.report("Duplicate lifecycle block", where, reading.span(spots[name]))
        elif name in values:
            reading.report("Duplicate argument", key_of(where), name, reading.span(key_of(spots[name])))
        elif name != "//":
            values[name], spots[name] = item, where
    return Body(values, spot, value, spots)


def read_resources(value: Value, spot: Spot, reading: Reading) -> None:
    """Add the resources of one "resource" property, or put what an override file says over them."""
    resources = reading.config.resources
    blocks = block_bodies("resource", ("type", "name"), value, spot, reading)
    for ((kind, kind_spot), (name, name_spot)), body, where in blocks:
        if not is_name(kind):
            reading.report("Invalid resource type name", key_of(kind_spot))
        elif kind not in SCHEMAS:
            reading.later.append(unknown_type(kind, key_of(kind_spot)))
        if not is_name(name):
            reading.report("Invalid resource name", key_of(name_spot))
        new = read_resource(kind, name, body, where, reading)
        base = resources.get(new.address)
        if reading.fits(base and base.spot, 'Duplicate resource "{0}" configuration', name_spot,
                        "Missing resource to override", where, kind, name):
            resources[new.address] = overridden(base, new) if base else new


def overridden(base: Resource, new: Resource) -> Resource:
    """Return a resource with a block of an override file over it: arguments and lifecycle settings one by one.

    As in the real engine replace_triggered_by is not taken over.
    """
    before, after = base.lifecycle, new.lifecycle
    given: Dict[str, Any] = {
        name: setting for name, setting in zip(LIFECYCLE_SETTINGS[:3], after)
        if setting is not None and getattr(before, name) != "all"}
    lifecycle = before._replace(spots={**before.spots, **after.spots}, **given)
    source = merged_body(base.source, new.source)
    return base._replace(body={**base.body, **new.body}, source=source, lifecycle=lifecycle)


def unknown_type(kind: str, spot: Spot) -> Diagnostic:
    """Return the error for a resource type, or a provider, that minigraph does not have."""
    provider, hint = kind.partition("_")[0], did_you_mean(kind, SCHEMAS)
    if provider in PROVIDER_SOURCES:
        return fault("Invalid resource type", PROVIDER_SOURCES[provider], kind, hint, spot=spot)
    return fault("Missing required provider", provider, ", ".join(sorted(SCHEMAS)), hint, spot=spot)


def read_resource(kind: str, name: str, value: Value, spot: Spot, reading: Reading) -> Resource:
    """Return a resource with its meta-arguments parted from its arguments."""
    body = read_body(value, spot, reading)
    arguments, depends_on, lifecycle = body.values, [], Lifecycle()
    if not META_ARGUMENTS.isdisjoint(arguments):
        for setting in arguments:
            if setting == "depends_on":
                depends_on = read_dependencies(body, reading)
            elif setting == "lifecycle":
                lifecycle = read_lifecycle(body, reading)
            elif setting in META_ARGUMENTS:
                reading.unexpected(setting, body.at(setting, "key"), META_ARGUMENTS, ())
        arguments = {key: item for key, item in arguments.items() if key not in META_ARGUMENTS}
    for argument, item in arguments.items():
        if item.__class__ is not str or "{" in item:
            reading.templates(item, body.at(argument))
    return Resource(f"{kind}.{name}", kind, name, arguments, depends_on, lifecycle, spot, body)


def elements(body: Body, name: str, reading: Reading) -> List[Tuple[Value, Spot]]:
    """Return the elements of a setting that must be a list, each with its spot; none where it is not set."""
    if name not in body.values:
        return []
    value, spot = body.values[name], body.at(name)
    if isinstance(value, list):
        return [(item, child(spot, number)) for number, item in enumerate(value)]
    reading.report("Invalid expression/list", spot)
    return []


def read_dependencies(body: Body, reading: Reading) -> List[Reference]:
    """Return the references of depends_on: a list of bare addresses of whole objects, not to be overridden."""
    found = []
    for item, spot in elements(body, "depends_on", reading):
        steps = static_steps(item, spot, reading)
        if not steps:
            continue
        reference = reference_of(item.strip(BLANK), steps)
        found.append(reference)
        known_before = reference.root in ("path", "terraform")
        if reference.indexed and reference.target and reference.root == "resource":
            reading.report("Unexpected resource instance key", spot, reference.target)
        elif (reference.target or known_before) and len(reference.steps) > known_before:
            reading.report("Invalid depends_on reference", spot)
    for number in range(len(found) if reading.override else 0):
        reading.report("Unsupported override", child(body.at("depends_on"), number))
    return found


def static_steps(item: Value, spot: Spot, reading: Reading) -> Steps:
    """Return the steps of a bare traversal; anything else is an error, likeliest an address with ${ } around it."""
    text = item.strip(BLANK) if isinstance(item, str) else ""
    steps, end = parse_traversal(text, static=True)
    if not steps or end < len(text):
        hint = " Write the bare address, without ${ }." if "${" in text else ""
        reading.report("Invalid expression/static", spot, hint)
    return steps if end == len(text) else []


def read_lifecycle(outer: Body, reading: Reading) -> Lifecycle:
    """Return the lifecycle settings of a resource: literals, and lists of bare references."""
    spot = outer.at("lifecycle")
    blocks = list(block_bodies("lifecycle", (), outer.values["lifecycle"], spot, reading))
    if not blocks:
        return Lifecycle()
    if len(blocks) > 1:
        reading.report("Duplicate lifecycle block", spot, reading.span(spot))
    body = read_body(blocks[0][1], blocks[0][2], reading)
    for name in body.values:
        refused = ("precondition", "postcondition", "destroy", "enabled")
        reading.unexpected(name, body.at(name, "key"), refused, LIFECYCLE_SETTINGS)
    return Lifecycle(
        literal_bool(body, "create_before_destroy", reading),
        literal_bool(body, "prevent_destroy", reading),
        read_ignored(body, reading),
        read_triggers(body, reading),
        {name: body.at(name) for name in body.values})


def literal_bool(body: Body, name: str, reading: Reading) -> Optional[bool]:
    """Return a truth value that must be written out: true, false, or one of these and 1, 0 as a string."""
    if name not in body.values:
        return None
    value = body.values[name]
    if isinstance(value, bool) or isinstance(value, str) and value in ("true", "1", "false", "0"):
        return value in (True, "true", "1")
    wrong = "null value is not allowed" if value is None else "bool required"
    if isinstance(value, str):
        wrong = "a bool is required"
        if value.lower() in ("true", "false"):
            wrong += f'; to convert from string, use lowercase "{value.lower()}"'
    reading.report("Unsuitable value type", body.at(name), wrong)
    return None


def read_ignored(body: Body, reading: Reading) -> Union[None, str, List[Steps]]:
    """Return what ignore_changes names: None, "all", or the steps to attributes and parts of them."""
    if body.values.get("ignore_changes") == "all":
        return "all"
    found: List[Steps] = []
    for item, spot in elements(body, "ignore_changes", reading):
        if isinstance(item, str) and item.strip(BLANK) == "*":
            reading.report("Invalid ignore_changes wildcard", body.at("ignore_changes"))
        else:
            found.append(static_steps(item, spot, reading))
    return found or None


def read_triggers(body: Body, reading: Reading) -> List[Reference]:
    """Return the references of replace_triggered_by: resources, or attributes of them."""
    found = []
    for item, spot in elements(body, "replace_triggered_by", reading):
        if not isinstance(item, str):
            reading.report("Invalid reference expression", spot)
        elif "${" not in item or static_steps(item, spot, reading):
            try:
                found.append(parse_reference(item))
                if found[-1].root != "resource":
                    reading.report("Invalid reference in replace_triggered_by expression", spot)
            except ConfigError as error:
                reading.found += [wrong._replace(spot=spot) for wrong in error.diagnostics]
    return found


def merged_body(base: Body, new: Body) -> Body:
    """Return a body with the settings of a second one put over it, each with its own spot."""
    spots = {name: body.at(name) for body in (base, new) for name in body.values}
    return Body({**base.values, **new.values}, base.spot, base.raw, spots)


def read_locals(value: Value, spot: Spot, reading: Reading) -> None:
    """Add the local values of one "locals" property: an object, or an array of objects."""
    known = reading.config.locals
    for _, body, where in block_bodies("locals", (), value, spot, reading):
        if not isinstance(body, dict):
            purpose = "setting the arguments for this block"
            reading.report("Incorrect JSON value type", where, "A JSON object", purpose)
            continue
        here: Dict[str, Spot] = {}
        for name, item, place in properties(body, where, "", reading):
            if name == "//":
                continue
            key, base = key_of(place), known.get(name)
            if not is_name(name):
                reading.report("Invalid local value name", key)
            reading.templates(item, place)
            if name in here:
                reading.report("Duplicate attribute definition", key, name, reading.span(key_of(here[name])))
                continue
            here[name] = place
            fits = reading.fits(base and key_of(base.spot), "Duplicate local value definition", key,
                                "Missing base local value definition to override", key, name)
            if fits or not base:
                known[name] = Local(name, item, place)


def read_outputs(value: Value, spot: Spot, reading: Reading) -> None:
    """Add the outputs of one "output" property, or put what an override file says over them."""
    outputs = reading.config.outputs
    for ((name, name_spot),), body, where in block_bodies("output", ("name",), value, spot, reading):
        if not is_name(name):
            reading.report("Invalid output name", key_of(name_spot))
        new = read_output(name, body, where, reading)
        base = outputs.get(name)
        if not reading.fits(base and base.source.spot, "Duplicate output definition", name_spot,
                            "Missing base output definition to override", where, name):
            continue
        if base:
            source, given = merged_body(base.source, new.source), new.source.values
            new = base._replace(
                value=source.values.get("value"), spot=source.at("value"), source=source,
                sensitive=new.sensitive if "sensitive" in given else base.sensitive,
                description=new.description if "description" in given else base.description)
        outputs[name] = new


def read_output(name: str, value: Value, spot: Spot, reading: Reading) -> Output:
    """Return an output; only an override file may leave out the value."""
    count = len(reading.found)
    body = read_body(value, spot, reading)
    for setting in body.values:
        if setting == "postcondition":
            reading.report("Postconditions are not allowed", body.at(setting, "key"))
        else:
            reading.unexpected(setting, body.at(setting, "key"), ("precondition",), OUTPUT_SETTINGS)
    if "value" in body.values:
        reading.templates(body.values["value"], body.at("value"))
    elif not reading.override and (isinstance(value, dict) or len(reading.found) == count):
        reading.report("Missing required argument", spot._replace(part="end"), "value")
    if literal_bool(body, "ephemeral", reading):
        reading.report("Ephemeral output not allowed", spot)
    description = body.values.get("description")
    if "description" in body.values and (description is None or isinstance(description, (list, dict))):
        wrong = "null value is not allowed" if description is None else "string required"
        reading.report("Unsuitable value type", body.at("description"), wrong)
    sensitive = bool(literal_bool(body, "sensitive", reading))
    depends_on = read_dependencies(body, reading)
    return Output(name, body.values.get("value"), sensitive, description, depends_on, body.at("value"), body)


def read_terraform(value: Value, spot: Spot, reading: Reading) -> None:
    """Check a "terraform" block: its requirements are taken as met, and state stays a local file.

    Another origin is refused for a provider that minigraph has.
    """
    for _, settings, where in block_bodies("terraform", (), value, spot, reading):
        body = read_body(settings, where, reading)
        for name, item in body.values.items():
            if name == "backend":
                for ((kind, _),), inner, _ in block_bodies("backend", ("type",), item, body.at(name), reading):
                    if kind != "local" or inner and (not isinstance(inner, dict) or inner.keys() - {"//"}):
                        reading.unexpected("backend", body.at(name, "key"), REFUSED, ())
            elif name == "required_providers":
                for _, wanted, there in block_bodies(name, (), item, body.at(name), reading):
                    for provider, needs, place in properties(wanted, there, CONTENTS_OF_BLOCK, reading):
                        source = needs.get("source") if isinstance(needs, dict) else None
                        if source and not str(source).endswith(PROVIDER_SOURCES.get(provider, "")):
                            reading.report('minigraph does not support "{}"', place, source,
                                           f'Its "{provider}" provider is {PROVIDER_SOURCES[provider]}.')
            else:
                reading.unexpected(name, body.at(name, "key"), REFUSED, TERRAFORM_SETTINGS)


def read_providers(value: Value, spot: Spot, reading: Reading) -> None:
    """Check "provider" blocks: those of minigraph's own providers may stand there empty."""
    for ((name, name_spot),), settings, where in block_bodies("provider", ("name",), value, spot, reading):
        body = read_body(settings, where, reading)
        if name not in PROVIDER_SOURCES:
            reading.later.append(unknown_type(name, key_of(name_spot)))
        for setting in body.values:
            reading.report('minigraph does not support "{}"', body.at(setting, "key"), setting,
                           "The providers take no settings: leave the block empty.")


BLOCK_READERS: Dict[str, Callable[[Value, Spot, Reading], None]] = {
    "resource": read_resources, "locals": read_locals, "output": read_outputs, "terraform": read_terraform,
    "provider": read_providers}


# --------------------------------------------------------------------------------------
# references
# Reference("local.nope", ...)  ->  Diagnostic("Reference to undeclared local value", ...)
# --------------------------------------------------------------------------------------

ROOT_HINTS = {
    "local": " A local value is referred to as local.NAME.",
    "locals": " A local value is referred to as local.NAME.",
    "vars": " There are no input variables here: use local.NAME.",
    "variable": " There are no input variables here: use local.NAME.",
    "output": " Outputs cannot be referred to: use what the output's own value refers to.",
    "outputs": " Outputs cannot be referred to: use what the output's own value refers to.",
    "env": " The environment cannot be read here: put the value into locals.",
}
NAMES_COMPARED = 2_000  # with more candidates no near name is looked for: each error would take a while


KNOWN_BEFORE = {"path": ("module", "root", "cwd"), "terraform": ("workspace",)}  # before anything runs
NOT_HERE = {  # what has no meaning in what minigraph reads  ->  the error, what would be needed
    "var": ("Reference to undeclared input variable", "variable"),
    "module": ("Reference to undeclared module", "module"),
    "each.key": ('Reference to "each" in context without for_each', "for_each"),
    "each.value": ('Reference to "each" in context without for_each', "for_each"),
    "count.index": ('Reference to "count" in non-counted context', "count")}


def check_reference(reference: Reference, config: Config, owner: str) -> Optional[Diagnostic]:
    """Return what is wrong with a reference in the configuration of ``owner`` (an address), or None."""
    root, target, steps = reference.root, reference.target, reference.steps
    name = str(steps[0]) if steps else ""
    if root == "resource":
        return check_resource_reference(reference, config)
    if root == "local" and target:
        if target == owner:
            return fault("Self-referencing local value", owner)
        name = target[len("local."):]
        near = config.locals if len(config.locals) <= NAMES_COMPARED else ()
        return None if name in config.locals else fault(
            "Reference to undeclared local value", name, did_you_mean(name, near))
    if root in RESERVED or root == "self":
        return fault('Invalid "self" reference' if root == "self" else "Reserved symbol name", root)
    if root in ("data", "ephemeral"):
        what, article = ("data source", "A data") if root == "data" else ("ephemeral resource", "An ephemeral")
        if len(steps) < 2:
            return fault("Invalid reference/two", root, what, "resource")
        return fault("Reference to undeclared resource", article, name, steps[1], " " + REFUSED[root])
    if root == "local" or not steps or reference.indexed:
        return fault("Invalid reference/index" if steps else "Invalid reference/direct",
                     re.split(r"[.\s\[]", reference.text)[0])
    summary, needed = NOT_HERE.get(root) or NOT_HERE.get(f"{root}.{name}") or ("", "")
    if needed:
        return fault(summary, name, " " + REFUSED[needed])
    known = KNOWN_BEFORE.get(root, ())
    hint = did_you_mean(name, known) or f" It has: {', '.join(known)}." * bool(known)
    return None if name in known else fault('Invalid "{0}" attribute', root, name, hint)


def check_resource_reference(reference: Reference, config: Config) -> Optional[Diagnostic]:
    """Return what is wrong with TYPE.NAME and the attribute behind it."""
    address, steps = reference.target, reference.steps
    if not address:
        key = "Invalid reference" + "/two" * bool(re.match(r"resource\b", reference.text))
        return fault(key, "resource", "resource", "resource")
    resource = config.resources.get(address)
    if resource is None:
        kind, _, name = address.partition(".")
        near = config.resources if len(config.resources) <= NAMES_COMPARED else ()
        hint = ROOT_HINTS.get(kind.lower()) or did_you_mean(address, near)
        return fault("Reference to undeclared resource", "A managed", kind, name, hint)
    if reference.indexed:
        return fault("Unexpected resource instance key", address)
    attributes = SCHEMAS[resource.type].attributes
    if not steps or steps[0] in attributes:
        return None
    key = "Invalid resource count attribute" if steps[0] == "count" else "Unsupported attribute"
    return fault(key, steps[0], did_you_mean(str(steps[0]), attributes))


def unknown_arguments(resource: Resource) -> List[Diagnostic]:
    """Return the errors for names that the resource's type does not have; a null value does not excuse them.

    The real engine asks this of a resource only when its references are right. Warnings come along for
    ignore_changes elements that have no effect.
    """
    schema, lifecycle = SCHEMAS[resource.type], resource.lifecycle
    found = []
    for name in resource.body:
        if name not in schema.arguments and name not in schema.computed:
            hint = (f' Did you mean "{name}" inside "lifecycle"?' if name in LIFECYCLE_SETTINGS else
                    did_you_mean(name, [*schema.arguments, *schema.computed, "depends_on", "lifecycle"]))
            found.append(fault("Unsupported argument", name, hint, spot=argument_spot(resource, name, part="key")))
    for number, steps in enumerate(lifecycle.ignore_changes if isinstance(lifecycle.ignore_changes, list) else []):
        name = str(steps[0][0])
        if name not in schema.arguments:
            computed = name in schema.computed
            problem = fault("Redundant ignore_changes element" if computed else "Unsupported attribute", name,
                            did_you_mean(name, schema.attributes),
                            spot=child(lifecycle.spots["ignore_changes"], number))
            found.append(problem._replace(severity="warning") if computed else problem)
    return [problem._replace(address=resource.address) for problem in found]


def prefixed(error: ConfigError, where: str) -> ConfigError:
    """Return an error that says in its first words where it was found."""
    first = error.diagnostics[0]
    return type(error)(first._replace(summary=f"{where}: {first.summary}")) if where else error


def template_parts(text: str, where: str = "") -> List[Tuple[str, str]]:
    """Return a template as ("lit", text) and ("ref", expression) pairs."""
    try:
        return [("lit", part) if isinstance(part, str) else ("ref", part.text) for part in parse_template(text)]
    except ConfigError as error:
        raise prefixed(error, where) from None


def reference_target(expression: str, config: Config, where: str = "") -> Optional[str]:
    """Return the address that an expression names, None for what is known before anything runs."""
    try:
        reference = parse_reference(expression)
        problem = check_reference(reference, config, "")
        if problem and problem.summary == "Reference to undeclared resource" and reference.target:
            problem = Diagnostic(f"reference to undeclared resource {reference.target}")
        elif problem and problem.summary == "Unsupported attribute":
            problem = Diagnostic(f'unsupported attribute "{reference.steps[0]}" on {reference.target}')
        if problem:
            raise ConfigError(problem)
    except ConfigError as error:
        raise prefixed(error, where) from None
    return reference.target or None


def targets_of(value: Value, config: Config, where: str = "") -> Set[str]:
    """Return the addresses that the templates in a value name."""
    expressions = [expression for _, text in templates_in(value)
                   for kind, expression in template_parts(text, where) if kind == "ref"]
    return {target for target in (reference_target(item, config, where) for item in expressions) if target}


# ======================================================================================
# ORDER
# ======================================================================================

# --------------------------------------------------------------------------------------
# cycles, waves, paths
# {"a": {"b", "c"}, "b": {"d"}, "c": {"d"}}  ->  waves [["d"], ["b", "c"], ["a"]], critical path d, b, a
# Plain graphs: names are names here. One that is only needed, like "d", is a node that needs nothing.
# --------------------------------------------------------------------------------------

Edge = Tuple[str, str]  # a name and what it needs
LOOPS_A_TANGLE = 20  # more loops than that through one tangle are counted, not written out
SEARCH_BUDGET = 1_000_000  # edges looked at for short loops in one tangle: about a second


def invert(deps: Deps) -> Deps:
    """Return the same graph seen from the other end: each name with the names that need it."""
    needed_by: Deps = {node: set() for node in deps}
    for node, found in deps.items():
        for dep in found:
            if dep not in needed_by:
                needed_by[dep] = set()
            needed_by[dep].add(node)
    return needed_by


def waves(deps: Deps) -> List[List[str]]:
    """Return the waves: each sorted list needs only names in earlier lists (Kahn, O(V log V + E)).

    Raises CycleError, with the closed path of one loop, where no order exists.
    """
    needed_by: Dict[str, List[str]] = {node: [] for node in deps}  # lists: a third of the time of sets
    for node, found in deps.items():
        for dep in found:
            if dep not in needed_by:
                needed_by[dep] = []
            needed_by[dep].append(node)
    missing = {node: len(deps.get(node, ())) for node in needed_by}
    ready = [node for node, count in missing.items() if not count]
    result = []
    while ready:
        ready.sort()
        result.append(ready)
        released = []
        for node in ready:
            for dependent in needed_by[node]:
                missing[dependent] -= 1
                if not missing[dependent]:
                    released.append(dependent)
        ready = released
    if sum(map(len, result)) < len(needed_by):
        raise CycleError(find_cycle(deps) or [])
    return result


def topological_order(deps: Deps) -> List[str]:
    """Return all names so that each comes after everything it needs: the waves, one after the other."""
    return [node for wave in waves(deps) for node in wave]


def critical_path(deps: Deps) -> List[str]:
    """Return one longest chain of needs, first step first: with enough workers nothing can be faster.

    It is read backwards, from the last wave through a dependency in the wave before, smallest name first.
    """
    path: List[str] = []
    for wave in reversed(waves(deps)):
        path.append(min(deps[path[-1]].intersection(wave)) if path else wave[0])
    return path[::-1]


def reachable(deps: Deps, *nodes: str) -> Set[str]:
    """Return all that the nodes need, directly or not: a node itself only where something here needs it."""
    found: Set[str] = set()
    pending = list(nodes)
    while pending:
        new = deps.get(pending.pop(), set()) - found
        found |= new
        pending.extend(new)
    return found


def closure(deps: Deps, limit: int) -> Optional[Dict[str, Tuple[str, ...]]]:
    """Return each name with all that it needs, directly or not, sorted; None beyond ``limit`` entries."""
    result: Dict[str, Tuple[str, ...]] = {}
    interned: Dict[Tuple[str, ...], Tuple[str, ...]] = {}  # siblings with equal needs share one tuple
    total = 0
    order = topological_order(deps)
    number = {node: position for position, node in enumerate(order)}
    for node in order:
        found: Set[str] = set()
        merged = set()
        for dep in sorted(deps.get(node, ()), key=number.__getitem__, reverse=True):
            if dep not in found and id(result[dep]) not in merged:
                found.update(result[dep])
                merged.add(id(result[dep]))
            found.add(dep)
        total += len(found)
        if total > limit:
            return None
        needs = tuple(sorted(found))
        result[node] = interned.setdefault(needs, needs)
    return result


def shortest_path(deps: Deps, start: str, goal: str, most: int) -> Tuple[List[str], int]:
    """Return a shortest path of at most ``most`` edges, or [], and how many names were visited."""
    came_from = {start: start}
    layer = [start]
    for _ in range(most):
        if goal in came_from or not layer:
            break
        following = []
        for node in layer:
            for dep in sorted(deps[node]):
                if dep not in came_from:
                    came_from[dep] = node
                    following.append(dep)
        layer = following
    if goal not in came_from:
        return [], len(came_from)
    path = [goal]
    while path[-1] != start:
        path.append(came_from[path[-1]])
    return path[::-1], len(came_from)


def find_cycle(deps: Deps) -> Optional[List[str]]:
    """Return the closed path of the first loop (depth first, three colours, in name order), or None.

    A name is visiting while its needs are explored; to meet a visiting name again is to have walked in a
    circle, and the path holds it.
    """
    status: Dict[str, str] = {}
    for start in sorted(deps):
        if start in status:
            continue
        status[start] = "visiting"
        path, unexplored = [start], [iter(sorted(deps[start]))]
        while path:
            dep = next(unexplored[-1], None)
            if dep is None:
                status[path.pop()] = "done"
                unexplored.pop()
            elif dep not in status:
                status[dep] = "visiting"
                path.append(dep)
                unexplored.append(iter(sorted(deps.get(dep, ()))))
            elif status[dep] == "visiting":
                return path[path.index(dep):] + [dep]
    return None


def components(deps: Deps) -> List[List[str]]:
    """Return the strongly connected components, each after all that it needs (Tarjan, O(V + E))."""
    result: List[List[str]] = []
    low: Dict[str, int] = {}  # first the order of discovery, then the earliest open name that can be reached
    closed = sum(map(len, deps.values())) + len(deps)  # larger than any number
    unassigned: List[str] = []
    for start in deps:
        if start in low:
            continue
        low[start] = len(low)
        unassigned.append(start)
        path = [(start, low[start], iter(deps[start]))]
        while path:
            node, number, rest = path[-1]
            for dep in rest:
                if dep not in low:
                    low[dep] = len(low)
                    unassigned.append(dep)
                    path.append((dep, low[dep], iter(deps.get(dep, ()))))
                    break
                if low[dep] < low[node]:
                    low[node] = low[dep]
            else:
                path.pop()
                if path and low[node] < low[path[-1][0]]:
                    low[path[-1][0]] = low[node]
                if low[node] == number:
                    members = [unassigned.pop()]
                    while members[-1] != node:
                        members.append(unassigned.pop())
                    low.update(dict.fromkeys(members, closed))
                    result.append(members)
    return result


def tangles(deps: Deps) -> List[List[str]]:
    """Return the components that hold a loop, each sorted and all of them; none where an order exists."""
    return sorted(sorted(members) for members in components(deps)
                  if len(members) > 1 or members[0] in deps.get(members[0], ()))


def within(deps: Deps, members: Iterable[str]) -> Deps:
    """Return the part of a graph that connects the members."""
    together = frozenset(members)
    return {node: deps[node] & together for node in members}


def loop_edges(deps: Deps) -> Set[Edge]:
    """Return every edge that lies on a loop: both of its ends are in one tangle."""
    return {(node, dep) for members in tangles(deps)
            for node, found in within(deps, members).items() for dep in found}


def find_cycles(deps: Deps) -> List[List[str]]:
    """Return the loops as closed paths: a figure of eight is two; at most 20 a tangle. Near-linear."""
    return [loop for members in tangles(deps) for loop in tangle_loops(within(deps, members))[0]]


def tangle_loops(deps: Deps) -> Tuple[List[List[str]], int]:
    """Return closed paths, shortest first, until each edge of a tangle is on one; and how many are on none.

    Each is a shortest one through some edge: all loops would be exponentially many. The length that is
    searched for doubles, so that a loop of three is found before the one of forty around it.
    """
    uncovered = dict.fromkeys((node, dep) for node in sorted(deps) for dep in sorted(deps[node]))
    loops: List[List[str]] = []
    budget = SEARCH_BUDGET * len(deps) // len(uncovered)
    longest = 1
    while uncovered and len(loops) < LOOPS_A_TANGLE and (budget > 0 or not loops):
        longest = 2 * longest if budget > 0 else len(deps)
        for edge in list(uncovered):
            if edge not in uncovered:
                continue
            ring, visited = shortest_path(deps, edge[1], edge[0], longest - 1)
            budget -= visited
            if ring:
                first = ring.index(min(ring))
                loops.append([*ring[first:], *ring[:first], ring[first]])
                for step in zip(loops[-1], loops[-1][1:]):
                    uncovered.pop(step, None)
            if len(loops) == LOOPS_A_TANGLE or budget <= 0:
                break
    return sorted(loops, key=lambda loop: (len(loop), loop)), len(uncovered)


def common_edges(deps: Deps, loops: List[List[str]]) -> List[Edge]:
    """Return the edges of a tangle of several loops, each of which would break all of them if it went."""
    shared = set.intersection(*(set(zip(loop, loop[1:])) for loop in loops)) if len(loops) > 1 else set()
    return [edge for edge in sorted(shared)[:3]
            if not tangles({**deps, edge[0]: deps[edge[0]] - {edge[1]}})]


def contract(deps: Deps, keep: Iterable[str]) -> Deps:
    """Return the graph of the kept names alone; a path through the others becomes one edge.

    Sets of the others live only until their last use and move on where they can, so a hub, or a chain of
    locals that each add a name, takes no more memory than the result.
    """
    kept = frozenset(keep)
    others: Deps = {}  # only what the kept names lead to
    users: Dict[str, int] = {}
    pending = [dep for node, found in deps.items() if node in kept for dep in found - kept]
    while pending:
        node = pending.pop()
        users[node] = users.get(node, 0) + 1
        if node not in others:
            others[node] = deps.get(node, set()) - kept
            pending += others[node]
    through: Deps = {}
    for members in components(others):
        beyond: Set[str] = set()
        for member in members:
            beyond |= deps.get(member, set()) & kept
            for dep in deps.get(member, set()) & through.keys():
                users[dep] -= 1
                found = through[dep] if users[dep] else through.pop(dep)
                if not users[dep] and len(found) > len(beyond):
                    beyond, found = found, beyond
                beyond |= found
        through.update(dict.fromkeys(members, beyond))  # on a loop every set keeps a user, so none moves on
    return {node: (found & kept).union(*(through.get(dep, ()) for dep in found - kept))
            for node, found in deps.items() if node in kept}


# --------------------------------------------------------------------------------------
# the configuration graph
# input = "${local.l}" in a, l = "${terraform_data.b.id}"  ->  a needs local.l needs b, and why
# resources alone: a needs b
# --------------------------------------------------------------------------------------

LOOPS_SHOWN = 20
LOOP_END = 30  # names and edges of a long loop that are shown at either end
LONGEST_QUOTE = 80
TRIGGERS = "lifecycle.replace_triggered_by"

Origin = Union[Resource, Local, Output]


class Cause(NamedTuple):
    """Why an edge exists: what refers (``written``: the text as it stands), in which argument, how deep (``trail``).

    Its argument path and spot are worked out only when they are shown: most causes never are.
    """

    origin: Origin
    name: str
    value: Value
    trail: Tuple[int, ...]
    written: str
    reference: Reference

    @property
    def explicit(self) -> bool:
        """Whether depends_on alone makes the edge."""
        return self.name == "depends_on" and self.value is None

    @property
    def text(self) -> str:
        """The text that refers; of a long one only the reference."""
        return self.written if len(self.written) <= LONGEST_QUOTE else f"...${{{self.reference.text}}}..."

    @property
    def spot(self) -> Optional[Spot]:
        """Where the text stands."""
        if isinstance(self.origin, Local):
            return Spot(self.origin.spot.file, self.origin.spot.pointer + self.trail)
        if isinstance(self.origin, Resource) and self.name == TRIGGERS:
            return child(self.origin.lifecycle.spots["replace_triggered_by"], *self.trail)
        return argument_spot(self.origin, self.name, *self.trail)

    @property
    def argument(self) -> str:
        """The path of the argument: input.x[0]."""
        path, value = self.name, self.value
        for number in () if value is None else self.trail:
            if isinstance(value, list):
                path += f"[{number}]"
                value = value[number]
            else:
                key, value = list(items(value))[number]
                path += f".{key}" if key.replace("-", "_").isidentifier() else f'["{key}"]'
        return path


class Causes(Mapping[Edge, Cause]):
    """The cause of every edge, looked up in the configuration when asked for: two million would take 800 MB."""

    def __init__(self, config: Config, deps: Deps) -> None:
        self.config, self.deps = config, deps

    def __getitem__(self, edge: Edge) -> Cause:
        return next(cause for cause in uses(origin_of(self.config, edge[0])) if cause.reference.target == edge[1])

    def __iter__(self) -> Iterator[Edge]:
        return ((node, need) for node, found in self.deps.items() for need in found)

    def __len__(self) -> int:
        return sum(map(len, self.deps.values()))

    def explicit(self) -> Set[Edge]:
        """Return the edges that depends_on alone makes."""
        found: Set[Edge] = set()
        origins: Dict[str, Union[Resource, Output]] = dict(self.config.resources)
        origins.update((f"output.{name}", output) for name, output in self.config.outputs.items())
        for address, origin in origins.items():
            if origin.depends_on:
                others = {cause.reference.target for cause in uses(origin) if not cause.explicit}
                found |= {(address, need) for need in self.deps[address] - others}
        return found


def origin_of(config: Config, address: str) -> Origin:
    """Return the resource, local or output of an address."""
    kind, _, name = address.partition(".")
    if kind == "local":
        return config.locals[name]
    return config.outputs[name] if kind == "output" else config.resources[address]


def config_graph(config: Config) -> Tuple[Deps, Causes]:
    """Return what each resource, local and output needs, and the first cause of every edge.

    As in the real engine: a reference at any depth, in keys too, and in replace_triggered_by and depends_on;
    whoever names a local takes all of it. A name's reference to itself, or to nothing, makes no edge.
    """
    names = [*config.resources, *(f"local.{name}" for name in config.locals)]
    targets = frozenset(names)  # no outputs: ${output.o} is read as a resource of type output
    deps: Deps = {}
    for address in [*names, *(f"output.{name}" for name in config.outputs)]:
        found = {cause.reference.target for cause in uses(origin_of(config, address))}
        deps[address] = (found & targets) - {address}
    return deps, Causes(config, deps)


def uses(origin: Origin) -> Iterator[Cause]:
    """Yield the references of one object; depends_on last: an edge is explicit if nothing else makes it."""
    if isinstance(origin, Resource):
        arguments = origin.body
    else:
        arguments = {origin.name if isinstance(origin, Local) else "value": origin.value}
    for name, value in arguments.items():
        for trail, text, reference in references_in(value):
            yield Cause(origin, name, value, trail, text, reference)
    if isinstance(origin, Resource):
        for number, reference in enumerate(origin.lifecycle.replace_triggered_by):
            yield Cause(origin, TRIGGERS, None, (number,), reference.text, reference)
    if not isinstance(origin, Local):
        for number, reference in enumerate(origin.depends_on):
            yield Cause(origin, "depends_on", None, (number,), reference.text, reference)


def resource_graph(config: Config, deps: Optional[Deps] = None) -> Deps:
    """Return what each resource needs of the other resources; locals are looked through."""
    return contract(config_graph(config)[0] if deps is None else deps, config.resources)


def explicit_edges(deps: Deps, causes: Causes, contracted: Deps) -> Set[Edge]:
    """Return the edges of a contracted graph that only depends_on entries make."""
    explicit = causes.explicit()
    implicit = {node: {dep for dep in found if (node, dep) not in explicit} for node, found in deps.items()}
    rest = contract(implicit, contracted)
    return {(node, dep) for node, found in contracted.items() for dep in found - rest.get(node, set())}


def cycle_error(config: Config, deps: Deps, causes: Causes) -> Optional[CycleError]:
    """Return the error that shows every loop with the argument behind each of its edges, or None."""
    loops: List[Tuple[List[str], List[Edge]]] = []
    left = 0
    for members in tangles(deps):
        tangle = within(deps, members)
        found, uncovered = tangle_loops(tangle)
        breaking = common_edges(tangle, found)
        loops += [(loop, breaking) for loop in found]
        left += uncovered
    if not loops:
        return None
    loops.sort(key=lambda item: (len(item[0]), item[0]))
    shown = [(loop, breaking, notable_edges(loop, causes)) for loop, breaking in loops[:LOOPS_SHOWN]]
    labels = {" ".join(edge): edge for _, _, edges in shown for edge in edges}
    found_places = placed([Diagnostic(label, spot=causes[edge].spot) for label, edge in labels.items()], config.sources)
    places = {labels[item.summary]: f" ({item.place.file}:{item.place.line})" for item in found_places if item.place}
    diagnostics = []
    for loop, breaking, edges in shown:
        more = len(loop) - 2 * LOOP_END
        names = loop if more <= 0 else [*loop[:LOOP_END], f"({more} more names)", *loop[-LOOP_END:]]
        diagnostics.append(Diagnostic("Cycle: " + " -> ".join(names), loop_detail(loop, breaking, edges, causes, places)))
    hidden = len(loops) - len(shown)
    if left or hidden:
        diagnostics.append(Diagnostic("More cycles", (
            f"Not shown: {hidden} more loops, and all that go through {left} edges on none of those. "
            "Break the ones above first.")))
    return CycleError(loops[0][0], diagnostics)


def notable_edges(loop: List[str], causes: Causes) -> List[Edge]:
    """Return the edges of a closed path, of a long one those at both ends and explicit ones between."""
    edges = list(zip(loop, loop[1:]))
    if len(edges) <= 2 * LOOP_END:
        return edges
    explicit = [edge for edge in edges[LOOP_END:-LOOP_END] if causes[edge].explicit]
    return [*edges[:LOOP_END], *explicit[:LOOP_END], *edges[-LOOP_END:]]


def loop_detail(loop: List[str], breaking: List[Edge], edges: List[Edge], causes: Causes, places: Dict[Edge, str]) -> str:
    """Return one line an edge with the argument that causes it, and how to break the loop."""
    lines = []
    for edge in edges:
        cause = causes[edge]
        quote = encode_basestring(cause.text)
        if cause.explicit or cause.name == TRIGGERS:
            quote = f"[{quote}]"
        note = ", which can simply be removed" if cause.explicit else ""
        lines.append(f"{edge[0]} needs {edge[1]}: {cause.argument} = {quote}{places.get(edge, '')}{note}")
    if len(edges) < len(loop) - 1:
        lines.append(f"({len(loop) - 1 - len(edges)} more edges)")
    hint = "No order exists: each of these needs the next one first. " + (
        "Remove a depends_on entry that is marked above." if any(causes[edge].explicit for edge in edges) else
        "Break it at one edge: let both sides read a common local value, or split a resource in two. "
        "depends_on cannot help, it only adds edges.")
    if breaking:
        hint += f" Every loop here goes through {', '.join(map(' -> '.join, breaking))}."
    return "\n".join([*lines, "", hint])


# --------------------------------------------------------------------------------------
# transitive reduction and pictures
# {"a": {"b", "c"}, "b": {"c"}, "c": set()}  ->  {"a": {"b"}, "b": {"c"}, "c": set()}  ->  digraph G { ... }
# --------------------------------------------------------------------------------------

BLOCK = 4096  # targets that are looked at together, one bit each


def transitive_reduction(deps: Deps) -> Deps:
    """Return the graph without the edges that a longer path implies; one with a loop is returned as it is.

    An edge can be implied only if its target stands on a lower level than another direct need. Such edges
    are decided for a block of targets at a time. O(V + E) where edges span few levels; at worst
    V / 4096 passes over the graph, and 512 bytes a name.
    """
    reduced = {node: set(found) for node, found in deps.items()}
    try:
        level = levels(deps)
    except CycleError:
        return reduced
    order = sorted(level, key=level.__getitem__)
    height = [level[node] for node in order]
    number = {node: position for position, node in enumerate(order)}
    needs = [[number[dep] for dep in deps.get(node, ())] for node in order]
    doubtful: Dict[int, int] = {}  # block of targets -> the last name whose edge into it may be implied
    for position, direct in enumerate(needs):
        highest = height[max(direct)] if direct else 0
        if direct and height[min(direct)] < highest:
            doubtful.update((target // BLOCK, position) for target in direct if height[target] < highest)
    for block, last in doubtful.items():
        for position, target in implied_edges(needs, block * BLOCK, last):
            reduced[order[position]].discard(order[target])
    return reduced


def levels(deps: Deps) -> Dict[str, int]:
    """Return a level for every name: above all that it needs, and close under what needs it."""
    level: Dict[str, int] = {}
    for number, wave in reversed(list(enumerate(waves(deps)))):
        for node in wave:
            own = level.setdefault(node, number)
            for dep in deps.get(node, ()):
                if level.get(dep, own) >= own:
                    level[dep] = own - 1
    return level


def implied_edges(needs: List[List[int]], start: int, last: int) -> Iterator[Tuple[int, int]]:
    """Yield the edges into one block of targets that a longer path implies, for sources up to ``last``.

    ``reach`` holds, for every name from ``start`` on, the targets behind it as the bits of one integer.
    """
    bits = [1 << place for place in range(BLOCK)]
    reach: List[int] = []
    for position in range(start, last + 1):
        direct = beyond = 0
        for target in needs[position]:
            if target >= start:
                beyond |= reach[target - start]
                if target - start < BLOCK:
                    direct |= bits[target - start]
        reach.append(direct | beyond)
        if direct & beyond:
            for target in needs[position]:
                if 0 <= target - start < BLOCK and beyond & bits[target - start]:
                    yield position, target


def render_dot(deps: Deps, explicit: Iterable[Edge] = (), red: Iterable[Edge] = ()) -> str:
    """Return the graph in DOT, laid out as terraform does; explicit edges dashed, loop edges red."""
    order = sorted(set(deps).union(*deps.values()), key=sort_key)
    rank = {node: position for position, node in enumerate(order)}
    name = [go_quoted(node, "\\u%04x") for node in order]
    styles = dict.fromkeys(red, 'color = "red", penwidth = "2.0"')
    for edge in explicit:
        styles[edge] = f'style = "dashed", {styles[edge]}' if edge in styles else 'style = "dashed"'
    lines = ["digraph G {", '  rankdir = "RL";', '  node [shape = rect, fontname = "sans-serif"];']
    lines += [f"  {quoted} [label={quoted}];" for quoted in name] or [
        "  /* This configuration does not contain any resources.         */",
        "  /* For a more detailed graph, try: minigraph graph -type=plan */"]
    for node, quoted in zip(order, name):
        for position in sorted([rank[dep] for dep in deps.get(node, ())]):
            style = styles.get((node, order[position]))
            lines.append(f"  {quoted} -> {name[position]}" + (f" [{style}];" if style else ";"))
    return "\n".join([*lines, "}", ""])


def sort_key(address: str) -> Tuple[str, str]:
    """Return the sort key of an address in every list of the real tool: by type, then by name."""
    kind, _, name = address.partition(".")
    return kind, name


GO_LETTERS = {character: f"\\{letter}" for character, letter in zip('\a\b\f\n\r\t\v"\\', 'abfnrtv"\\')}


def go_quoted(text: str, control: str = "\\x%02x") -> str:
    """Return the text in double quotes with Go's escapes (``%q``), control characters in the form given."""
    if text.isprintable() and '"' not in text and "\\" not in text:
        return f'"{text}"'
    return '"' + "".join(
        GO_LETTERS.get(one) or (
            one if one.isprintable() else
            (control if one < "\x80" else "\\u%04x" if one < "\U00010000" else "\\U%08x") % ord(one))
        for one in text) + '"'


# ======================================================================================
# PLAN
# ======================================================================================

# --------------------------------------------------------------------------------------
# state
# {"version": 4, "resources": [{"type": "local_file", "name": "a", ...}]}  <->  State.objects["local_file.a"]
# --------------------------------------------------------------------------------------

RECORDED_LIMIT = 1_000_000  # entries of transitive dependencies in one file; beyond it the direct sets are kept
DEPENDENCY_FORM = "minigraph_dependencies"  # top-level key of a state file that holds direct sets
TERRAFORM_VERSION = "1.11.4"  # the file format that is written is the one of this release
INSTANCE_KEYS = frozenset(("status", "deposed", "schema_version", "attributes", "sensitive_attributes",
                           "dependencies", "create_before_destroy"))


class Instance(NamedTuple):
    """One object that exists, as a state file records it.

    ``attributes`` are decoded values (dynamic ones unwrapped), ``sensitive`` the paths marked in
    ``sensitive_attributes``, ``extra`` the keys of the file that are only carried along.
    """

    type: str
    attributes: Dict[str, Value]
    tainted: bool = False
    dependencies: Tuple[str, ...] = ()
    create_before_destroy: bool = False
    sensitive: Tuple[Path, ...] = ()
    provider: str = ""
    schema_version: int = 0
    extra: Optional[Dict[str, Value]] = None


class OutputValue(NamedTuple):
    """A root output value and whether it is sensitive."""

    value: Value
    sensitive: bool = False


class State:
    """A state file in memory: ``objects`` by address, ``deposed`` by address and key, ``outputs`` by name.

    ``foreign`` holds the resource entries that minigraph does not understand, as they were read: they are
    written back unchanged. ``direct`` says that recorded dependencies are reduced direct sets, not closures.
    """

    def __init__(self, lineage: str = "", serial: int = 0) -> None:
        self.lineage, self.serial = lineage, serial
        self.terraform_version = TERRAFORM_VERSION
        self.objects: Dict[str, Instance] = {}
        self.deposed: Dict[str, Dict[str, Instance]] = {}
        self.outputs: Dict[str, OutputValue] = {}
        self.foreign: List[Dict[str, Value]] = []
        self.check_results: Value = None
        self.direct = False
        self.users: Dict[str, Set[str]] = {}

    def index_users(self) -> None:
        """Note who needs whom, where recorded sets are direct and have to be handed down."""
        self.users = invert({address: set(item.dependencies) for address, item in self.objects.items()}) if self.direct else {}

    def copy(self) -> "State":
        """Return a state that can change without this one changing; instances are immutable and shared."""
        twin = State(self.lineage, self.serial)
        twin.terraform_version, twin.check_results, twin.direct = self.terraform_version, self.check_results, self.direct
        twin.objects, twin.outputs, twin.foreign = dict(self.objects), dict(self.outputs), list(self.foreign)
        twin.deposed = {address: dict(found) for address, found in self.deposed.items()}
        return twin

    def set_output(self, name: str, value: Value, sensitive: bool) -> None:
        """Store the value of an output; a null is not stored, and one that is not known yet changes nothing."""
        if value is None:
            self.outputs.pop(name, None)
        elif is_known(value):
            self.outputs[name] = OutputValue(value, sensitive)

    def every_object(self) -> List[Tuple[str, str, Instance]]:
        """Return (address, "", instance) of all current objects, then (address, key, instance) of the deposed ones."""
        return [(address, "", instance) for address, instance in self.objects.items()] + [
            (address, key, instance) for address, found in self.deposed.items() for key, instance in found.items()]

    def holds_nothing(self) -> bool:
        """Return whether there is no object and no output to lose."""
        return not (self.objects or self.deposed or self.outputs or self.foreign)


def read_state(text: str, path: str) -> State:
    """Return the state in ``text``; an empty text is an empty state. StateError names ``path`` and what is wrong."""
    if not text.strip():
        return State()
    raw = state_json(text, path)
    state = State(raw.get("lineage", ""), raw["serial"])
    state.terraform_version = raw.get("terraform_version", TERRAFORM_VERSION)
    state.check_results = raw.get("check_results")
    state.direct = raw.get(DEPENDENCY_FORM) == "direct"
    address = "outputs"
    try:
        for address, output in raw.get("outputs", {}).items():
            state.outputs[address] = OutputValue(decode(output["value"], output["type"]), bool(output.get("sensitive")))
        for entry in raw.get("resources", []):
            address = f"{entry['type']}.{entry['name']}"
            read_resource_entry(state, entry, address)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as problem:
        found = (f"a required key {problem} is missing" if isinstance(problem, KeyError) else "an object, a list or a text is not"
                 " where one belongs" if isinstance(problem, (TypeError, AttributeError)) else str(problem))
        raise state_error(path, f"The entry of {address} cannot be read: {found}.") from None
    return state


def state_error(path: str, detail: str) -> StateError:
    """Return the refusal of a state file, which stays as it is."""
    return StateError("Unsupported state file format", f"{path}: {detail} The file was left as it is.")


def state_json(text: str, path: str) -> Dict[str, Value]:
    """Return the top-level object of a version 4 state file whose outermost keys have the right types."""
    import json
    try:
        raw = exact_json(text)
    except json.JSONDecodeError as problem:
        offset = len(text[:problem.pos].encode("utf-8", "replace"))
        raise state_error(path, f"The state file could not be parsed as JSON: {problem.msg} at byte offset {offset}"
                                f" (line {problem.lineno}).") from None
    except RecursionError:
        raise state_error(path, "The state file is nested too deeply.") from None
    except (ValueError, ArithmeticError) as problem:
        raise state_error(path, f"The state file holds a value that cannot be read: {problem}.") from None
    if not isinstance(raw, dict):
        raise state_error(path, "The state file does not hold a JSON object.")
    if "version" not in raw:
        raise state_error(path, 'The state file does not have a "version" attribute, which is required to identify'
                                " the format version.")
    if not same(raw["version"], 4):
        raise state_error(path, f"The state file uses format version {raw['version']}; minigraph reads and writes"
                                " version 4 only.")
    shapes = {"serial": int, "lineage": str, "terraform_version": str, "outputs": dict, "resources": list}
    for key, kind in shapes.items():
        if raw.get(key) is None:
            raw.pop(key, None)
        elif type(raw[key]) is not kind or (key == "serial" and raw[key] < 0):
            raise state_error(path, f'"{key}" is not what it should be ({kind.__name__}), but {type(raw[key]).__name__}.')
    raw.setdefault("serial", 0)
    return raw


def exact_json(text: str) -> Value:
    """Return a JSON document with exact numbers; a lone surrogate, which no file can hold, becomes U+FFFD.

    Raises ValueError, ArithmeticError or RecursionError where it is none.
    """
    import json
    value = json.loads(text, parse_float=state_number, parse_int=state_number, parse_constant=refuse_constant)
    return cleaned(value) if re.search(r"\\u[dD][89a-fA-F]", text) else value


def state_number(text: str) -> Union[int, Decimal]:
    """Return a JSON number exactly: an int where it is a whole number of moderate size, else a Decimal."""
    if len(text) < 16 and text != "-0":
        try:
            return int(text)
        except ValueError:
            pass
    return read_number(text)


def read_resource_entry(state: State, entry: Dict[str, Value], address: str) -> None:
    """Put one entry of "resources" into the state: understood ones decoded, all others carried as they are."""
    mode, instances = entry["mode"], entry["instances"]
    if not all(isinstance(entry.get(key, ""), str) for key in ("module", "mode", "type", "name")):
        raise ValueError("its module, mode, type and name are not all strings")
    known = entry["type"] in SCHEMAS and mode == "managed" and "module" not in entry
    if not known or any("index_key" in instance for instance in instances):
        state.foreign.append(entry)
        return
    if address in state.objects or address in state.deposed:
        raise ValueError("it stands in the file twice")
    for raw in instances:
        key = raw.get("deposed", "")
        instance = read_instance(entry["type"], raw, entry["provider"])
        if not key:
            if address in state.objects:
                raise ValueError("it has two current objects")
            state.objects[address] = instance
        elif re.fullmatch("[0-9a-f]{8}", key) and key not in state.deposed.get(address, ()):
            state.deposed.setdefault(address, {})[key] = instance
        else:
            raise ValueError(f"{key!r} is not the key of one deposed object")


def read_instance(type_name: str, raw: Dict[str, Value], provider: str) -> Instance:
    """Return one entry of "instances" decoded; ValueError says what does not fit the schema of its type."""
    status = raw.get("status")
    if status not in (None, "tainted"):
        raise ValueError(f'the status {status!r} is not "tainted"')
    if not isinstance(provider, str) or not provider:
        raise ValueError("it names no provider")
    version = raw.get("schema_version", 0)
    if version != 0:
        raise ValueError(f"schema_version {version} comes from a newer provider; minigraph knows version 0")
    dependencies = raw.get("dependencies") or ()
    if not all(type(item) is str for item in dependencies):
        raise ValueError("dependencies are not a list of addresses")
    extra = {key: value for key, value in raw.items() if key not in INSTANCE_KEYS}
    return Instance(
        type_name, read_attributes(type_name, raw["attributes"]), status == "tainted", tuple(dependencies),
        raw.get("create_before_destroy") is True, read_paths(raw.get("sensitive_attributes")), provider, 0, extra or None)


SCALAR_TEXT: Dict[type, Callable[[Any], str]] = {
    str: encode_basestring, int: str, Decimal: number_text, type(None): lambda _: "null",
    bool: lambda value: "true" if value else "false"}
SORTED_KINDS = {name: sorted(schema.kinds.items()) for name, schema in SCHEMAS.items()}


def read_attributes(type_name: str, raw: Dict[str, Value]) -> Dict[str, Value]:
    """Return every attribute of the schema: missing ones null, unknown ones dropped, dynamic ones unwrapped."""
    attributes: Dict[str, Value] = {}
    for name, kind in SORTED_KINDS[type_name]:
        value = raw.get(name)
        if value is None:
            attributes[name] = None
        elif kind == "dynamic":
            if not isinstance(value, dict) or set(value) != {"value", "type"}:
                raise ValueError(f'attribute "{name}" is not written as {{"value": ..., "type": ...}}')
            attributes[name] = decode(value["value"], value["type"])
        elif kind == "map":
            attributes[name] = decode(value, ["map", "string"])
        else:
            attributes[name] = decode(value, kind)
    return attributes


def decode(value: Value, kind: Value) -> Value:
    """Return the value that a state file writes as ``value`` of the type ``kind``; ValueError where they disagree."""
    if value is None:
        return None if kind == "dynamic" else Typed(None, kind)
    if kind == "string" and type(value) is str:
        return value
    if kind in ("string", "number", "bool"):
        value = state_number(value) if kind == "number" and type(value) is str else value
        if type(value) not in ((bool,) if kind == "bool" else (int, Decimal) if kind == "number" else (bool, int, Decimal)):
            raise ValueError(f"{value!r} is not a {kind}")
        return SCALAR_TEXT[type(value)](value) if kind == "string" else value
    if isinstance(kind, list) and len(kind) == 2:
        if kind[0] == "tuple" and len(kind[1]) == len(value) and type(value) is list:
            return [decode(item, item_kind) for item, item_kind in zip(value, kind[1])]
        if kind[0] == "object" and kind[1].keys() == value.keys():
            return {key: decode(value[key], kind[1][key]) for key in value}
        if kind == ["map", "string"]:
            return Map({key: None if item is None else decode(item, "string") for key, item in value.items()})
        if kind[0] in ("map", "list", "set"):
            return Typed(value, kind)
    raise ValueError(f"{value!r} is not of the type {kind!r}")


def plain(value: Value) -> Value:
    """Return a value as JSON shows it: without Typed and Map wrappers at any depth."""
    if isinstance(value, Typed):
        return value.value
    if isinstance(value, dict):
        return {key: plain(item) for key, item in value.items()}
    return [plain(item) for item in value] if isinstance(value, list) else value


def read_paths(raw: Value) -> Tuple[Path, ...]:
    """Return the paths of "sensitive_attributes" ([[{"type": "get_attr", "value": "content"}]] -> (("content",),))."""
    paths = tuple(tuple(step["value"]["value"] if step["type"] == "index" else step["value"] for step in path)
                  for path in raw or ())
    if not all(path and type(path[0]) is str and {*map(type, path)} <= {str, int} for path in paths):
        raise ValueError("its sensitive_attributes are not a list of paths")
    return paths


def write_paths(paths: Iterable[Path]) -> Value:
    """Return paths as "sensitive_attributes" writes them: attribute first, then index steps with their type."""
    return [[{"type": "get_attr", "value": step} if number == 0 else
             {"type": "index", "value": {"value": step, "type": "number" if isinstance(step, int) else "string"}}
             for number, step in enumerate(path)] for path in sorted(paths, key=repr)]


def write_dynamic(value: Value) -> Value:
    """Return a dynamic attribute as the file holds it: null, or the value with its type."""
    if type(value) is str:
        return {"value": value, "type": "string"}
    return None if value is None else {"value": plain(value), "type": type_of(value)}


def instance_document(instance: Instance, deposed: str = "") -> Dict[str, Value]:
    """Return one entry of "instances" in the real key order; what was only carried comes last."""
    document: Dict[str, Value] = {"status": "tainted"} if instance.tainted else {}
    if deposed:
        document["deposed"] = deposed
    document["schema_version"] = instance.schema_version
    document["attributes"] = {
        name: write_dynamic(instance.attributes[name]) if kind == "dynamic" else instance.attributes[name]
        for name, kind in SORTED_KINDS[instance.type]}
    document["sensitive_attributes"] = write_paths(instance.sensitive)
    document.update(instance.extra or {})
    if instance.dependencies:
        document["dependencies"] = list(instance.dependencies)
    if instance.create_before_destroy:
        document["create_before_destroy"] = True
    return document


def json_text(value: Value, pad: str = "") -> str:
    """Return a value as JSON, indented by two behind ``pad``; all digits are kept.

    Scalars are written in the loop of their container: half the time of a call for each (json's own C code
    does not indent).
    """
    scalar = SCALAR_TEXT.get(type(value))
    if scalar:
        return scalar(value)
    opening, closing = "{}" if isinstance(value, dict) else "[]"
    if not value:
        return opening + closing
    inner = pad + "  "
    parts = []
    if opening == "{":
        for key, item in value.items():
            scalar = SCALAR_TEXT.get(type(item))
            parts.append(f"{encode_basestring(key)}: {scalar(item) if scalar else json_text(item, inner)}")
    else:
        for item in value:
            scalar = SCALAR_TEXT.get(type(item))
            parts.append(scalar(item) if scalar else json_text(item, inner))
    return f"{opening}\n{inner}" + f",\n{inner}".join(parts) + f"\n{pad}{closing}"


NUMBER_MARK = "\ud8ff"  # a lone surrogate: no text that was read holds one
COMPACT = JSONEncoder(ensure_ascii=False, check_circular=False, separators=(",", ":"),
                      default=lambda number: NUMBER_MARK + number_text(number))


def compact_json(value: Value) -> str:
    """Return a value as JSON on one line; json's C code takes a fifth of the time that json_text would."""
    text = COMPACT.encode(value)
    return re.sub(f'"{NUMBER_MARK}([^"]*)"', r"\1", text) if NUMBER_MARK in text else text


def go_escaped(text: str) -> str:
    """Return JSON text with the characters escaped that Go's encoder escapes (they stand inside strings only)."""
    for character in "<>&\u2028\u2029":
        text = text.replace(character, f"\\u{ord(character):04x}")
    return text


def state_pieces(state: State) -> Iterator[str]:
    """Yield the state file: two-space indent, keys and resources in the real order, a newline at the end.

    A thousand resources at a time: as one text 100,000 take 120 MB, and twice that while it is put together.
    """
    outputs = {name: {"value": plain(output.value), "type": type_of(output.value),
                      **({"sensitive": True} if output.sensitive else {})}
               for name, output in sorted(state.outputs.items())}
    entries: List[Tuple[str, str, str, str, Value]] = [
        (str(entry.get("module", "")), str(entry["mode"]), entry["type"], entry["name"], entry) for entry in state.foreign]
    entries += [("", "managed", *sort_key(address), address) for address in state.objects.keys() | state.deposed.keys()]
    entries.sort(key=lambda entry: entry[:4])
    form = f'  "{DEPENDENCY_FORM}": "direct",\n' if state.direct else ""
    yield (f'{{\n  "version": 4,\n  "terraform_version": {encode_basestring(state.terraform_version)},\n'
           f'  "serial": {state.serial},\n  "lineage": {encode_basestring(state.lineage)},\n'
           f'  "outputs": {json_text(outputs, "  ")},\n  "resources": [')
    for start in range(0, len(entries), 1000):
        texts = [resource_text(state, what) if isinstance(what, str) else json_text(what, "    ")
                 for *_, what in entries[start:start + 1000]]
        yield ("," if start else "") + "\n    " + ",\n    ".join(texts)
    end = "\n  ]" if entries else "]"
    yield f'{end},\n{form}  "check_results": {json_text(state.check_results, "  ")}\n}}\n'


def state_text(state: State) -> str:
    """Return the state file as text."""
    return go_escaped("".join(state_pieces(state)))


def resource_text(state: State, address: str) -> str:
    """Return the entry of one address in "resources": the current object first, deposed ones by key."""
    instances = [("", state.objects[address])] if address in state.objects else []
    instances += sorted(state.deposed.get(address, {}).items())
    kind, name = sort_key(address)
    texts = ",\n        ".join(json_text(instance_document(instance, key), "        ") for key, instance in instances)
    return (f'{{\n      "mode": "managed",\n      "type": "{kind}",\n      "name": {encode_basestring(name)},\n'
            f'      "provider": {encode_basestring(instances[0][1].provider)},\n'
            f'      "instances": [\n        {texts}\n      ]\n    }}')


def state_bytes(state: State) -> bytes:
    """Return the state file as bytes; a lone surrogate, which UTF-8 cannot hold, becomes a question mark."""
    import io
    file = io.BytesIO()
    for piece in state_pieces(state):
        file.write(go_escaped(piece).encode("utf-8", "replace"))
    return file.getvalue()


def same_content(left: State, right: State) -> bool:
    """Return whether two states differ in nothing but serial and terraform_version (then no write is due)."""
    tables: List[Tuple[Dict[str, Any], Dict[str, Any]]] = [(left.outputs, right.outputs), (left.objects, right.objects)]
    tables += [(found, right.deposed.get(address, {})) for address, found in left.deposed.items()]
    return (left.lineage == right.lineage and left.direct == right.direct and left.foreign == right.foreign
            and left.deposed.keys() == right.deposed.keys()
            and all(one.keys() == other.keys() and all(same_record(item, other[name]) for name, item in one.items())
                    for one, other in tables))


def same_record(left: Tuple[Value, ...], right: Tuple[Value, ...]) -> bool:
    """Return whether two instances, or two output values, are recorded alike; values stand in the first two fields."""
    return left is right or left[2:] == right[2:] and all(map(same, left[:2], right[:2]))


def state_deps(state: State) -> Deps:
    """Return what each object in state needs, as recorded: the graph that destroy walks backwards."""
    return {address: set(state.objects[address].dependencies) if address in state.objects else set()
            for address in [*state.objects, *state.deposed]}


def carried_address(entry: Dict[str, Value]) -> str:
    """Return the address of a resource that is only carried along: module.m.data.t.n."""
    base = f"{'data.' if entry['mode'] == 'data' else ''}{entry['type']}.{entry['name']}"
    return f"{entry['module']}.{base}" if "module" in entry else base


def carried_addresses(entry: Dict[str, Value]) -> List[str]:
    """Return the addresses of its objects: module.m.data.t.n["key"]."""
    base = carried_address(entry)
    return [f"{base}[{json_text(raw['index_key'])}]" if "index_key" in raw else base for raw in entry["instances"]]


def deposed_waits(state: State) -> Deps:
    """Return which deposed objects wait for the destruction of which others, by address.

    As in the real engine, what the current objects need counts, not what the deposed ones once needed.
    """
    users = within(invert(state_deps(state)), state.deposed)
    return {address: found - {address} for address, found in users.items()}


def new_uuid() -> str:
    """Return a random UUID (version 4), as lineages and lock ids are."""
    digits = os.urandom(16).hex()
    return f"{digits[:8]}-{digits[8:12]}-4{digits[13:16]}-{'89ab'[int(digits[16], 16) % 4]}{digits[17:20]}-{digits[20:]}"


# --------------------------------------------------------------------------------------
# evaluator
# {"content": "see ${local_file.a.filename}"}, what is planned so far  ->  {"content": "see ./a.txt"}
# --------------------------------------------------------------------------------------


def describe(value: Value) -> str:
    """Return what a value is, for the line below an error: "tuple with 2 elements", "null", '"text"'."""
    if isinstance(value, Sensitive):
        return "a sensitive value"
    if isinstance(value, Unknown):
        return "a value known only after apply"
    kind, value = type_of(value), plain(value)
    if value is None or not isinstance(value, (list, dict)):
        return json_text(value)
    count = f"{len(value)} {'attribute' if kind[0] == 'object' else 'element'}{'' if len(value) == 1 else 's'}"
    if kind[0] == "object":
        return f"object with {count if value else 'no attributes'}" + (f' "{[*value][0]}"' if len(value) == 1 else "")
    name = "tuple" if kind[0] == "tuple" else f"{kind[0]} of {kind[1] if isinstance(kind[1], str) else kind[1][0]}"
    return f"{name} with {count}" if value else f"empty {name}"


def stringify(value: Value, where: str = "") -> str:
    """Return a value as text inside a template; null, lists and objects have none (ConfigError)."""
    if isinstance(value, str):
        return value
    value = value.value if isinstance(value, Typed) else value
    if isinstance(value, (bool, int, Decimal)):
        return json_text(value)
    values = (f"{where} is {describe(value)}",) if where else ()
    if value is None:
        detail = "The expression result is null. Cannot include a null value in a string template."
    else:
        detail = "Cannot include the given value in a string template: string required."
    raise ConfigError(Diagnostic("Invalid template interpolation value", detail, values=values))


def follow(value: Value, steps: Sequence[Union[str, int]], text: str) -> Value:
    """Return the part of a value that attribute and index steps lead to; unknowns stay unknown, with their origin."""
    for number, step in enumerate(steps):
        if type(value) is dict and step in value:  # the common case; what follows would find the same
            value = value[step]
            continue
        if isinstance(value, Sensitive):
            try:
                return Sensitive(follow(value.value, steps[number:], text))  # the last steps of the text all the same
            except ConfigError as error:  # which does not show the sensitive value that it is about
                error.diagnostics = [item._replace(values=()) for item in error.diagnostics]
                raise
        if isinstance(value, Unknown):
            value = Unknown(value.origin, typed_step(value.type, step, text, len(steps) - number))
            continue
        whole, value = value, plain(value) if isinstance(value, Typed) else value
        if isinstance(value, dict) and str(step) in value and (type(step) is str or type(whole) is not dict):
            value = Typed(None, "string") if type(value) is Map and value[str(step)] is None else value[str(step)]
        elif isinstance(value, list) and str(step).isdigit() and int(step) < len(value):
            value = value[int(step)]
        else:
            raise missing_step(describe(whole), type_of(untyped(whole)), step, text, len(steps) - number)
    return value


def typed_step(kind: Value, step: Union[str, int], text: str, left: int) -> Value:
    """Return the type behind one step into an unknown value, None where nothing is known of it."""
    if kind is None or kind == "dynamic":
        return None
    if isinstance(kind, list):
        if kind[0] == "object" and step in kind[1]:
            return kind[1][step]
        if kind[0] == "tuple" and str(step).isdigit() and int(step) < len(kind[1]):
            return kind[1][int(step)]
        if kind[0] in ("map", "list"):
            return kind[1]
    raise missing_step(f"a {kind[0]}" if isinstance(kind, list) else "", kind, step, text, left)


def missing_step(shown: str, kind: Value, step: Union[str, int], text: str, left: int) -> ConfigError:
    """Return the error for a step that a value does not have; ``left`` steps of the text, with this one, remain.

    The words are the real engine's: an index is missed in another way than an attribute.
    """
    steps = parse_traversal(text)[0]
    indexed = steps[-left][1]
    before = "".join(f"[{json_text(name)}]" if index else f".{name}" for name, index in steps[:-left])[1:]
    values = (f"{before} is {shown}",) if shown else ()
    sort = kind[0] if isinstance(kind, list) else kind
    element = "The given key does not identify an element in this collection value"
    if sort == "dynamic" and indexed:
        summary, detail = "Attempt to index null value", "This value is null, so it does not have any indices."
    elif sort == "dynamic":
        summary, detail = "Attempt to get attribute from null value", "This value is null, so it does not have any attributes."
    elif indexed and not isinstance(kind, list):
        summary, detail = "Invalid index", "This value does not have any indices."
    elif indexed:
        why = (". An object only supports looking up attributes by name, not by numeric index."
               if sort == "object" and type(step) is int else ": the collection has no elements." if shown.startswith("empty")
               else ": a number is required." if sort in ("tuple", "list") and not str(step).isdigit() else ".")
        summary, detail = "Invalid index", element + why
    elif sort == "object":
        summary = "Unsupported attribute"
        detail = f'This object does not have an attribute named "{step}".' + did_you_mean(str(step), kind[1])
    elif sort == "map":
        summary, detail = "Missing map element", f'This map does not have an element with the key "{step}".'
    else:
        summary, detail = "Unsupported attribute", ("This value does not have any attributes." if isinstance(kind, list) else
                                                    f"Can't access attributes on a primitive-typed value ({kind}).")
    return ConfigError(Diagnostic(summary, detail, values=values))


class Evaluator:
    """Turns raw values of the configuration into values, from what is planned or applied so far.

    ``values`` holds attributes by resource address and the value of each "local.NAME"; ``marks`` the sensitive
    paths of an address. ``cwd`` is path.cwd, where the command was started.
    """

    def __init__(self, cwd: str = "") -> None:
        self.values: Dict[str, Value] = {}
        self.marks: Dict[str, Tuple[Path, ...]] = {}
        self.hides = False  # whether any value so far may hold a Sensitive
        self.known_before = {"module": ".", "root": ".", "cwd": cwd, "workspace": "default"}

    def resolve(self, reference: Reference) -> Value:
        """Return what a reference stands for; KeyError where its target has no value (it failed, or is itself)."""
        if not reference.target:
            return follow(self.known_before[str(reference.steps[0])], reference.steps[1:], reference.text)
        value = self.values[reference.target]
        if reference.target in self.marks:
            self.hides = True
            value = marked(value, self.marks[reference.target])
        return follow(value, reference.steps, reference.text) if reference.steps else value

    def evaluate(self, value: Value) -> Value:
        """Return a raw value with every template in it replaced; errors carry the trail to the text at fault."""
        if isinstance(value, str):
            return self.template(value) if "{" in value else value
        if isinstance(value, dict):
            return self.object(value)
        if isinstance(value, list):
            result = []
            for number, item in enumerate(value):
                try:
                    result.append(self.evaluate(item))
                except MinigraphError as error:
                    error.trail.insert(0, number)
                    raise
            return result
        return value

    def template(self, text: str) -> Value:
        """Return the value of a string: its type is kept for a lone reference, unknown if any part is unknown."""
        parts = parse_template(text)
        if len(parts) == 1:
            return parts[0] if isinstance(parts[0], str) else self.resolve(parts[0])
        pieces: List[str] = []
        unknown: Optional[Unknown] = None
        hidden = False
        for part in parts:
            if isinstance(part, str):
                pieces.append(part)
                continue
            value = self.resolve(part)
            if type(value) is str:
                pieces.append(value)
                continue
            if isinstance(value, Sensitive):
                hidden, value = True, value.value
            if isinstance(value, Unknown):
                if isinstance(value.type, list):
                    raise ConfigError("Invalid template interpolation value",
                                      "Cannot include the given value in a string template: string required.")
                unknown = unknown or Unknown(value.origin, "string")
            else:
                pieces.append(stringify(value, part.text))
        result: Value = unknown or cleaned("".join(pieces))
        return Sensitive(result) if hidden else result

    def object(self, value: Dict[str, Value]) -> Value:
        """Return an object with sorted keys; keys are templates too: an unknown or sensitive one makes all of it so."""
        result: Dict[str, Value] = {}
        unknown: Optional[Unknown] = None
        hidden = False
        for number, (raw_key, item) in enumerate(items(value)):
            try:
                key = self.template(raw_key) if "{" in raw_key else raw_key
                if isinstance(key, Sensitive):
                    hidden, key = True, key.value
                found = self.evaluate(item)
                if isinstance(key, Unknown):
                    if isinstance(key.type, list):
                        raise ConfigError("Invalid object key expression",
                                          "Cannot use this expression as an object key: string required.")
                    unknown = unknown or Unknown(key.origin)
                    continue
                key = untyped(key)
                if key is None or isinstance(key, (list, dict)):
                    article = "a null value" if key is None else f"a{'n' * isinstance(key, dict)} {describe(key)}"
                    raise ConfigError("Invalid object key expression", f"Can't use {article} as an object key.")
                key = stringify(key)
                if key in result:
                    raise ConfigError("Duplicate object attribute",
                                      f'An attribute named "{key}" was already defined in this object.')
            except MinigraphError as error:
                error.trail.insert(0, number)
                raise
            result[key] = found
        whole: Value = unknown or dict(sorted(result.items()))
        return Sensitive(whole) if hidden else whole


def marked(value: Value, paths: Iterable[Path]) -> Value:
    """Return a value with the parts at ``paths`` wrapped as Sensitive."""
    for path in paths:
        if not path:
            return value if isinstance(value, Sensitive) else Sensitive(value)
        step = path[0]
        if isinstance(value, dict) and step in value:
            value = type(value)({**value, step: marked(value[step], [path[1:]])})
        elif isinstance(value, list) and isinstance(step, int) and step < len(value):
            value = [marked(item, [path[1:]]) if number == step else item for number, item in enumerate(value)]
    return value


def unmarked(value: Value, path: Path = ()) -> Tuple[Value, Tuple[Path, ...]]:
    """Return a value without Sensitive wrappers, and the paths where they stood."""
    if isinstance(value, Sensitive):
        return unmarked(value.value)[0], (path,)
    if not isinstance(value, (dict, list)):
        return value, ()
    parts: Dict[Union[str, int], Tuple[Value, Tuple[Path, ...]]] = {
        step: unmarked(item, (*path, step)) for step, item in (value.items() if isinstance(value, dict) else enumerate(value))}
    paths = tuple(place for _, found in parts.values() for place in found)
    if not paths:
        return value, ()
    inner = {step: item for step, (item, _) in parts.items()}
    return type(value)(inner) if isinstance(value, dict) else list(inner.values()), paths


# --------------------------------------------------------------------------------------
# the change of one object
# prior {"input": 1}, arguments {"input": 2}  ->  Change("terraform_data.a", ..., "update", ...)
# --------------------------------------------------------------------------------------


class Change(NamedTuple):
    """What the plan wants for one object.

    ``verb``: create update replace delete noop. ``before`` and ``after``: attributes, or None where there is no
    object; ``after`` may hold unknowns. ``reason`` is for people, ``action_reason`` the code of the plan JSON.
    ``forced``: the arguments that force a replacement. ``deposed``: the key of a deposed object, else "".
    """

    address: str
    type: str
    verb: str
    reason: str
    before: Optional[Dict[str, Value]]
    after: Optional[Dict[str, Value]]
    create_before_destroy: bool = False
    forced: Sequence[str] = ()
    deposed: str = ""
    action_reason: str = ""
    replace_paths: Tuple[Path, ...] = ()
    before_sensitive: Tuple[Path, ...] = ()
    after_sensitive: Tuple[Path, ...] = ()


class OutputChange(NamedTuple):
    """What the plan wants for one root output; verb: create update delete noop."""

    name: str
    verb: str
    before: Value
    after: Value
    sensitive_before: bool = False
    sensitive_after: bool = False


def unknown_attribute(address: str, type_name: str, name: str, value: Value = None) -> Unknown:
    """Return the unknown that stands for a computed attribute, typed by the schema or by the value it will copy."""
    null = NULLS[type_name].get(name)
    return Unknown((address, name), null.type if null else None if value is None else type_of(value))


def with_unknown_computed(address: str, type_name: str, args: Dict[str, Value],
                          before: Optional[Dict[str, Value]] = None) -> Dict[str, Value]:
    """Return all attributes of an object that will be created, or updated: arguments as given, computed ones unknown.

    An update keeps the stable ones of ``before``. terraform_data copies input to output: a new one without an input
    is known to have a null output.
    """
    schema, copied = SCHEMAS[type_name], args.get("input")
    attributes = dict(args)
    for name in schema.computed:
        if before and name in schema.stable:
            attributes[name] = before[name]
        else:
            empty = name == "output" and untyped(copied) is None and not before
            attributes[name] = copied if empty else unknown_attribute(address, type_name, name, copied)
    return dict(sorted(attributes.items()))


def plan_resource(address: str, type_name: str, args: Dict[str, Value], prior: Optional[Instance], cbd: bool = False,
                  requested: bool = False, triggered: bool = False, paths: Tuple[Path, ...] = ()) -> Change:
    """Return the change that takes an object from its prior state to its arguments.

    An unknown argument counts as changed, and on an argument that forces replacement it replaces, as in the real
    engine. ``requested``: -replace names it; ``triggered``: replace_triggered_by fired; ``paths``: sensitive ones.
    """
    schema = SCHEMAS[type_name]
    hidden = tuple((name,) for name in sorted(schema.sensitive))
    after_sensitive = tuple(sorted({*hidden, *paths}, key=repr))
    change = Change(address, type_name, "create", "", None, None, cbd, after_sensitive=after_sensitive)
    if prior is None:
        return change._replace(after=with_unknown_computed(address, type_name, args),
                               action_reason="replace_by_triggers" if triggered else "")
    before = prior.attributes
    change = change._replace(before=before, before_sensitive=tuple(sorted({*hidden, *prior.sensitive}, key=repr)))
    changed = sorted(name for name in args if not same(args[name], before.get(name)))
    forced = [name for name in changed if not keeps_object(type_name, name, before.get(name), args[name])]
    for given, reason, code in (
            (triggered, "replace_triggered_by fired", "replace_by_triggers"),
            (prior.tainted, "it is tainted", "replace_because_tainted"),
            (requested, "replacement was requested", "replace_by_request"),
            (forced, f"{', '.join(forced)} forces replacement", "replace_because_cannot_update")):
        if given:
            return change._replace(
                verb="replace", reason=reason, after=with_unknown_computed(address, type_name, args), forced=forced,
                action_reason=code, replace_paths=tuple((name,) for name in forced) if not prior.tainted else ())
    if changed:
        return change._replace(verb="update", after=with_unknown_computed(address, type_name, args, before))
    if set(paths) != {path for path in prior.sensitive if path[0] not in schema.sensitive and path[0] in args}:
        return change._replace(verb="update", reason="sensitivity changes", after=dict(before))
    return change._replace(verb="noop", after=dict(before))


def without_ignored(resource: Resource, args: Dict[str, Value], prior: Instance) -> Dict[str, Value]:
    """Return the arguments with those that ignore_changes names taken from the prior state.

    As in the real engine: a part counts only where both sides have it, an object has attributes and no indexes, and a
    string index at the end names an element of a map; of anything else it means the whole.
    """
    ignored = resource.lifecycle.ignore_changes
    if ignored == "all":
        return {name: prior.attributes[name] for name in args}
    for steps in sorted(ignored if isinstance(ignored, list) else (), key=len, reverse=True):
        key = str(steps[-1][0]) if steps[-1][1] and isinstance(steps[-1][0], str) else None
        path = steps if key is None else steps[:-1]
        try:
            old, new = part_at(prior.attributes, path), part_at(args, path)
        except LookupError:
            continue
        map_type = type(new) is Map or len(path) == 1 and SCHEMAS[resource.type].kinds[str(path[0][0])] == "map"
        args = with_part(args, path, with_element(new, old, key) if map_type and key is not None else old)
    return args


def part_at(value: Value, steps: Steps) -> Value:
    """Return the part of a value behind steps of ignore_changes; LookupError where there is none."""
    for step, indexed in steps:
        if indexed != (type(value) in (list, Map)) or type(value) not in (list, Map, dict) or (
                type(value) is list and type(step) is not int):
            raise LookupError(step)
        value = value[step]
    return value


def with_part(value: Value, steps: Steps, part: Value) -> Value:
    """Return a value with another part behind the steps."""
    if not steps:
        return part
    copy: Value = type(value)(value)
    copy[steps[0][0]] = with_part(value[steps[0][0]], steps[1:], part)
    return copy


def with_element(value: Value, prior: Value, key: str) -> Value:
    """Return a map, or null, with one element as it is in a prior map, or without it."""
    if isinstance(value, Unknown):
        return value
    kept = {name: item for source, wanted in ((value, False), (prior, True)) for name, item in (source or {}).items()
            if (name == key) is wanted}
    return Map(sorted(kept.items())) if kept or value is not None else None


# --------------------------------------------------------------------------------------
# checking the configuration
# "${terraform_data.gone.id}"  ->  Diagnostic("Reference to undeclared resource", ..., Spot(...))
# --------------------------------------------------------------------------------------


def errors_among(found: Iterable[Diagnostic]) -> List[Diagnostic]:
    """Return the diagnostics that are errors."""
    return [item for item in found if item.severity == "error"]


def with_spot(error: MinigraphError, spot: Spot, address: str = "") -> List[Diagnostic]:
    """Return an error's diagnostics with the spot of the text at fault below ``spot``."""
    found = spot._replace(pointer=spot.pointer + tuple(error.trail), part="value")
    return [item if item.spot or item.place else item._replace(spot=found, address=address) for item in error.diagnostics]


class Evaluated(NamedTuple):
    """A resource's converted arguments, the paths of sensitive ones, and warnings."""

    args: Dict[str, Value]
    paths: Tuple[Path, ...]
    warnings: List[Diagnostic]


def evaluate_arguments(evaluator: Evaluator, resource: Resource) -> Evaluated:
    """Return a resource's arguments as its type takes them; ConfigError with all that is wrong."""
    body: Dict[str, Value] = {}
    errors: List[Diagnostic] = []
    for name, raw in resource.body.items():
        try:
            body[name] = evaluator.evaluate(raw)
        except MinigraphError as error:
            errors += with_spot(error, argument_spot(resource, name), resource.address)
    if errors:
        raise ConfigError(errors)
    paths: Tuple[Path, ...] = ()
    if evaluator.hides:
        body, paths = unmarked(body)
    args, problems = convert_arguments(resource.type, body)
    if not any(problem.severity == "error" for problem in problems):
        problems = [*problems, *check_arguments(resource.type, args)]
    hidden = [value for value in (body.get(str(path[0])) for path in paths) if value and isinstance(value, str)]
    found = []
    for problem in problems:
        shown = not any(value in problem.detail for value in hidden)
        detail = problem.detail if shown else "The value is sensitive, so what is wrong with it is not shown."
        found.append(Diagnostic(problem.summary, detail, argument_spot(resource, problem.argument), None,
                                resource.address, problem.severity))
    if errors_among(found):
        raise ConfigError(errors_among(found))
    return Evaluated(args, paths, found)


def reference_errors(config: Config, address: str) -> List[Diagnostic]:
    """Return what is wrong with the references of one node: undeclared targets, unknown attributes, itself."""
    found: List[Diagnostic] = []
    for cause in uses(origin_of(config, address)):
        problem = check_reference(cause.reference, config, address)
        if problem is None and cause.reference.target == address and not cause.explicit:
            problem = Diagnostic("Self-referential block", f"Configuration for {address} may not refer to itself.")
        if problem:
            found.append(problem._replace(spot=cause.spot))
    return found


def validate_config(config: Config, deps: Optional[Deps] = None, causes: Optional[Causes] = None) -> List[Diagnostic]:
    """Check everything that can be checked before anything is known of the state; return the warnings.

    Raises CycleError (every loop), else ConfigError with the errors of all independent nodes, as the real engine's
    validate walk finds them: a node behind a failed one is not looked at.
    """
    if deps is None or causes is None:
        deps, causes = config_graph(config)
    cycle = cycle_error(config, deps, causes)
    if cycle:
        cycle.diagnostics = placed(cycle.diagnostics, config.sources)
        raise cycle
    evaluator = Evaluator()
    unknowns = {name: {key: unknown_attribute("", name, key) for key in schema.kinds} for name, schema in SCHEMAS.items()}
    found: List[Diagnostic] = []
    failed: Set[str] = set()
    for address in topological_order(deps):
        if not failed.isdisjoint(deps[address]):
            failed.add(address)
            continue
        problems = reference_errors(config, address) or validate_node(config, evaluator, address)
        if address in config.resources:
            evaluator.values[address] = unknowns[config.resources[address].type]
        found += problems
        if errors_among(problems):
            failed.add(address)
    if failed:
        raise ConfigError(placed(errors_among(found), config.sources))
    return config.warnings + placed(found, config.sources)


def validate_node(config: Config, evaluator: Evaluator, address: str) -> List[Diagnostic]:
    """Evaluate one node with every attribute of every resource unknown; return what is wrong, warnings too."""
    try:
        if address not in config.resources:
            evaluator.values[address] = evaluate_value(config, evaluator, address)
            return []
        found = unknown_arguments(config.resources[address])
        return found if errors_among(found) else found + evaluate_arguments(evaluator, config.resources[address]).warnings
    except MinigraphError as error:
        return error.diagnostics


def evaluate_value(config: Config, evaluator: Evaluator, address: str) -> Value:
    """Return the value of a local or an output; ConfigError points at the text at fault."""
    origin = config.locals[address[6:]] if address.startswith("local.") else config.outputs[address[7:]]
    try:
        return evaluator.evaluate(origin.value)
    except MinigraphError as error:
        raise ConfigError(with_spot(error, origin.spot)) from None


# --------------------------------------------------------------------------------------
# planning
# Config, State, PlanOptions  ->  Plan with a Change for every object
# --------------------------------------------------------------------------------------


class PlanOptions(NamedTuple):
    """What the command line asks of a plan; mode is "normal", "destroy" or "refresh-only"."""

    mode: str = "normal"
    refresh: bool = True
    targets: Sequence[str] = ()
    excludes: Sequence[str] = ()
    replaces: Sequence[str] = ()


class Plan:
    """Everything that planning found; ``changes`` and ``drift`` are sorted by type, name, current before deposed.

    ``prior`` is the state after refresh, ``before_refresh`` the state as read. ``uses_configured`` and
    ``uses_stored`` say whose dependencies count for the order of steps, from the configuration and from the state.
    ``notes`` tells which waits were given up.
    """

    def __init__(self, config: Config, state: State, options: PlanOptions) -> None:
        self.config, self.options, self.mode = config, options, options.mode
        self.targets, self.excludes = list(options.targets), list(options.excludes)
        self.partial = bool(self.targets or self.excludes)
        self.before_refresh, self.prior = state, state.copy()
        self.changes: List[Change] = []
        self.drift: List[Change] = []
        self.outputs: List[OutputChange] = []
        self.errors: List[Diagnostic] = []
        self.warnings: List[Diagnostic] = []
        self.notes: List[str] = []
        self.timestamp = ""
        self.kept: Set[str] = set()
        self.deps: Deps = {}
        self.configured: Deps = {}
        self.uses_configured: Set[str] = set()
        self.uses_stored: Set[str] = set()
        self.create_before_destroy: Dict[str, str] = {}
        self.evaluator = Evaluator()
        self.steps: Optional[StepGraph] = None

    def changed(self) -> List[Change]:
        """Return the changes that do something."""
        return [change for change in self.changes if change.verb != "noop"]

    @property
    def relevant(self) -> Set[Tuple[str, Path]]:
        """The (address, path) pairs that what changes refers to; few plans have to tell."""
        return attributes_used(self)

    def does_nothing(self) -> bool:
        """Return whether applying would change neither objects nor outputs."""
        idle = all(output.verb == "noop" for output in self.outputs)
        return idle and not (self.drift if self.mode == "refresh-only" else self.changed())


Read = Callable[[str, str, Instance], Optional[Dict[str, Value]]]


def make_plan(config: Config, state: State, options: PlanOptions, read: Read, cwd: str = "") -> Plan:
    """Return the plan that takes the state to the configuration; its ``errors`` say what could not be planned.

    ``read(address, deposed key, instance)`` gives an object's attributes as they are now, None where it is gone.
    Raises ConfigError or CycleError where the configuration itself is refused (nothing was refreshed then).
    """
    deps, causes = config_graph(config)
    plan = Plan(config, state, options)
    plan.evaluator = Evaluator(cwd)
    plan.deps, plan.configured = deps, resource_graph(config, deps)
    if options.refresh or options.mode != "destroy":
        plan.warnings += validate_config(config, deps, causes)
    if options.mode == "normal":
        check_keys(config, state)
    plan.kept = kept_nodes(plan, deps)
    plan.create_before_destroy = effective_cbd(config, plan.configured, plan.kept)
    failed = refresh(plan, read) if options.refresh else set()
    if options.mode == "refresh-only":
        show_refreshed(plan, deps)
    elif options.mode == "normal" or options.refresh and not state.holds_nothing():
        plan_nodes(plan, deps, failed)
    else:
        plan.uses_stored = set(plan.prior.objects)
    if options.mode == "destroy":
        plan_destroy(plan)
    elif options.mode == "normal":
        plan_removed(plan)
    if not plan.partial:
        plan.outputs += [OutputChange(name, "delete", output.value, None, output.sensitive)
                         for name, output in plan.prior.outputs.items()
                         if options.mode == "destroy" or name not in config.outputs]
    plan.changes.sort(key=lambda change: (*sort_key(change.address), change.deposed))
    plan.outputs.sort(key=lambda change: change.name)
    plan.errors = placed(plan.errors, config.sources)
    plan.warnings += [Diagnostic(*warning, severity="warning") for warning in plan_warnings(options, config, state)]
    return plan


def plan_warnings(options: PlanOptions, config: Config, state: State) -> Iterator[Tuple[str, str]]:
    """Yield the warnings on -target and -exclude, on given addresses that nothing has, on objects only carried along."""
    if options.targets or options.excludes:
        yield ("Resource targeting is in effect", "You are creating a plan with either the -target option or the -exclude"
               " option, which means that the result of this plan may not represent all of the changes requested by the"
               " current configuration.\n\nThe -target and -exclude options are not for routine use, and are provided only"
               " for exceptional situations such as recovering from errors or mistakes, or when minigraph specifically"
               " suggests to use it as part of an error message.")
    known = {*config.resources, *state.objects, *state.deposed}
    for option, addresses in (("target", options.targets), ("exclude", options.excludes), ("replace", options.replaces)):
        for address in addresses:
            if address not in known:  # the real tools say nothing
                yield (f"-{option}={address} matches nothing", "Neither the configuration nor the state has such a resource."
                       + did_you_mean(address, known))
    names = sorted(carried_address(item) for item in state.foreign if item["mode"] == "managed" and item["instances"])
    if names:
        yield ("Objects left alone", f"The state holds {len(names)} resource{'s' * (len(names) > 1)} that minigraph does not"
               f" work on: {', '.join(names[:5])}{', ...' * (len(names) > 5)}. They stay in the state as they are; change them"
               " with tofu or terraform.")


def check_keys(config: Config, state: State) -> None:
    """Refuse a resource whose objects in the state have keys: a second object would be made beside them."""
    found = []
    for entry in state.foreign:
        address = carried_address(entry)
        if entry["mode"] == "managed" and entry["instances"] and address in config.resources:  # none in a module is
            found.append(Diagnostic(
                "Instances with keys in the state", f"The state holds {', '.join(carried_addresses(entry))}, made with count or"
                f" for_each, which minigraph does not have. Bring the state in line with the configuration first: apply it"
                f" with tofu or terraform, or move the object with \"terraform state mv\".", config.resources[address].spot,
                address=address))
    if found:
        raise ConfigError(placed(found, config.sources))


def effective_cbd(config: Config, deps: Deps, kept: Optional[Set[str]] = None) -> Dict[str, str]:
    """Return the resources that are replaced create-before-destroy, each with the resource that asked for it.

    The setting of a resource propagates to all that it needs, also over an explicit false, as in the real engine;
    only resources that survive -target (``kept``) count.
    """
    asking = [address for address, resource in sorted(config.resources.items())
              if resource.lifecycle.create_before_destroy is True and (kept is None or address in kept)]
    marked_by = {address: address for address in asking}
    for origin in asking:
        pending = [origin]
        while pending:
            for needed in deps.get(pending.pop(), ()):
                if needed not in marked_by:
                    marked_by[needed] = origin
                    pending.append(needed)
    return marked_by


def kept_nodes(plan: Plan, deps: Deps) -> Set[str]:
    """Return the nodes that take part: all, or what -target and -exclude leave of them.

    A target keeps all that it needs; an excluded resource drops all that needs it. An output is kept when at least
    one resource is behind it and all of those are kept.
    """
    everything = set(deps) | set(plan.prior.objects) | set(plan.prior.deposed)
    if not plan.partial:
        return everything
    kept = selected(plan, everything, invert(deps) if plan.excludes else deps)
    backed: Set[str] = set()  # nodes with a resource behind them
    for node in topological_order(deps):
        if node in plan.config.resources or not backed.isdisjoint(deps[node]):
            backed.add(node)
        if node not in plan.config.resources:
            whole = deps[node] <= kept and (node.startswith("local.") or node in backed)
            (kept.add if whole else kept.discard)(node)
    return kept


def selected(plan: Plan, everything: Set[str], taken_along: Deps) -> Set[str]:
    """Return what -target names, or all but what -exclude names, with what a graph says goes along."""
    named = plan.excludes or plan.targets
    found = reachable(taken_along, *named).union(named)
    return everything - found if plan.excludes else everything & found


def refresh(plan: Plan, read: Read) -> Set[str]:
    """Read every object that takes part and note the drift in the plan; return the addresses that cannot be read."""
    failed: Set[str] = set()
    prior = plan.prior
    for address, key, instance in sorted(prior.every_object(), key=lambda item: (sort_key(item[0]), item[1])):
        if address not in plan.kept:
            continue
        try:
            if read(address, key, instance) is not None:
                continue
        except MinigraphError as error:
            failed.add(address)
            plan.errors += error.diagnostics
            continue
        plan.drift.append(Change(address, instance.type, "delete", "", instance.attributes, None, deposed=key,
                                 before_sensitive=instance.sensitive))
        if key:
            forget(prior.deposed, address, key)
        else:
            del prior.objects[address]
    return failed


def forget(deposed: Dict[str, Dict[str, Instance]], address: str, key: str) -> None:
    """Take one deposed object out of a state's table."""
    deposed[address].pop(key, None)
    if not deposed[address]:
        del deposed[address]


def plan_nodes(plan: Plan, deps: Deps, failed: Set[str]) -> None:
    """Plan every kept node after all that it needs; what needs a failed node is passed over."""
    planned: Dict[str, Change] = {}
    destroying = plan.mode == "destroy"
    for address in topological_order(deps):
        if address not in plan.kept:
            continue
        if address in failed or not failed.isdisjoint(deps[address]):
            failed.add(address)
            continue
        try:
            if address in plan.config.resources:
                change = planned[address] = plan_node(plan, address, planned)
                if not destroying:
                    guard(plan, change, failed)
                    plan.changes.append(change)
                note_uses(plan, change)
            elif not address.startswith("output."):
                plan.evaluator.values[address] = evaluate_value(plan.config, plan.evaluator, address)
            else:
                plan.outputs.append(plan_output(plan, address[7:]))
        except MinigraphError as error:
            failed.add(address)
            plan.errors += error.diagnostics


def plan_node(plan: Plan, address: str, planned: Dict[str, Change]) -> Change:
    """Return the change of one configured resource and leave its planned attributes with the evaluator."""
    resource = plan.config.resources[address]
    args, paths, _ = evaluate_arguments(plan.evaluator, resource)
    given, prior = args, plan.prior.objects.get(address)
    if prior is not None and not prior.tainted:
        args = without_ignored(resource, args, prior)
    change = plan_resource(address, resource.type, args, prior, address in plan.create_before_destroy,
                           address in plan.options.replaces, is_triggered(resource, planned, prior is None), paths)
    if change.verb == "replace":  # ignore_changes may prevent a replacement; a new object is made from all that is written
        change = change._replace(after=with_unknown_computed(address, resource.type, given))
    plan.evaluator.values[address] = seen(resource.type, change.after or {})
    if change.after_sensitive:
        plan.evaluator.marks[address] = change.after_sensitive
    return change


def is_triggered(resource: Resource, planned: Dict[str, Change], new: bool) -> bool:
    """Return whether replace_triggered_by fires: a named resource changes, or the named attribute of it does.

    As in OpenTofu 1.13, the creation of a named resource fires too, unless the object itself is ``new``. A part that
    comes or goes fires; one that is there neither before nor after is an error.
    """
    for number, reference in enumerate(resource.lifecycle.replace_triggered_by):
        change = planned.get(reference.target)
        if change is None or change.verb == "noop" or new and change.verb == "create":
            continue
        if not reference.steps or change.before is None:
            return True
        found: List[Value] = []
        for side in (change.before, change.after):
            try:
                found.append(follow(side, reference.steps, reference.text))
            except MinigraphError as error:
                missing = error
        if not found:
            spot = child(resource.lifecycle.spots["replace_triggered_by"], number)
            raise ConfigError(with_spot(missing, spot, resource.address))
        if len(found) == 1 or not same(*found):
            return True
    return False


def guard(plan: Plan, change: Change, failed: Set[str]) -> None:
    """Note the error of prevent_destroy where a change would destroy a protected object."""
    resource = plan.config.resources.get(change.address)
    if resource is None or not resource.lifecycle.prevent_destroy or change.verb not in ("delete", "replace") or change.deposed:
        return
    why = f" The plan calls for it because {change.reason}." if change.reason else ""
    plan.errors.append(Diagnostic(
        "Instance cannot be destroyed",
        f"Resource instance {change.address} has prevent_destroy set, but the plan calls for it to be destroyed.{why}\n\n"
        "To proceed, either disable prevent_destroy for this resource or exclude instances of this resource from this round"
        f' using:\n    -exclude="{change.address}"', resource.spot, address=change.address))
    failed.add(change.address)


def note_uses(plan: Plan, change: Change) -> None:
    """Note which dependencies order the steps of a resource.

    The real engine: an unchanged object uses the configuration's dependencies, a changed one both (only those in state
    with -refresh=false), a new one the configuration's, a removed one those in state.
    """
    if change.verb == "noop" or change.before is None or plan.options.refresh:
        plan.uses_configured.add(change.address)
    if change.verb != "noop" and change.before is not None:
        plan.uses_stored.add(change.address)


def attributes_used(plan: Plan) -> Set[Tuple[str, Path]]:
    """Return the (address, path) pairs that what changes refers to, directly or through locals and arguments."""
    config = plan.config
    found: Set[Tuple[str, Path]] = set()
    pending = [config.outputs[change.name].value for change in plan.outputs
               if change.verb != "noop" and change.name in config.outputs]
    followed: Set[Tuple[str, str]] = set()

    def follow_on(address: str, body: Dict[str, Value], names: Iterable[str]) -> None:
        for name in names:
            if name in body and (address, name) not in followed:
                followed.add((address, name))
                pending.append(body[name])
    for change in plan.changed():
        if change.address in config.resources:
            body = config.resources[change.address].body
            follow_on(change.address, body, body)
    while pending:
        for _, _, reference in references_in(pending.pop()):
            address, steps = reference.target, reference.steps
            if reference.root == "local":
                follow_on(address, {"": config.locals[address[6:]].value}, ("",))
            elif reference.root == "resource" and (address, steps) not in found:
                found.add((address, steps))
                body = config.resources[address].body if address in config.resources else {}
                follow_on(address, body, (str(steps[0]),) if steps else body)
    return found


def as_output(value: Value) -> Value:
    """Return a value as an output stores it: no null has a type there, and no zero a sign."""
    return untyped(unsigned_zeros(value))


def unsigned_zeros(value: Value) -> Value:
    """Return a value with 0 for -0 (a resource keeps the sign)."""
    if isinstance(value, Decimal):
        return value or 0
    if isinstance(value, list):
        return [unsigned_zeros(item) for item in value]
    if isinstance(value, Typed):
        return value._replace(value=unsigned_zeros(value.value))
    return type(value)((key, unsigned_zeros(item)) for key, item in value.items()) if isinstance(value, dict) else value


def plan_output(plan: Plan, name: str) -> OutputChange:
    """Return the change of one root output; the refreshed state holds it from now on, if it is known."""
    output = plan.config.outputs[name]
    after, paths = unmarked(evaluate_value(plan.config, plan.evaluator, f"output.{name}"))
    after = as_output(after)
    if paths and not output.sensitive:
        raise ConfigError(Diagnostic("Output refers to sensitive values", "To reduce the risk of accidentally exporting"
                                     " sensitive data that was intended to be only internal, minigraph requires that any root"
                                     " output containing sensitive data be explicitly marked as sensitive, to confirm your"
                                     ' intent: add "sensitive": true to it.', output.spot))
    stored = plan.before_refresh.outputs.get(name)
    plan.prior.set_output(name, after, output.sensitive)
    if stored is None:
        return OutputChange(name, "noop" if after is None else "create", None, after, False, output.sensitive)
    verb = "noop" if stored.sensitive == output.sensitive and same(stored.value, after) else "update"
    return OutputChange(name, verb, stored.value, after, stored.sensitive, output.sensitive)


def plan_removed(plan: Plan) -> None:
    """Plan the destruction of objects that the configuration no longer names, and of deposed ones."""
    for address, key, instance in plan.prior.every_object():
        if key and address in plan.kept:
            plan.changes.append(deletion(
                address, key, instance, "left over from a partially-failed replacement of this instance"))
        elif not key and address not in plan.config.resources and address in (plan.targets or plan.kept):
            plan.changes.append(deletion(address, key, instance, "its resource is not in the configuration",
                                         "delete_because_no_resource_config"))
            plan.uses_stored.add(address)


def deletion(address: str, deposed: str, instance: Instance, reason: str = "", code: str = "") -> Change:
    """Return the change that destroys one object."""
    hidden = {(name,) for name in SCHEMAS[instance.type].sensitive}
    return Change(address, instance.type, "delete", reason, instance.attributes, None, instance.create_before_destroy,
                  (), deposed, code, (), tuple(sorted({*hidden, *instance.sensitive}, key=repr)))


def plan_destroy(plan: Plan) -> None:
    """Plan the destruction of everything, or of the targets with all that needs them."""
    plan.uses_stored |= plan.prior.objects.keys() - plan.uses_configured
    chosen = set(plan.prior.objects) | set(plan.prior.deposed)
    if plan.partial:
        needs = recorded_needs(plan)
        chosen = selected(plan, chosen, needs if plan.excludes else invert(needs))
    plan.changes += [deletion(*item) for item in plan.prior.every_object() if item[0] in chosen]
    for change in plan.changes:
        guard(plan, change, set())
    plan.outputs = []
    if plan.errors:
        plan.changes = []


def recorded_needs(plan: Plan) -> Deps:
    """Return what each object needs by the rules of note_uses: configured and stored dependencies together."""
    needs = {address: set(found) if address in plan.uses_configured else set() for address, found in plan.configured.items()}
    for address, found in state_deps(plan.before_refresh).items():
        if address in plan.uses_stored:
            needs.setdefault(address, set()).update(found)
    return needs


def show_refreshed(plan: Plan, deps: Deps) -> None:
    """Plan no change, only the outputs as the refreshed objects give them (-refresh-only)."""
    for address in topological_order(deps):
        resource, instance = plan.config.resources.get(address), plan.prior.objects.get(address)
        try:
            if resource is not None and instance is not None:
                plan.evaluator.values[address] = seen(resource.type, instance.attributes)
                if instance.sensitive:
                    plan.evaluator.marks[address] = instance.sensitive
                plan.changes.append(Change(address, resource.type, "noop", "", instance.attributes, instance.attributes))
            elif resource is not None:
                plan.evaluator.values[address] = {name: unknown_attribute(address, resource.type, name)
                                                  for name in SCHEMAS[resource.type].kinds}
            elif address.startswith("local."):
                plan.evaluator.values[address] = evaluate_value(plan.config, plan.evaluator, address)
            elif address in plan.kept:
                change = plan_output(plan, address[7:])
                if is_known(change.after):
                    plan.outputs.append(change)
        except (MinigraphError, KeyError):
            continue


# --------------------------------------------------------------------------------------
# the apply graph
# replace a (create_before_destroy), update b that needs a  ->  {"b": {"a"}, "a (destroy)": {"a", "b"}, "a": set()}
# --------------------------------------------------------------------------------------

# The order of steps follows six rules of the real engine; D is a destroy step, W a create or update step, and
# "needs" is transitive, from the configuration and from what the state records:
#   1  W(X) waits for W(Y) when X needs Y
#   2  D(Y) waits for D(X) when X needs Y
#   3  W(X) waits for D(X)
#   4  W(X) waits for D(Y) when X needs Y
#   5  W(Y) waits for D(X) when X needs Y
#   6  for a create_before_destroy D, 3 to 5 turn round: D(X) waits for W(X), for W(Z) when Z needs X, for W(Y)
# Transitive needs are never listed: a junction, a node without work, stands for "all steps of that kind behind here".
# Rule 1, rule 2 through recorded dependencies and a resource's own pair are hard. The others are soft: only where
# they close a loop do they give way, in the order of this table.
GIVING_WAY = (
    "destroy order taken from the configuration alone",
    "a removed object recorded as create_before_destroy waits for creates and updates",
    "a create or update waits for the destroy of what it needs",
    "a create or update waits for the destroy of what needs it",
    "an old object waits for the updates of the new one and of its dependents",
    "destroy order recorded in the state",
)


class Step(NamedTuple):
    """One node that does work: the create, update or destroy of an object."""

    name: str
    change: Change
    destroys: bool


class StepGraph(NamedTuple):
    """Steps and junctions, each with what it waits for; ``soft`` gives the row of GIVING_WAY of an edge."""

    deps: Deps
    steps: Dict[str, Step]
    soft: Dict[Tuple[str, str], int]
    notes: List[str]


class Needs(NamedTuple):
    """One source of dependencies: the graph, whose needs count, and whether its lists are transitive closures."""

    graph: Deps
    counted: Set[str]
    closed: bool
    label: str


def destroy_node(address: str, deposed: str = "") -> str:
    """Return the name of a destroy step; the old half of a replacement has the same name as a plain destroy."""
    return f"{address} (destroy deposed {deposed})" if deposed else f"{address} (destroy)"


def all_behind(needs: Needs, marks: Dict[str, List[str]], label: str, deps: Deps, ends: bool) -> Callable[[str], Set[str]]:
    """Return a function that gives what to wait for to have waited for all marked steps behind an address.

    ``marks`` has the steps of an address. Closed lists name everything, so no junction is needed. ``ends`` says that
    a marked step waits for all behind itself anyway, so that nothing needs to pass it by.
    """
    leading = set() if needs.closed else reachable(invert(needs.graph), *marks)
    if ends:
        leading.difference_update(marks)

    def waits(address: str) -> Set[str]:
        found: Set[str] = set()
        for node in needs.graph.get(address, ()):
            found.update(marks.get(node, ()))
            if node in leading:
                found.add(f"{node} ({label})")
        return found

    for node in leading:
        deps[f"{node} ({label})"] = waits(node)
    return waits


def step_graph(changes: Sequence[Change], sources: Sequence[Needs], destroying: bool = False,
               never_loops: bool = True) -> StepGraph:
    """Return the graph that apply walks, by the six rules; ``destroying`` keeps rule 2 alone.

    ``sources``: needs from the configuration first, then those from the state. O(V + E).
    """
    graph = ruled_graph(changes, sources, destroying)
    if never_loops and tangles(graph.deps):
        graph = ruled_graph(changes, sources, destroying, giving_way=True)
        break_loops(graph)
    return graph


def ruled_graph(changes: Sequence[Change], sources: Sequence[Needs], destroying: bool, giving_way: bool = False) -> StepGraph:
    """Return the graph of steps with all edges; where waits will give way, a soft one stands for no other.

    A replacement is two steps, a noop none.
    """
    steps: Dict[str, Step] = {}
    for change in changes:
        if change.verb in ("create", "update", "replace"):
            steps[change.address] = Step(change.address, change, False)
        if change.verb in ("delete", "replace"):
            name = destroy_node(change.address, change.deposed)
            steps[name] = Step(name, change, True)
    graph = StepGraph({name: set() for name in sorted(steps)}, steps, {}, [])
    wanted: List[Tuple[str, Set[str], int]] = []
    for needs in sources:
        add_rules(graph, needs, wanted, destroying, giving_way)
    for name, step in steps.items():
        address = step.change.address
        if step.destroys and address in steps and not destroying:  # rule 3 and its turned form
            if not is_late(step):
                graph.deps[address].add(name)
            elif step.change.deposed:  # left by an earlier run: its successor is there already
                wanted.append((name, {address}, 4))
            else:
                graph.deps[name].add(address)
    for name, found, row in sorted(wanted, key=lambda item: -item[2]):
        new = found - graph.deps[name] - {name}
        graph.deps[name] |= new
        graph.soft.update(((name, other), row) for other in new)
    return graph


def by_address(steps: Iterable[Step], counted: Optional[Set[str]] = None) -> Dict[str, List[str]]:
    """Return the names of steps by address, of counted addresses only."""
    found: Dict[str, List[str]] = {}
    for step in steps:
        if counted is None or step.change.address in counted:
            found.setdefault(step.change.address, []).append(step.name)
    return found


def is_late(step: Step) -> bool:
    """Return whether a destroy comes after the new object: create_before_destroy, and every deposed object."""
    return step.destroys and (step.change.create_before_destroy or bool(step.change.deposed))


def add_rules(graph: StepGraph, needs: Needs, wanted: List[Tuple[str, Set[str], int]], destroying: bool,
              giving_way: bool) -> None:
    """Add what one source of dependencies asks for: rule 2, and 1, 4, 5 and 6 unless all is destroyed."""
    counted, configured = needs.counted, needs.label == "configured"
    users = needs._replace(graph=invert(  # of closed lists only those of counted addresses are turned round
        {address: found for address, found in needs.graph.items() if not needs.closed or address in counted}))
    destroys = [step for step in graph.steps.values() if step.destroys]

    def behind(source: Needs, steps: Dict[str, List[str]], label: str, ends: bool = False) -> Callable[[str], Set[str]]:
        return all_behind(source, steps, f"{'users' if source is users else 'needs'} {needs.label}, {label}", graph.deps, ends)

    marks = by_address(destroys, counted)
    if marks:
        waits = behind(users, marks, "destroyed", not (configured and giving_way))
        wanted += [(step.name, waits(step.change.address), 0 if configured else 5) for step in destroys]
    if destroying:
        return
    applies = by_address(step for step in graph.steps.values() if not step.destroys)
    done = {address: found for address, found in applies.items() if address in counted}
    early = by_address(step for step in destroys if not is_late(step))
    early_users = {address: found for address, found in early.items() if address in counted}
    late = [step for step in destroys if is_late(step)]
    if configured or late:
        before = behind(needs, applies, "applied", configured)
    if configured:
        for address in applies:
            graph.deps[address] |= before(address)
    if early:
        needs_gone = behind(needs, early, "destroyed")
        wanted += [(address, needs_gone(address), 2) for address in done]
    if early_users:
        users_gone = behind(users, early_users, "destroyed first")
        wanted += [(address, users_gone(address), 3) for address in applies]
    if late:
        users_done = behind(users, done, "applied")
        for step in late:
            row = 1 if step.change.verb == "delete" and not step.change.deposed else 4
            wanted.append((step.name, users_done(step.change.address), row))
            if step.change.address in counted:
                wanted.append((step.name, before(step.change.address), row))


def break_loops(graph: StepGraph) -> None:
    """Let soft edges give way, inside each loop alone and in the order of GIVING_WAY, until no loop is left."""
    given_up: Dict[Edge, int] = {}
    pending = [(set(members), 0) for members in tangles(graph.deps)]
    tangled = set().union(*(members for members, _ in pending))
    while pending:
        members, row = pending.pop()
        edges = sorted((name, other) for name in members for other in graph.deps[name]
                       if other in members and graph.soft.get((name, other)) == row)
        for name, other in edges:
            behind = stood_for(graph, other)
            graph.deps[name].discard(other)
            del graph.soft[name, other]
            graph.deps[name] |= behind - members - {name}  # what is outside the loop is still waited for
            for step in behind & members - {name}:
                given_up.setdefault((name, step), row)
        if row + 1 < len(GIVING_WAY):
            pending += [(set(found), row + 1) for found in tangles(within(graph.deps, members))]
    # a wait may still hold in another way; of more than 1000 steps no one looks: that is a search for each
    names, rest = {name for name, _ in given_up}, within(graph.deps, tangled)
    still = {name: reachable(rest, name) if len(names) <= 1000 else set() for name in names}
    graph.notes.extend(f"{name} does not wait for {step}: that would close a loop ({GIVING_WAY[row]})."
                       for (name, step), row in sorted(given_up.items()) if step not in still[name])


def stood_for(graph: StepGraph, other: str) -> Set[str]:
    """Return the steps that a wait for ``other`` stands for: itself, or all behind a junction."""
    found, pending = {other}, [other]
    while pending:
        node = pending.pop()
        new = graph.deps[node] - found if node not in graph.steps else set()
        found |= new
        pending += new
    return {node for node in found if node in graph.steps}


def plan_steps(plan: Plan) -> StepGraph:
    """Return the graph of steps of a plan, built at the first call; its notes go into the plan."""
    if plan.steps is None:
        state = plan.before_refresh
        sources = [Needs(plan.configured, plan.uses_configured, False, "configured"),
                   Needs(state_deps(state), plan.uses_stored, not state.direct, "recorded")]
        plan.steps = step_graph(plan.changed(), sources, plan.mode == "destroy")
        plan.notes = plan.steps.notes
    return plan.steps


def apply_graph(changes: Iterable[Change], resource_deps: Deps, state: State, never_loops: bool = True) -> Deps:
    """Return what each step waits for, steps only: the graph that apply walks for ``changes``.

    ``resource_deps`` are the direct dependencies of the configured resources. ``never_loops`` False keeps all edges.
    """
    active = [change for change in changes if change.verb != "noop"]
    stored = {change.address for change in active if not change.deposed} & state.objects.keys()
    sources = [Needs(resource_deps, set(resource_deps), False, "configured"),
               Needs(state_deps(state), stored, not state.direct, "recorded")]
    graph = step_graph(active, sources, False, never_loops)
    return contract(graph.deps, graph.steps)


def destroy_graph(state: State) -> StepGraph:
    """Return the steps that destroy everything in a state, ordered by its recorded dependencies alone."""
    needs = Needs(state_deps(state), set(state.objects), not state.direct, "recorded")
    return step_graph([deletion(*item) for item in state.every_object()], [needs], True)


# ======================================================================================
# RUN
# ======================================================================================

# --------------------------------------------------------------------------------------
# the walk
# {"b": {"a"}, "a": set()}, visit  ->  visit("a"), then visit("b"); a failure of a leaves b skipped
# --------------------------------------------------------------------------------------


class WalkResult:
    """What became of each node: ``completed`` in order of ending, ``failed`` with the message, ``skipped`` with the
    failed node that caused it, ``unstarted`` when the walk was stopped; ``times`` are (ready, started, ended)."""

    def __init__(self) -> None:
        self.completed: List[str] = []
        self.failed: Dict[str, str] = {}
        self.errors: Dict[str, BaseException] = {}
        self.skipped: Dict[str, str] = {}
        self.unstarted: List[str] = []
        self.times: Dict[str, Tuple[float, float, float]] = {}


def dependent_chains(deps: Deps, weigh: Callable[[str], float]) -> Dict[str, float]:
    """Return for each node the weight of the heaviest chain that begins with it and goes on with what needs it."""
    chains = {node: weigh(node) for node in deps}
    weights = dict(chains)
    for node in reversed(topological_order(deps)):
        for needed in deps[node]:
            if chains[needed] < chains[node] + weights[needed]:
                chains[needed] = chains[node] + weights[needed]
    return chains


def name_skipped(result: WalkResult, deps: Deps, dependents: Deps) -> None:
    """Name what was skipped because of which failure, and what a stop left unstarted."""
    pending = sorted(result.failed, reverse=True)
    causes = {node: node for node in pending}
    while pending:
        node = pending.pop()
        for dependent in sorted(dependents[node]):
            if dependent not in causes:
                causes[dependent] = causes[node]
                pending.append(dependent)
    result.skipped = {node: cause for node, cause in sorted(causes.items()) if node not in result.failed}
    result.unstarted = sorted(node for node in deps if node not in result.times and node not in causes)


class Ready:
    """The nodes that wait for nothing any more: the one with the longest chain of dependents comes first."""

    def __init__(self, deps: Deps, weigh: Callable[[str], float], now: float) -> None:
        chains = dependent_chains(deps, weigh)
        self.names = sorted(deps, key=lambda node: (-chains[node], node))
        self.rank = {node: number for number, node in enumerate(self.names)}
        self.waiting = {node: len(found) for node, found in deps.items()}
        self.dependents = invert(deps)
        self.heap = [number for number, node in enumerate(self.names) if not self.waiting[node]]
        self.since = {self.names[number]: now for number in self.heap}
        self.later: List[str] = []

    def pop(self) -> str:
        """Take the first node."""
        from heapq import heappop
        return self.names[heappop(self.heap)]

    def push(self, node: str) -> None:
        """Put a node among those that can start."""
        from heapq import heappush
        heappush(self.heap, self.rank[node])

    def put_off(self, node: str) -> None:
        """Take a node out that could start, until ``recall``."""
        self.later.append(node)

    def recall(self) -> None:
        """Let the nodes that were put off try again."""
        while self.later:
            self.push(self.later.pop())

    def release(self, node: str, now: float) -> None:
        """Make ready what waited for a node that is done, and for nothing else."""
        for dependent in self.dependents[node]:
            self.waiting[dependent] -= 1
            if not self.waiting[dependent]:
                self.since[dependent] = now
                self.push(dependent)


def outcome_of(visit: Callable[[str], Any], node: str) -> Tuple[Any, Optional[BaseException]]:
    """Return what visiting a node returns, or raises: the coordinator sorts out what is a failure and what a bug."""
    try:
        return visit(node), None
    except BaseException as error:
        return None, error


def walk(deps: Deps, visit: Callable[[str], Any], parallelism: int = 10, *,
         prepare: Optional[Callable[[str], Optional[bool]]] = None, finish: Optional[Callable[[str, Any, Any], None]] = None,
         tick: Optional[Callable[[], Optional[float]]] = None, stopped: Callable[[], bool] = lambda: False,
         clock: Optional[Callable[[], float]] = None, weigh: Callable[[str], float] = lambda node: 1,
         instant: Callable[[str], bool] = lambda node: False) -> WalkResult:
    """Visit every node after all that it needs, at most ``parallelism`` at once, and return what became of each.

    ``visit(node)`` runs in a worker and fails by raising. ``prepare(node)`` and ``finish(node, outcome, error)`` run in
    the calling thread before and after it; False from prepare means that nothing is to be done, None that the node has to
    wait until another one has ended, an exception fails the node. ``tick()`` runs at every turn and returns the seconds
    after which it wants to run again. Once ``stopped()`` is true nothing new starts. Among ready nodes the one with the
    longest chain of dependents goes first, each node as long as ``weigh`` says; the smallest name among equals. CycleError
    where the graph has a loop. An ``instant`` node is visited in the calling thread: to hand it to a worker and back takes
    50 to 100 us, for terraform_data a third of an apply.
    O((V + E) log V). All bookkeeping belongs to the calling thread.
    """
    import queue
    import time
    from concurrent.futures import ThreadPoolExecutor
    clock = clock or time.monotonic
    ready, result = Ready(deps, weigh, clock()), WalkResult()
    running: Dict[str, float] = {}  # node -> when it started
    outcomes: queue.SimpleQueue[Tuple[str, Any, Optional[BaseException]]] = queue.SimpleQueue()

    def work(node: str) -> None:
        outcomes.put((node, *outcome_of(visit, node)))

    def start(node: str) -> None:
        running[node] = clock()
        try:
            needed = prepare is None or prepare(node)
        except Exception as error:
            end(node, error)
            return
        if needed and instant(node):
            work(node)
        elif needed:
            pool.submit(work, node)
        elif needed is None:
            del running[node]
            ready.put_off(node)
        else:
            end(node, None)

    def end(node: str, error: Optional[BaseException]) -> None:
        now = clock()
        result.times[node] = ready.since.pop(node), running.pop(node), now
        if error is None:
            result.completed.append(node)
            ready.release(node, now)
        else:  # what needs it stays unreleased
            result.failed[node], result.errors[node] = str(error), error

    with ThreadPoolExecutor(max_workers=parallelism) as pool:
        while True:
            while ready.heap and len(running) < parallelism and not stopped():
                start(ready.pop())
            if not running:
                break
            try:
                node, outcome, error = outcomes.get(timeout=tick() if tick else None)
            except queue.Empty:
                continue
            try:
                if finish is not None:
                    finish(node, outcome, error)
            except Exception as found:
                error = error or found
            end(node, error)
            ready.recall()
    name_skipped(result, deps, ready.dependents)
    return result


# --------------------------------------------------------------------------------------
# providers
# random_pet: create({"length": 2, ..., "id": UNKNOWN}, runtime)  ->  {"length": 2, ..., "id": "calm-otter"}
# --------------------------------------------------------------------------------------


class StepError(Exception):
    """A provider call failed. ``attributes``: what it returned all the same (the object is kept, tainted)."""

    def __init__(self, summary: str, detail: str = "", attributes: Optional[Attributes] = None) -> None:
        super().__init__(f"{summary}: {detail}" if detail else summary)
        self.summary = summary
        self.detail = detail
        self.attributes = attributes


class Runtime(NamedTuple):
    """What a provider may use of the world around it; times are seconds."""

    sleep: Callable[[float], None]  # an interrupt ends it with an exception, which providers let pass
    now: Callable[[], float]  # since the epoch
    directory: str = ""  # relative file names start here; "" is the working directory
    shared: bool = False  # other objects own the same file: it stays where one is destroyed, and is made anew for one


class Provider:
    """What the engine asks of one resource type; this one has no world outside the state, so nothing drifts.

    Objects of these classes hold no data: every worker thread may call them at once. ``instant``: calls only compute
    a little, so they are made without a worker.
    """

    instant = False

    def read(self, attributes: Attributes, runtime: Runtime) -> Optional[Attributes]:
        """Return the object as it is now, or None where it is gone."""
        return attributes

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Make the object and return all of its attributes, none unknown."""
        return dict(planned)

    def update(self, prior: Attributes, planned: Attributes, runtime: Runtime) -> Attributes:
        """Change the object in place and return all of its attributes."""
        return dict(planned)

    def delete(self, prior: Attributes, runtime: Runtime) -> None:
        """Remove the object; returning means that it is gone."""

    def recover(self, planned: Attributes, runtime: Runtime) -> Tuple[str, Optional[Attributes]]:
        """Return what a create that was cut off left: "absent", or "whole" / "partial" and the attributes."""
        return "absent", None


class LocalFile(Provider):
    """A file with given content, known by its sha1: once the bytes differ, the object counts as gone."""

    def read(self, attributes: Attributes, runtime: Runtime) -> Optional[Attributes]:
        """Return the attributes unchanged while the file's sha1 is the id; nothing else is looked at."""
        try:
            found = read_file(attributes.get("filename") or "", runtime)
        except FileNotFoundError:
            return None
        except OSError as error:
            raise file_failure("Read", "reading the file", error) from None
        return attributes if sha1_of(found) == attributes.get("id") else None

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Write the file, making missing directories on the way; what was made before a failure stays."""
        doing = "parsing local file content"
        filename = planned["filename"]
        try:
            content = content_of(planned, runtime)
            doing = "creating file directory"
            parent = os.path.normpath(os.path.dirname(filename))
            make_directories(parent, int(planned["directory_permission"], 8), runtime)
            doing = "writing the file"
            if runtime.shared and os.path.isfile(located(filename, runtime.directory)):  # with the mode of another object
                attempt("remove", filename, os.unlink, located(filename, runtime.directory))
            write_file(filename, content, int(planned["file_permission"], 8), runtime)
        except OSError as error:
            raise file_failure("Create", doing, error) from None
        return {**planned, **hashes_of(content)}

    def delete(self, prior: Attributes, runtime: Runtime) -> None:
        """Unlink the file, or leave what stands in its place if that is not what the state says was written.

        The real provider ignores every failure here; this one says what it could not remove.
        """
        filename = prior.get("filename") or ""
        if runtime.shared:
            return
        try:
            try:
                written = sha1_of(read_file(filename, runtime)) == prior.get("id")
            except PermissionError:  # one may remove what one may not read
                written = True
            if written:
                attempt("remove", filename, os.unlink, located(filename, runtime.directory))
        except (FileNotFoundError, NotADirectoryError, IsADirectoryError):
            return
        except OSError as error:
            raise file_failure("Delete", "removing the file", error) from None

    def recover(self, planned: Attributes, runtime: Runtime) -> Tuple[str, Optional[Attributes]]:
        """Return "whole" where the planned bytes are there, "partial" where only the first of them are."""
        try:
            wanted, found = content_of(planned, runtime), read_file(planned["filename"], runtime)
        except OSError:
            return "absent", None
        if not wanted.startswith(found):
            return "absent", None
        return "whole" if found == wanted else "partial", {**planned, **hashes_of(found)}


class RandomPet(Provider):
    """A name made of random words; it exists in the state alone."""

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Return the object with its name as id; separators between words are lower-cased, not the prefix."""
        prefix, separator = planned["prefix"], planned["separator"]
        name = "".join(map(str.lower, separator)).join(pet_words(int(planned["length"])))
        made = {**planned, "prefix": prefix or None, "id": prefix + separator + name if prefix else name}
        if prefix == "":
            raise StepError(
                "Provider produced inconsistent result after apply",
                'An unexpected new value was returned: .prefix: was cty.StringVal(""), but now null.\n\n'
                "Leave the prefix out instead of setting it to an empty string.", made)
        return made


class TerraformData(Provider):
    """A value that is kept: the output is the input as it was when the object was last made or changed."""

    instant = True

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Return the object with a new id: 16 random bytes in the form of a UUID, without version bits."""
        code = os.urandom(16).hex()
        name = "-".join((code[:8], code[8:12], code[12:16], code[16:20], code[20:]))
        return {**self.update({}, planned, runtime), "id": name}

    def update(self, prior: Attributes, planned: Attributes, runtime: Runtime) -> Attributes:
        """Return the planned object; an output that was unknown becomes the input."""
        output = planned["output"]
        return {**planned, "output": planned["input"] if isinstance(output, Unknown) else output}


class TimeSleep(Provider):
    """A pause when it is made and another when it is removed; a change of the durations waits for nothing."""

    def create(self, planned: Attributes, runtime: Runtime) -> Attributes:
        """Wait for create_duration, then return the object with the time as its id."""
        import time
        pause("Create", "create_duration", planned, runtime)
        return {**planned, "id": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(runtime.now()))}

    def delete(self, prior: Attributes, runtime: Runtime) -> None:
        """Wait for the destroy_duration that the state recorded."""
        pause("Delete", "destroy_duration", prior, runtime)


PROVIDERS: Dict[str, Provider] = {
    "local_file": LocalFile(),
    "random_pet": RandomPet(),
    "terraform_data": TerraformData(),
    "time_sleep": TimeSleep(),
}


def attempt(operation: str, filename: str, call: Callable[..., Any], *arguments: Any) -> Any:
    """Return what a system call returns; a failure is an OSError in Go's words: "open a: not a directory"."""
    import errno
    try:
        return call(*arguments)
    except ValueError:  # a NUL byte in the name
        number = errno.EINVAL
    except OSError as error:
        number = error.errno or errno.EIO
    raise OSError(number, f"{operation} {filename}: {os.strerror(number).lower()}")


def file_failure(verb: str, doing: str, error: OSError) -> StepError:
    """Return the error of a local_file step in the provider's words (the plus sign is real)."""
    return StepError(
        f"{verb} local file error",
        f"An unexpected error occurred while {doing}\n\n+Original Error: {error.strerror}")


def located(filename: str, directory: str) -> bytes:
    """Return the path to hand to the system, not cleaned: "a/../b" needs a directory a, as in Go."""
    return os.path.join(os.fsencode(directory), filename.encode()) if filename else b""


def real_path(filename: str, directory: str) -> str:
    """Return the one name of a file, links resolved, to tell whether two objects own the same file."""
    path = located(filename, directory)
    try:
        return os.fsdecode(os.path.realpath(path))
    except ValueError:  # a NUL byte in the name
        return os.fsdecode(path)


def read_file(filename: str, runtime: Runtime) -> bytes:
    """Return the bytes of a file; OSError in the real tool's words."""
    handle = attempt("open", filename, os.open, located(filename, runtime.directory), os.O_RDONLY)
    try:
        return b"".join(iter(lambda: bytes(attempt("read", filename, os.read, handle, 1 << 20)), b""))
    finally:
        os.close(handle)


def write_file(filename: str, content: bytes, mode: int, runtime: Runtime) -> None:
    """Write a file in place; the mode (less the umask) is only for a new one, and links are followed."""
    path, flags = located(filename, runtime.directory), os.O_WRONLY | os.O_CREAT | os.O_TRUNC
    handle = attempt("open", filename, os.open, path, flags, mode)
    try:
        while content:
            content = content[attempt("write", filename, os.write, handle, content):]
    finally:
        os.close(handle)


def make_directories(path: str, mode: int, runtime: Runtime) -> None:
    """Make the directory and what is missing above it; only new ones get the mode (less the umask)."""
    import errno
    missing = []
    while path and not os.path.exists(located(path, runtime.directory)):
        missing.append(path)
        path = os.path.dirname(path)
    if missing and path and not os.path.isdir(located(path, runtime.directory)):
        raise NotADirectoryError(errno.ENOTDIR, f"mkdir {path}: not a directory")
    for path in reversed(missing):
        place = located(path, runtime.directory)
        try:
            attempt("mkdir", path, os.mkdir, place, mode)
        except FileExistsError:
            if not os.path.isdir(place):  # else another worker was faster
                raise


def content_of(attributes: Attributes, runtime: Runtime) -> bytes:
    """Return the bytes that a local_file's arguments ask for; OSError in the real tool's words."""
    if attributes["sensitive_content"] is not None:
        return bytes(attributes["sensitive_content"].encode())
    if attributes["content_base64"] is not None:
        return decode_base64(attributes["content_base64"])
    if attributes["source"] is not None:
        return read_file(attributes["source"], runtime)
    return bytes((attributes["content"] or "").encode())


def decode_base64(text: str) -> bytes:
    """Return the bytes by Go's rules: CR and LF are skipped, padding is a must, loose last bits are fine."""
    import binascii
    import errno
    data = text.encode()
    letters = data.translate(None, b"\r\n")
    if re.fullmatch(rb"(?:[A-Za-z0-9+/]{4})*(?:[A-Za-z0-9+/]{2}==|[A-Za-z0-9+/]{3}=)?", letters):
        return binascii.a2b_base64(letters)
    raise OSError(errno.EINVAL, f"illegal base64 data at input byte {base64_fault(data)}")


def base64_fault(data: bytes) -> int:
    """Return where Go's decoder stops in bytes that are not base64."""
    places = [place for place, letter in enumerate(data) if letter not in b"\r\n"]
    for count, place in enumerate(places):
        if re.match(rb"[A-Za-z0-9+/]", data[place:place + 1]):
            continue
        after = places[count + 1:]
        if data[place:place + 1] != b"=" or count % 4 < 2:
            return place
        if count % 4 == 2:  # a second "=" must follow
            if not after:
                return len(data)
            if data[after[0]:after[0] + 1] != b"=":
                return after[0] - 1
            del after[0]
        return after[0]
    return len(data) - len(places) % 4


def sha1_of(content: bytes) -> str:
    """Return the id that a local_file with this content has."""
    import hashlib
    return hashlib.sha1(content, usedforsecurity=False).hexdigest()


def hashes_of(content: bytes) -> Attributes:
    """Return the seven computed attributes of a local_file with this content."""
    import binascii
    import hashlib
    found = {name: hashlib.new(name, content, usedforsecurity=False) for name in ("md5", "sha1", "sha256", "sha512")}
    return {"id": sha1_of(content), **{f"content_{name}": hashed.hexdigest() for name, hashed in found.items()},
            **{f"content_base64{name}": binascii.b2a_base64(found[name].digest(), newline=False).decode()
               for name in ("sha256", "sha512")}}


def pause(verb: str, argument: str, attributes: Attributes, runtime: Runtime) -> None:
    """Sleep as long as the duration says, if there is one."""
    duration = attributes.get(argument)
    if not duration:  # an older provider could write an empty one
        return
    try:
        seconds = parse_duration(duration)
    except ValueError as error:
        detail = f"The {argument} cannot be parsed\n\n+Original Error: {error}"
        raise StepError(f"{verb} time sleep error", detail) from None
    try:
        if seconds > 0:
            runtime.sleep(seconds)
    except StepError as interrupted:
        raise StepError(f"{verb} time sleep error", f"Original Error: {interrupted.detail}") from None


NANOSECONDS = {"ns": 1, "us": 10**3, "\u00b5s": 10**3, "\u03bcs": 10**3, "ms": 10**6, "s": 10**9,
               "m": 60 * 10**9, "h": 3600 * 10**9}


def parse_duration(text: str) -> float:
    """Return the seconds of a Go duration such as "1h30m"; ValueError where it is none or too long."""
    part = rf"([0-9]+(?:\.[0-9]*)?|\.[0-9]+)({'|'.join(NANOSECONDS)})"
    sign = text[:1] if text[:1] in ("+", "-") else ""
    digits = text[len(sign):]
    try:
        total = sum(int(Decimal(number) * NANOSECONDS[unit]) for number, unit in re.findall(part, digits))
    except ArithmeticError:  # more digits than a Decimal may have
        total = 2**64
    if not re.fullmatch(f"(?:{part})+|0", digits) or total >= 2**63 + (sign == "-"):
        raise ValueError(f'time: invalid duration "{text}"')
    return (-total if sign == "-" else total) / 10**9


def pet_words(length: int) -> List[str]:
    """Return random words: adverbs, then an adjective, then a name; a length below 1 counts as 2."""
    length = 2 if length < 1 else length
    lists = [PET_ADVERBS.split()] * (length - 2) + [PET_ADJECTIVES.split(), PET_NAMES.split()][-length:]
    return [words[int.from_bytes(os.urandom(8), "big") % len(words)] for words in lists]


# Words for pets (our own lists), 2 to 10 letters each.
PET_ADVERBS = """
ably actively amply aptly ardently boldly bravely briefly brightly briskly broadly calmly candidly carefully
certainly cheerily clearly cleverly closely cordially curiously daringly dearly decently deeply deftly
directly eagerly early earnestly easily equally evenly exactly fairly famously fearlessly firmly fluently
fondly formally frankly freely freshly fully gently gladly globally gracefully gratefully greatly handily
happily heartily highly honestly hopefully humbly ideally jovially joyfully justly keenly kindly lively loudly
loyally lucidly merrily mildly modestly naturally neatly newly nicely nimbly nobly notably openly orderly
patiently perfectly plainly playfully pleasantly politely promptly properly proudly quickly quietly radiantly
rapidly readily really richly rightly safely serenely sharply sincerely smartly smoothly socially softly
solidly soundly steadily strongly superbly surely sweetly swiftly thankfully tidily truly usefully vastly
vividly warmly willingly wisely"""
PET_ADJECTIVES = """
able active agile airy alert amber ample apt artful awake balanced beaming bold bookish bouncy brave breezy
bright brisk bubbly busy calm candid careful caring cheerful chilly chipper civil clean clear clever cosmic
cosy crafty crisp curious dainty dapper daring dazzling deft devoted diligent dreamy eager early earnest easy
elated elegant eminent epic fair faithful famous fancy fast fearless festive fine firm fluent fluffy fond
frank free fresh friendly frosty fun gallant game generous gentle genuine gifted giving glad gleaming glowing
golden good graceful grand grateful great green groovy handy happy hardy harmonic hearty helpful honest
hopeful humble ideal informed inspired inventive jaunty jolly jovial joyful just keen kind lasting leading
learned light lively loyal lucid lucky lunar magical major mellow merry mighty mild mindful mint modest
musical natural neat nifty nimble noble open orderly organic patient peaceful peppy perky playful pleasant
plucky poetic polite prime proper proud punctual pure quaint quick quiet radiant rapid rational ready real
refined regal relaxed rich robust rosy royal rugged rustic sandy selfless serene sharp shiny silent silver
simple sincere sleek smart smiling smooth snug sociable soft solid sound spirited splendid spry stable steady
stellar stoic sturdy subtle sunny superb sure sweet swift tactful talented timely tireless tranquil trim true
trusty unique upbeat useful valiant valued vast verdant vivid warm watchful wealthy welcome well willing
winning wise witty zany zealous zesty"""
PET_NAMES = """
aardvark albatross alpaca ant anteater antelope armadillo avocet axolotl badger bandicoot barracuda basilisk
beagle bear beaver bee beetle bison bittern boar bobcat buffalo bulldog bustard buzzard caiman camel capybara
caracal cardinal caribou cat catfish chamois cheetah chickadee chinchilla chipmunk cockatoo collie colt condor
coot coral corgi cormorant cougar coyote crane cricket crow cuckoo curlew dachshund deer dingo dipper dodo
dolphin donkey dormouse dove dragon dragonfly duck eagle echidna egret eider elephant elk emu falcon ferret
finch firefly flamingo fox frog gazelle gecko gerbil gibbon giraffe gnu goat goldfish goose gopher gorilla
goshawk griffin grouse guppy hamster hare hawk hedgehog heron hippo hoopoe hornbill horse hound husky hyena
ibex ibis iguana impala jackal jackdaw jaguar jay jellyfish kestrel kingfisher kite kiwi koala kookaburra
ladybird lamb lapwing lark lemming lemur leopard lion lizard llama loon lynx macaque macaw magpie mallard
manatee mandrill mantis marlin marmoset marmot marten martin meerkat merlin mole mongoose monkey moose moth
mouse mule narwhal newt numbat ocelot octopus okapi opossum orca oriole osprey ostrich otter owl panda
pangolin panther parakeet parrot partridge peacock pelican penguin peregrine pheasant pigeon pika platypus
pony poodle porcupine porpoise possum puffin puma python quail quetzal rabbit raccoon ram raven redshank
reindeer rhino roadrunner robin roe sable salamander sandpiper seahorse seal serval shark sheep shrew skink
skipper skylark sloth snail spaniel sparrow squirrel stag starfish starling stingray stork sturgeon swallow
swan swift tapir tarsier terrapin terrier thrush tiger toad tortoise toucan turtle vole wagtail wallaby walrus
warbler weasel whale whippet wolf wombat woodcock wren yak zebra"""


# --------------------------------------------------------------------------------------
# the state file and its lock
# StateFile("terraform.tfstate", "OperationTypeApply")  ->  locked, read and written through one descriptor
# --------------------------------------------------------------------------------------

WRITE_EVERY = 1.0  # seconds between rewrites of the state file during a run
WRITE_SHARE = 0.05  # of the run's time at most goes into them
SYNC_EVERY = 0.1  # seconds after which finished steps are safe from a power cut


def write_state_bytes(fd: int, data: bytes) -> None:
    """Rewrite the state file in place: the lock hangs on this very file, so it is not replaced by renaming."""
    os.ftruncate(fd, 0)
    offset = 0
    while offset < len(data):
        offset += os.pwrite(fd, data[offset:offset + (1 << 24)], offset)


def read_all(fd: int) -> bytes:
    """Return the whole content of an open file."""
    os.lseek(fd, 0, os.SEEK_SET)
    with open(fd, "rb", 0, closefd=False) as file:  # into one buffer, not into parts that are joined
        return file.read()


def digest(data: bytes) -> str:
    """Return the checksum that tells whether a state file is one that a journal knows."""
    import hashlib
    found = re.search(rb"\S(?:.*\S)?", data, re.DOTALL)  # what strip() leaves, without a copy of it
    return hashlib.sha256(memoryview(data)[found.start():found.end()] if found else b"").hexdigest()


def beside(path: str, suffix: str) -> str:
    """Return the hidden file beside the state file: ".terraform.tfstate.journal" for the suffix "journal"."""
    directory, name = os.path.split(path)
    return os.path.join(directory, f".{name[1:] if name.startswith('.') else name}.{suffix}")


def is_waiting(path: str) -> bool:
    """Return whether a file is a fifo, a socket or a device, which may have no end or wait for another process."""
    return not (os.path.isfile(path) or os.path.isdir(path) or os.path.realpath(path) == os.devnull) and os.path.exists(path)


def remove_quietly(path: str) -> None:
    """Remove a file if that is possible."""
    try:
        os.unlink(path)
    except OSError:
        pass


class StateFile:
    """The open state file of one command: locked as the real tools lock it, read and written through one descriptor.

    A POSIX lock goes when the process closes any descriptor of the file, so the file is opened exactly once.
    """

    def __init__(self, path: str, operation: str, timeout: float = 0, lock: bool = True,
                 waiting: Callable[[], None] = lambda: None, version: str = "") -> None:
        self.path, self.info_path = path, beside(path, "lock.info")
        self.created = not os.path.exists(path)
        self.locked = False
        self.copied = False  # the state comes from another file (-state-out): written though nothing changed
        self.state: Optional[State] = None  # what the file held when it was read, if just that
        self.fd = -1
        try:
            self.open(lock, timeout, waiting)
            if self.locked:
                self.write_info(operation, version)
        except OSError as error:
            self.close()
            raise StateError("Error opening the state file", f"{path} cannot be opened for reading and writing:"
                             f" {(error.strerror or str(error)).lower()}. Nothing was changed.") from None

    def open(self, lock: bool, timeout: float, waiting: Callable[[], None]) -> None:
        """Open the file and take its write lock, trying again with growing pauses until the timeout."""
        import errno
        import fcntl
        import stat
        import time
        started, pause = time.monotonic(), 1.0
        while True:
            self.fd = os.open(self.path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o666)
            if stat.S_ISFIFO(os.fstat(self.fd).st_mode):
                raise OSError(errno.EINVAL, "a fifo holds no state")
            if not lock:
                return
            left = None  # the holder before us removed the empty file that it had made: try again at once
            try:
                fcntl.lockf(self.fd, fcntl.LOCK_EX | fcntl.LOCK_NB)
                if os.path.samestat(os.stat(self.path), os.fstat(self.fd)):
                    self.locked = True
                    return
            except FileNotFoundError:
                pass
            except OSError as error:
                if error.errno not in (errno.EACCES, errno.EAGAIN):
                    raise
                left = timeout - (time.monotonic() - started)
            os.close(self.fd)
            self.fd = -1
            if left is None:
                continue
            if left <= 0:
                raise self.contention()
            if pause == 1.0:
                waiting()
            time.sleep(min(pause, left))
            pause = min(16.0, pause * 2)

    def contention(self) -> StateError:
        """Return the real lock error with the details of the holder, as far as it left any."""
        import json
        told = "resource temporarily unavailable\n"
        try:
            with open(self.info_path, encoding="utf-8") as file:
                info = json.loads(file.read())
            info["Created"] = str(info["Created"]).replace("T", " ").replace("Z", " +0000 UTC")
            names = ("ID", "Path", "Operation", "Who", "Version", "Created", "Info")
            told += "\n".join(["Lock Info:", *(f"  {name + ':':<11}{info[name]}" for name in names)])
        except (OSError, ValueError, KeyError, TypeError):
            told += f"open {self.info_path}: the holder left no lock details"
        return StateError("Error acquiring the state lock", f"Error message: {told}\n\n\nminigraph acquires a state lock to"
                          " protect the state from being written\nby multiple users at the same time. Please resolve the"
                          ' issue above and try\nagain. For most commands, you can disable locking with the "-lock=false"\n'
                          "flag, but this is not recommended.")

    def write_info(self, operation: str, version: str) -> None:
        """Write who holds the lock beside the state file; it is information only."""
        import json
        import pwd
        import time
        try:
            user = pwd.getpwuid(os.getuid()).pw_name
        except KeyError:
            user = str(os.getuid())
        now = time.time_ns()
        created = time.strftime("%Y-%m-%dT%H:%M:%S", time.gmtime(now // 10**9)) + f".{now % 10**9:09d}Z"
        info = {"ID": new_uuid(), "Operation": operation, "Info": "", "Who": f"{user}@{os.uname().nodename}",
                "Version": version, "Created": created, "Path": self.path}
        with open(os.open(self.info_path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600), "w") as file:
            file.write(json.dumps(info))

    def read(self) -> bytes:
        """Return the bytes of the file as they are now."""
        return read_all(self.fd)

    def is_elsewhere(self) -> bool:
        """Return whether the path no longer leads to the open file: what is written to it is lost then."""
        try:
            return not os.path.samestat(os.stat(self.path), os.fstat(self.fd))
        except OSError:
            return True

    def write(self, data: bytes, sync: bool = False) -> None:
        """Rewrite the file; ``sync`` waits until it is safe from a power cut."""
        write_state_bytes(self.fd, data)
        self.created = False
        if sync:
            os.fsync(self.fd)

    def close(self) -> None:
        """Release the lock; an empty file that this command made goes again."""
        if self.fd < 0:
            return
        if self.locked:
            remove_quietly(self.info_path)
        if self.created and os.fstat(self.fd).st_size == 0:
            remove_quietly(os.path.realpath(self.path))  # a link to it stays
        os.close(self.fd)
        self.fd, self.locked = -1, False

    def __enter__(self) -> "StateFile":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def keep_backup(path: str, file: StateFile) -> None:
    """Copy the state file as it was before to a backup file, unless it is empty or there is no path."""
    data = file.read() if path else b""
    if data and not data.isspace():
        with open(path, "wb") as copy:
            copy.write(data)


# --------------------------------------------------------------------------------------
# the journal
# {"did": "start", "step": "local_file.a", ...}  {"did": "end", "step": "local_file.a", "instance": {...}}
# --------------------------------------------------------------------------------------


class Entry(NamedTuple):
    """One line of the journal: what a step is about to do ("start"), or how it went ("end", "fail").

    ``verb``: create update delete. ``deposed``: the key of the deposed object that a delete removes. ``depose``: the
    key under which a create puts the old object away. ``instance``: the object afterwards (at a start: as planned).
    ``returns``: a delete makes room for a new object of the same address.
    """

    did: str
    step: str
    address: str
    verb: str
    deposed: str = ""
    depose: str = ""
    instance: Optional[Instance] = None
    returns: bool = False


def record(state: State, entry: Entry) -> None:
    """Bring the state up to one entry; the run and the recovery of a journal share this."""
    address = entry.address
    if entry.did == "start":
        if entry.depose and address in state.objects:
            state.deposed.setdefault(address, {})[entry.depose] = state.objects.pop(address)
    elif entry.instance is not None:
        state.objects[address] = entry.instance
    elif entry.did == "fail":
        if entry.depose in state.deposed.get(address, ()):
            state.objects[address] = state.deposed[address][entry.depose]
            forget(state.deposed, address, entry.depose)
    elif entry.deposed:
        if entry.deposed in state.deposed.get(address, ()):
            forget(state.deposed, address, entry.deposed)
    elif address in state.objects:
        gone = state.objects.pop(address)
        if state.direct:
            hand_down(state, address, gone, entry.returns)


def hand_down(state: State, address: str, gone: Instance, returns: bool) -> None:
    """Give what a removed object needed to those that needed it: direct sets keep the destroy order that way.

    They go on needing an address that ``returns``.
    """
    left = set() if returns else {address}
    for user in sorted(state.users.get(address, ())):
        instance = state.objects.get(user)
        if instance is not None and address in instance.dependencies:
            needs = (set(instance.dependencies) - left) | set(gone.dependencies)
            state.objects[user] = instance._replace(dependencies=tuple(sorted(needs)))
            for needed in gone.dependencies:
                state.users.setdefault(needed, set()).add(user)


class Journal:
    """The file beside the state that makes a run safe: a base state, then every step's start and end.

    It holds all that is needed to rebuild the state file, readable by the owner alone, and goes when the run is over.
    ``data``: the text of the base, if it is at hand: to make it takes 4 s for 100,000 objects.
    """

    def __init__(self, path: str, base: State, known: str, data: bytes = b"") -> None:
        import threading
        import time
        self.path = path
        self.clock = time.monotonic
        self.fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        self.synced = self.clock()
        self.dirty = False
        self.syncing: Optional[threading.Thread] = None
        self.trouble: List[OSError] = []  # of a sync beside the walk
        self.failed = False  # a line may be there in part: no other may follow
        data = data or state_bytes(base)
        self.note({"minigraph_journal": 1, "lineage": base.lineage, "serial": base.serial, "state": known, "base": len(data)})
        self.put(data)

    def put(self, data: bytes) -> None:
        """Append bytes: the system has them then, and a kill of this process cannot take them away.

        A failure to write is the caller's to handle: no step may start then.
        """
        rest = memoryview(data)
        self.failed = True
        while rest:
            rest = rest[os.write(self.fd, rest):]
        self.failed, self.dirty = False, True

    def note(self, document: Dict[str, Value]) -> None:
        """Append one line."""
        self.put(compact_json(document).encode("utf-8", "replace") + b"\n")

    def append(self, entry: Entry) -> None:
        """Append an entry: a start before its step runs, an end before it is told."""
        document = {name: value for name, value in entry._asdict().items() if value and name != "instance"}
        if entry.instance is not None:
            document["provider"] = entry.instance.provider
            document["instance"] = instance_document(entry.instance)
        self.note(document)

    def sync(self, at_once: bool = False) -> None:
        """Make the lines safe from a power cut, at most every SYNC_EVERY seconds and beside the walk.

        A disk takes milliseconds for it, in which the walk would start nothing. A failure shows at the next call.
        """
        import threading
        if self.syncing and (at_once or not self.syncing.is_alive()):
            self.syncing.join()
            self.syncing = None
            if self.trouble:
                raise self.trouble.pop()
        if not self.dirty:
            return
        if at_once:
            self.dirty = False
            os.fsync(self.fd)
        elif self.syncing is None and self.clock() - self.synced >= SYNC_EVERY:
            self.dirty, self.synced = False, self.clock()
            self.syncing = threading.Thread(target=self.sync_beside)
            self.syncing.start()

    def sync_beside(self) -> None:
        """Sync in a thread of its own."""
        try:
            os.fsync(self.fd)
        except OSError as error:
            self.trouble.append(error)

    def close(self, remove: bool) -> None:
        """Close the file and, once the state file holds everything, remove it."""
        if self.syncing:
            self.syncing.join()
        os.close(self.fd)
        if remove:
            remove_quietly(self.path)


def write_safely(file: StateFile, state: State, journal: Optional[Journal] = None) -> None:
    """Rewrite the state file so that a crash in the middle loses nothing: a journal knows the content before.

    Without the ``journal`` of a run, one that holds the new state alone stands beside the file meanwhile.
    """
    data = state_bytes(state)
    known = journal or Journal(beside(file.path, "journal"), state, digest(file.read()))
    known.note({"did": "write", "state": digest(data)})
    known.sync(True)
    file.write(data, sync=journal is None)
    if journal is None:
        known.close(remove=True)


# --------------------------------------------------------------------------------------
# recovery
# a journal whose last create never ended, and the file that it left  ->  State with that file in it
# --------------------------------------------------------------------------------------


def recover(path: str, known: bytes, runtime: Runtime) -> Optional[Tuple[State, List[str]]]:
    """Return the state that a journal and the disk show, with a line for people about each thing found.

    None where there is no journal; nothing is written.
    ``known`` is the content of the state file. A file that another tool wrote since then wins, and only created
    objects that it does not know are added. StateError where the journal cannot be read.
    """
    try:
        if is_waiting(path):
            raise OSError(0, "not a regular file")
        with open(path, "rb") as file:
            head, newline, rest = file.read().partition(b"\n")
    except FileNotFoundError:
        return None
    except OSError as error:
        raise StateError("Journal cannot be read", f"{path}: {(error.strerror or '').lower()}. It holds what an earlier run"
                         " did; make it readable, or move it away to go on without it.") from None
    if not newline:
        return None  # cut off before anything was done
    header = journal_line(path, head, 1)
    length = header.get("base")
    if not same(header.get("minigraph_journal"), 1) or type(length) is not int:
        raise journal_error(path, 1, "it does not begin as a journal does")
    if len(rest) < length:
        return None
    state = read_state(rest[:length].decode("utf-8", "replace"), path)
    written = [header.get("state")]
    entries: List[Entry] = []
    first = 2 + rest[:length].count(b"\n")
    for number, line in enumerate(rest[length:].split(b"\n")[:-1], first):  # the last one was cut off while it was written
        document = journal_line(path, line, number)
        if document.get("did") == "write":
            written.append(document.get("state"))
            state.serial += 1
        else:
            entries.append(read_entry(path, document, number))
    found = replay(state, entries, runtime)
    made = {entry.address for entry in entries if entry.verb == "create"}
    return taken_over(known, written, state, made) or (state, found)


def journal_error(path: str, number: int, what: str) -> StateError:
    """Return the refusal of a journal; nothing was changed."""
    return StateError("Journal cannot be read", f"{path} line {number}: {what}. It holds what an earlier run did, so nothing"
                      " was changed; repair it, or move it away to go on with the state file as it is.")


def journal_line(path: str, line: bytes, number: int) -> Dict[str, Value]:
    """Return one line of the journal as an object."""
    try:
        document = exact_json(line.decode("utf-8"))
    except (ValueError, ArithmeticError, RecursionError) as error:
        raise journal_error(path, number, f"it is not valid JSON ({error})") from None
    if not isinstance(document, dict):
        raise journal_error(path, number, "it is not a JSON object")
    return document


def read_entry(path: str, document: Dict[str, Value], number: int) -> Entry:
    """Return the entry that one line of a journal holds."""
    texts = [document.get(key, "") for key in ("did", "step", "address", "verb", "deposed", "depose")]
    if not all(isinstance(text, str) for text in texts) or texts[0] not in ("start", "end", "fail"):
        raise journal_error(path, number, "it is not an entry of a step")
    entry, raw = Entry(*texts)._replace(returns=document.get("returns") is True), document.get("instance")
    if raw is None:
        return entry
    try:
        return entry._replace(instance=read_instance(sort_key(texts[2])[0], raw, document["provider"]))
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError) as error:
        raise journal_error(path, number, f"its object cannot be read ({error})") from None


def replay(state: State, entries: List[Entry], runtime: Runtime) -> List[str]:
    """Bring the state up to a journal's entries and settle the steps that never ended; return what was found.

    A create that did not end is adopted if the object is there as planned, tainted if it is there in part and
    forgotten if it is not there. An update or destroy that did not end left the object as the state knows it.
    """
    state.index_users()
    open_steps: Dict[str, Entry] = {}
    for entry in entries:
        record(state, entry)
        if entry.did == "start":
            open_steps[entry.step] = entry
        else:
            open_steps.pop(entry.step, None)
    ended = sum(1 for entry in entries if entry.did != "start")
    lines = [f"{ended} finished step{'s' * (ended != 1)}"] if ended else []
    for step, entry in sorted(open_steps.items()):
        if entry.verb != "create":
            lines.append(f"{step}: its {'destroy' if entry.verb == 'delete' else entry.verb} did not end and will be done again")
            continue
        planned, attributes = entry.instance, None
        if planned is not None:
            outcome, attributes = PROVIDERS[planned.type].recover(planned.attributes, runtime)
        if attributes is None or planned is None:
            record(state, entry._replace(did="fail", instance=None))
            lines.append(f"{step}: its create did not end and left nothing")
        else:
            made = planned._replace(attributes=attributes, tainted=outcome == "partial")
            record(state, entry._replace(did="end", instance=made))
            lines.append(f"{step}: its create did not end; the object is there"
                         + (" in part and recorded as tainted" if made.tainted else " as planned and was adopted"))
    return lines


def taken_over(known: bytes, written: List[Value], rebuilt: State, made: Set[str]) -> Optional[Tuple[State, List[str]]]:
    """Return the state of a file that another tool wrote after the run died, with what the run made and it lacks."""
    if digest(known) in written or not known.strip():
        return None
    try:
        newer = read_state(known.decode("utf-8"), "state")
    except (StateError, UnicodeDecodeError):
        return None  # cut short while it was rewritten
    if newer.lineage != rebuilt.lineage:
        raise StateError("Journal of another state", "The journal beside the state file belongs to a state with another"
                         " lineage. It holds what an earlier run did, so nothing was changed; move one of the two away.")
    if newer.serial < rebuilt.serial:
        return None
    added = []
    for address in sorted(made & rebuilt.objects.keys()):
        found, now = rebuilt.objects[address], newer.objects.get(address)
        if now is None:
            newer.objects[address] = found
        elif any(found.attributes.get(name) != now.attributes.get(name) for name in ("id", "filename")):
            newer.deposed.setdefault(address, {})[digest(str(found.attributes.get("id")).encode())[:8]] = found
        else:
            continue
        added.append(f"{address}: created by the run that died, unknown to the state file written since")
    return newer, added


# --------------------------------------------------------------------------------------
# applying, progress
# Plan  ->  steps done, "local_file.a: Creating...", the new state in terraform.tfstate
# --------------------------------------------------------------------------------------

Emit = Callable[..., None]  # emit(kind, **what): progress as it happens, shown as text or as JSON lines


class Stop:
    """The wish to stop: set by a signal or a closed output, seen by the walk and by sleeping providers."""

    def __init__(self) -> None:
        import threading
        self.event = threading.Event()

    def sleep(self, seconds: float) -> None:
        """Sleep, unless told to stop: then StepError, as the real provider reports a cancelled context."""
        if self.event.wait(seconds):
            raise StepError("Interrupted", "context canceled")


def reader(config: Config, runtime: Runtime, emit: Emit) -> Read:
    """Return the function that reads one object for a plan and tells so."""
    def read(address: str, key: str, instance: Instance) -> Optional[Dict[str, Value]]:
        emit("refresh_start", address=address, deposed=key, id=instance.attributes.get("id"))
        try:
            found = PROVIDERS[instance.type].read(instance.attributes, runtime)
        except StepError as error:
            raise MinigraphError(step_diagnostic(error, config, address)) from None
        emit("refresh_complete", address=address, deposed=key, id=found.get("id") if found else None)
        return found
    return read


def with_key(address: str, deposed: str) -> str:
    """Return an address with the key of the deposed object that is meant, if one is."""
    return f"{address} (deposed object {deposed})" if deposed else address


def step_diagnostic(error: StepError, config: Config, address: str) -> Diagnostic:
    """Return the diagnostic of a provider error, at the block of its resource where there is one."""
    resource = config.resources.get(address)
    return Diagnostic(error.summary, error.detail, resource.spot if resource else None, None, address)


def provider_address(type_name: str, host: str) -> str:
    """Return the provider of a type as a state file names it."""
    source = SCHEMAS[type_name].source
    return f'provider["{host}/{source}"]' if source else 'provider["terraform.io/builtin/terraform"]'


def provider_host(state: State, directory: str) -> str:
    """Return the registry host for new objects: the state's, else the lock file's, else the one both tools accept."""
    named = [item.provider for found in (state.objects, *state.deposed.values()) for item in found.values()
             if SCHEMAS[item.type].source]
    for provider in named + [str(entry.get("provider")) for entry in state.foreign]:
        host = re.search('"([^/"]+)/hashicorp/', provider)
        if host:
            return host[1]
    try:
        with open(os.path.join(directory, ".terraform.lock.hcl"), encoding="utf-8") as file:
            found = re.search(r'provider\s+"([^/"]+)/hashicorp/(?:local|random|time)"', file.read())
            return found.group(1) if found else "registry.terraform.io"
    except (OSError, ValueError):
        return "registry.terraform.io"


def recorded_dependencies(plan: Plan, state: State) -> Dict[str, Tuple[str, ...]]:
    """Return what each configured resource will record: transitive needs, or direct ones past RECORDED_LIMIT.

    Sets ``state.direct`` accordingly and brings the lists of objects outside the configuration into the same form.
    """
    closed = closure(plan.configured, RECORDED_LIMIT)
    others = closure(state_deps(state), RECORDED_LIMIT) if closed is not None and state.direct else {}
    state.direct = closed is None or others is None
    if closed is None or others is None:
        return {address: tuple(sorted(found)) for address, found in transitive_reduction(plan.configured).items()}
    for address in state.objects.keys() & others.keys():
        state.objects[address] = state.objects[address]._replace(dependencies=others[address])
    return closed


class Task(NamedTuple):
    """A step that was started: its journal entry, the provider call, the object as planned (or about to go).

    ``path``: the file that the object owns, or "".
    """

    entry: Entry
    call: Callable[[Runtime], Optional[Dict[str, Value]]]
    instance: Instance
    path: str = ""
    shared: bool = False  # whether other objects own that file


class Apply:
    """One run over the steps of a plan. All of it belongs to the coordinating thread; workers only run ``Task.call``."""

    def __init__(self, plan: Plan, file: StateFile, runtime: Runtime, emit: Emit, stop: Stop, backup: str = "") -> None:
        import time
        from collections import deque
        self.plan, self.file, self.runtime, self.emit, self.stop = plan, file, runtime, emit, stop
        self.backup, self.known = backup, digest(file.read())
        self.graph = plan_steps(plan)
        self.evaluator = plan.evaluator
        self.state = plan.prior.copy()
        self.state.lineage = self.state.lineage or new_uuid()
        self.state.terraform_version = TERRAFORM_VERSION
        self.host = provider_host(plan.before_refresh, plan.config.directory)
        self.recorded: Dict[str, Tuple[str, ...]] = {}
        self.new_keys: Dict[str, str] = {}
        self.tasks: Dict[str, Task] = {}
        self.owners: Dict[str, int] = {}  # how many objects own each file
        self.busy: Set[str] = set()  # the files of running steps
        self.errors: List[Diagnostic] = []  # in the order in which they came
        self.counts = {"create": 0, "update": 0, "delete": 0}
        self.walked = WalkResult()
        self.journal: Optional[Journal] = None
        self.broken: Optional[OSError] = None  # the state file could not be written: the journal holds what was done
        self.unwritten = False
        self.clock = time.monotonic
        self.started = self.last_write = self.clock()
        self.writing = 0.0  # seconds spent in rewrites of the state file
        self.marks: deque[Tuple[float, str, float]] = deque()  # when a step still running is told of, and its start

    def run(self, parallelism: int) -> "Apply":
        """Walk the steps, keep journal and state file up to date, and leave the state file whole at the end."""
        self.prepare_state()
        if self.graph.steps:  # the base of the journal is written before anything happens
            path = beside(self.file.path, "journal")
            try:
                as_read = self.file.state is self.plan.before_refresh and same_content(self.plan.before_refresh, self.state)
                self.journal = Journal(path, self.state, self.known, self.file.read() if as_read else b"")
                self.journal.sync(True)
            except OSError as error:
                raise StateError("The journal cannot be written", f"{path}: {reason_of(error)}. Nothing was done:"
                                 " without it, a crash could lose what a step made.") from None
        try:
            self.walked = walk(self.graph.deps, self.work, parallelism, prepare=self.prepare,
                               finish=self.finish, tick=self.tick, weigh=self.weigh, instant=self.is_instant,
                               stopped=lambda: self.stop.event.is_set() or self.broken is not None)
            self.store_outputs()
        finally:
            self.save()
        for bug in self.walked.errors.values():
            if not isinstance(bug, (StepError, MinigraphError, OSError)):
                raise bug
        if self.broken is not None:
            path = self.broken.filename or self.file.path
            self.errors.append(Diagnostic("Failed to save the state", f"{path}: {reason_of(self.broken)}. What was"
                                          " done is in the journal beside it; when the file can be written again, the next"
                                          " apply or destroy brings it up to date."))
        self.errors = placed(self.errors, self.plan.config.sources)
        return self

    def work(self, node: str) -> Optional[Dict[str, Value]]:
        """Call the provider, in a worker."""
        task = self.tasks[node]
        return task.call(self.runtime._replace(shared=True) if task.shared else self.runtime)

    def is_instant(self, node: str) -> bool:
        """Return whether a step that was prepared needs no worker."""
        return PROVIDERS[self.tasks[node].instance.type].instant

    def weigh(self, node: str) -> float:
        """Return the seconds that a step is planned to sleep, and a little for any other: long chains go first."""
        step = self.graph.steps.get(node)
        if step is None:
            return 0.0
        attributes = (step.change.before if step.destroys else step.change.after) or {}
        duration = attributes.get("destroy_duration" if step.destroys else "create_duration")
        if step.change.verb == "update" or not isinstance(duration, str):
            return 0.001
        try:
            return 0.001 + parse_duration(duration)
        except ValueError:
            return 0.001

    def prepare_state(self) -> None:
        """Record dependencies and flags of unchanged objects as the configuration has them; forget unknown locals."""
        plan, state, values = self.plan, self.state, self.evaluator.values
        if plan.mode == "normal":
            self.recorded = recorded_dependencies(plan, state)
            changed = {change.address for change in plan.changed() if not change.deposed}
            for address in plan.config.resources.keys() & plan.kept & state.objects.keys() - changed:
                instance = state.objects[address]
                needs, flag = self.recorded.get(address, ()), address in plan.create_before_destroy
                if (instance.dependencies, instance.create_before_destroy) != (needs, flag):  # else it stays the same one
                    state.objects[address] = instance._replace(dependencies=needs, create_before_destroy=flag)
        state.index_users()
        for found in [state.objects, *state.deposed.values()]:
            for instance in found.values():
                self.own(self.owned_path(instance), 1)
        for name in [name for name in values if name.startswith("local.") and not is_known(unmarked(values[name])[0])]:
            del values[name]

    def owned_path(self, instance: Instance) -> str:
        """Return the real path of the file that an object owns, or ""."""
        filename = instance.attributes.get("filename")
        return real_path(filename, self.runtime.directory) if isinstance(filename, str) else ""

    def own(self, path: str, number: int) -> int:
        """Return how many objects own a file, with ``number`` more from now on."""
        if path:
            self.owners[path] = self.owners.get(path, 0) + number
        return self.owners.get(path, 0)

    def prepare(self, node: str) -> Optional[bool]:
        """Decide what a step has to do, tell and journal its start; False where nothing is to be done.

        None where another step is busy with the same file: of two objects that own it, one goes and one comes.
        """
        step = self.graph.steps.get(node)
        if step is None:
            return False
        try:
            task = self.destroy_task(step) if step.destroys else self.apply_task(step)
        except MinigraphError as error:
            self.errors += error.diagnostics
            raise
        if task is None:
            return False
        path = self.owned_path(task.instance)
        if path in self.busy:
            return None
        self.keep_entry(task.entry)
        if path:
            self.busy.add(path)
        more = {"create": 1, "delete": -1}.get(task.entry.verb, 0)
        others = self.own(path, more) - (more >= 0)
        record(self.state, task.entry)
        self.tasks[node] = task._replace(path=path, shared=others > 0)
        now = self.clock()
        self.marks.append((now + 10, node, now))
        self.emit("apply_start", entry=task.entry, instance=task.instance)
        return True

    def keep_entry(self, entry: Entry) -> None:
        """Put an entry in the journal; a step whose start cannot be written does not run, and no other does."""
        try:
            if self.journal and not self.journal.failed:
                self.journal.append(entry)
        except OSError as error:
            self.broken = error
            if entry.did == "start":
                raise

    def destroy_task(self, step: Step) -> Optional[Task]:
        """Return what a destroy step does; an object that is gone already needs nothing."""
        change, address = step.change, step.change.address
        replaces = change.verb == "replace"
        key = self.new_keys.get(address, "") if replaces and change.create_before_destroy else change.deposed
        instance = self.state.deposed.get(address, {}).get(key) if key else self.state.objects.get(address)
        if instance is None or (is_late(step) and not key and replaces):
            return None
        attributes, provider = instance.attributes, PROVIDERS[instance.type]
        return Task(Entry("start", step.name, address, "delete", key, returns=replaces),
                    lambda runtime: provider.delete(attributes, runtime), instance)

    def apply_task(self, step: Step) -> Optional[Task]:
        """Return what a create or update step does, from arguments that are all known now.

        An update that was planned for an unknown and turns out to change nothing is dropped, as in the real engine.
        """
        change, address = step.change, step.change.address
        resource = self.plan.config.resources[address]
        old = self.state.objects.get(address)
        prior = old if change.verb == "update" else None
        settle_locals(self.plan, self.evaluator, address)
        args, paths, _ = evaluate_arguments(self.evaluator, resource)
        if prior is not None:
            args = without_ignored(resource, args, prior)
        planned = plan_resource(address, resource.type, args, prior, paths=paths)
        if planned.verb == "noop" and prior is not None:
            added = self.recorded.get(address, ()) if self.plan.options.refresh else ()  # the real engine drops none here
            self.state.objects[address] = prior._replace(dependencies=tuple(sorted({*prior.dependencies, *added})),
                                                         create_before_destroy=address in self.plan.create_before_destroy)
            self.remember(address, prior)
            return None
        if planned.verb == "replace":
            raise MinigraphError(Diagnostic("Planned update turned into a replacement", f"Now that all values are known,"
                                            f" {planned.reason}, which the plan could not see. Plan and apply again.",
                                            resource.spot, address=address))
        attributes, provider = planned.after or {}, PROVIDERS[resource.type]
        instance = Instance(  # as the step will leave it, with what its provider computes still unknown
            resource.type, attributes, False, self.recorded.get(address, ()),
            address in self.plan.create_before_destroy, planned.after_sensitive,
            old.provider if old else provider_address(resource.type, self.host), 0,
            prior.extra if prior else None)
        entry = Entry("start", step.name, address, "create")
        if prior is not None:
            before = prior.attributes
            return Task(entry._replace(verb="update"), lambda runtime: provider.update(before, attributes, runtime), instance)
        if old is not None and change.create_before_destroy:
            key = os.urandom(4).hex()
            while key in self.state.deposed.get(address, ()):
                key = os.urandom(4).hex()
            self.new_keys[address] = key
            entry = entry._replace(depose=key)
        if type(provider).recover is not Provider.recover:  # it leaves traces outside the state to compare with
            known = {name: None if isinstance(value, Unknown) else value for name, value in attributes.items()}
            entry = entry._replace(instance=instance._replace(attributes=known))
        return Task(entry, lambda runtime: provider.create(attributes, runtime), instance)

    def finish(self, node: str, outcome: Any, error: Optional[BaseException]) -> None:
        """Record how a step ended: in the state, in the journal, for the user."""
        task = self.tasks.pop(node)
        entry, instance = task.entry._replace(did="fail" if error else "end", instance=None), task.instance
        creates, deletes = entry.verb == "create", entry.verb == "delete"
        left: Any = error.attributes if isinstance(error, StepError) else None if error else outcome
        if not deletes and (error is None or left is not None):
            instance = instance._replace(attributes=left, tainted=error is not None and creates)
            entry = entry._replace(instance=instance)
            self.remember(entry.address, instance)
        elif creates or deletes and error is not None:  # not made after all, or not gone
            self.own(task.path, 1 if deletes else -1)
        self.busy.discard(task.path)
        record(self.state, entry)
        self.keep_entry(entry)
        self.unwritten = True
        self.emit("apply_errored" if error else "apply_complete", entry=entry, instance=instance)
        if error is None:
            self.counts[entry.verb] += 1
        elif isinstance(error, StepError):
            found = step_diagnostic(error, self.plan.config, entry.address)
            if deletes:  # it has no block to point at
                found = found._replace(spot=None, address=with_key(entry.address, entry.deposed))
            self.errors.append(found)
        elif isinstance(error, OSError):
            self.errors.append(Diagnostic(f"{entry.step} failed", reason_of(error), address=entry.address))
        self.write_if_due()

    def remember(self, address: str, instance: Instance) -> None:
        """Make an object's attributes known to the expressions that refer to it."""
        self.evaluator.values[address] = seen(instance.type, instance.attributes)
        if instance.sensitive:
            self.evaluator.marks[address] = instance.sensitive

    def tick(self) -> Optional[float]:
        """Tell of steps that take long, write what is due; return the seconds until the next thing is due."""
        now = self.clock()
        while self.marks and (self.marks[0][0] <= now or self.marks[0][1] not in self.tasks):
            due, node, began = self.marks.popleft()
            task = self.tasks.get(node)
            if task and due <= now:
                self.emit("apply_progress", entry=task.entry, instance=task.instance, elapsed=round(due - began))
                self.marks.append((due + 10, node, began))
        self.write_if_due()
        waits = [WRITE_EVERY] if self.unwritten else []
        if self.journal:
            try:
                self.journal.sync()
            except OSError as error:
                self.broken = error
            if self.journal.dirty:
                waits.append(SYNC_EVERY)
        if self.marks:
            waits.append(max(0.0, self.marks[0][0] - now))
        return min(waits, default=None)

    def write_if_due(self) -> None:
        """Rewrite the state file if a second has passed and rewriting has taken less than its share of the run."""
        now = self.clock()
        if (self.unwritten and now - self.last_write >= WRITE_EVERY
                and self.writing <= WRITE_SHARE * (now - self.started)):
            self.write(False)

    def write(self, sync: bool) -> None:
        """Rewrite the state file with a higher serial; the journal knows the content before it is written."""
        began = self.clock()
        self.state.serial += 1
        try:
            keep_backup(self.backup, self.file)
            self.backup = ""
            write_safely(self.file, self.state, self.journal)
            if sync:
                os.fsync(self.file.fd)
            self.unwritten = False
        except OSError as error:
            self.broken = error
        self.last_write = self.clock()
        self.writing += self.last_write - began

    def store_outputs(self) -> None:
        """Store every output that can be evaluated now; one that still hangs on an unknown keeps its old value."""
        if self.plan.mode == "destroy" and not self.plan.partial:
            self.state.outputs.clear()
        for change in self.plan.outputs:
            name, after = change.name, change.after
            if change.verb != "delete" and self.plan.mode == "normal":
                try:
                    settle_locals(self.plan, self.evaluator, f"output.{name}")
                    after = unmarked(evaluate_value(self.plan.config, self.evaluator, f"output.{name}"))[0]
                    after = as_output(after)
                except (MinigraphError, KeyError):
                    continue
            self.state.set_output(name, after, change.sensitive_after)

    def save(self) -> None:
        """Write the state file a last time if it is not what the state is now, and let the journal go."""
        changed = self.state.serial != self.plan.prior.serial or not same_content(self.plan.before_refresh, self.state)
        fresh = self.known == digest(b"") and self.state.holds_nothing()
        if self.file.copied or changed and not fresh:
            self.write(True)
        if self.journal:
            if self.broken is None and self.file.is_elsewhere():
                self.broken = FileNotFoundError(0, "It was removed or replaced during the run", self.file.path)
            self.journal.close(remove=self.broken is None)


def reason_of(error: OSError) -> str:
    """Return what the system says of a failure, in lower case."""
    return (error.strerror or str(error)).lower()


def settle_locals(plan: Plan, evaluator: Evaluator, address: str) -> None:
    """Evaluate the locals behind a node that have no value yet, each after those that it needs."""
    values, pending = evaluator.values, [address]
    while pending:
        node = pending[-1]
        missing = [found for found in plan.deps.get(node, ()) if found.startswith("local.") and found not in values]
        if missing:
            pending += missing
            continue
        pending.pop()
        if node != address and node not in values:
            values[node] = evaluate_value(plan.config, evaluator, node)


# ======================================================================================
# SHOW
# ======================================================================================

# --------------------------------------------------------------------------------------
# differences of values
# compare({"a": 1}, {"a": 2})  ->  Diff("update", "object", parts={"a": Diff("update", "number", 1, 2)})
# --------------------------------------------------------------------------------------

ABSENT: Value = object()  # the side of a difference that is not there at all; None is a null that is there


class Diff(NamedTuple):
    """What happens to one value.

    ``action``: create update delete noop. ``kind``: null bool number string list object map, or unknown
    (``before`` is a Diff or None), sensitive (``before`` is the Diff inside, ``after`` the warning), type
    (a change of type: both sides are Diffs). ``parts``: name -> Diff, or a list of them, in a collection.
    ``replace``: this forces the replacement of the resource.
    """

    action: str
    kind: str
    before: Any = ABSENT
    after: Any = ABSENT
    parts: Any = ()
    replace: bool = False


class JsonNumber(str):
    """A number inside a string of JSON, which is shown and compared as it is written."""


KINDS: Dict[type, str] = {
    str: "string", bool: "bool", int: "number", Decimal: "number", JsonNumber: "number", dict: "object",
    Map: "object", list: "list", type(None): "null", object: "null", Unknown: "null"}


def digits(number: Value) -> str:
    """Return the text of a number."""
    return str(number) if type(number) is JsonNumber else number_text(number)


# the JSON kind of a value, which is all that the plan's text tells apart in dynamic values
def compare(before: Value, after: Value) -> Diff:
    """Return the difference of two values as the real engine sees it: by their JSON kinds, unknowns last."""
    if type(before) is str and type(after) is str:
        return Diff("noop" if before == after else "update", "string", before, after)
    if type(before) is Sensitive or type(after) is Sensitive:
        return compare_sensitive(before, after)
    before = before.value if type(before) is Typed else before
    after = after.value if type(after) is Typed else after
    if type(after) is Unknown:
        if before is ABSENT or before is None:
            return Diff("create", "unknown")
        return Diff("update", "unknown", compare(before, ABSENT))
    action = "create" if before is ABSENT else "delete" if after is ABSENT else "noop"
    kind = KINDS[type(after if before is ABSENT else before)]
    if action == "noop" and kind != KINDS[type(after)]:
        return Diff("update", "type", compare(before, ABSENT), compare(ABSENT, after))
    if kind not in ("object", "list"):
        changed = action == "noop" and identity(before) != identity(after)
        return Diff("update" if changed else action, kind, before, after)
    nothing: Any = [] if kind == "list" else {}
    left, right = nothing if before is ABSENT else before, nothing if after is ABSENT else after
    parts: Any = [compare(*pair) for pair in align(left, right)] if kind == "list" else {
        name: compare(left.get(name, ABSENT), right.get(name, ABSENT)) for name in sorted({**left, **right})}
    # a collection changes as soon as a part does something else than the whole
    found = parts if kind == "list" else parts.values()
    other = any(part.action != action and part.action != "noop" for part in found)
    return Diff("update" if other else action, kind, parts=parts)


def identity(value: Value) -> Any:
    """Return a hashable form, equal for equal elements; what is unknown counts as null or left out."""
    if type(value) in (Sensitive, Typed):
        return identity(value.value)
    kind = KINDS[type(value)]
    if kind == "object":
        known = [name for name in sorted(value) if type(value[name]) is not Unknown]
        return kind, tuple((name, identity(value[name])) for name in known)
    if kind == "list":
        return kind, tuple(map(identity, value))
    return kind, digits(value) if kind == "number" else None if kind == "null" else value


def align(before: Sequence[Value], after: Sequence[Value]) -> List[Tuple[Value, Value]]:
    """Return the elements to show below each other; ABSENT where one side has nothing.

    Walks along the longest common subsequence like OpenTofu: what comes before the next common element is deleted,
    then created; only two different objects, or two texts of more lines, make a pair.
    """
    if not before or not after:
        return [*((item, ABSENT) for item in before), *((ABSENT, item) for item in after)]
    pairs: List[Tuple[Value, Value]] = []
    names, names_after = ([identity(item) for item in side] for side in (before, after))
    left = right = 0
    for common in [*common_values(names, names_after), ABSENT]:
        while left < len(before) and names[left] != common:
            if right < len(after) and names_after[right] != common and compared_in_place(before[left], after[right]):
                pairs.append((before[left], after[right]))
                right += 1
            else:
                pairs.append((before[left], ABSENT))
            left += 1
        while right < len(after) and names_after[right] != common:
            pairs.append((ABSENT, after[right]))
            right += 1
        if common is not ABSENT:
            pairs.append((before[left], after[right]))
            left, right = left + 1, right + 1
    return pairs


def compared_in_place(before: Value, after: Value) -> bool:
    """Return whether two different elements at one place of a list are shown as one that changed."""
    if isinstance(before, str) and isinstance(after, str):
        return "\n" in before and "\n" in after
    return isinstance(before, dict) and isinstance(after, dict)


LARGEST_TABLE = 4_000_000  # with more cells (about a second) only equal ends are looked for


def common_values(before: Sequence[Any], after: Sequence[Any]) -> List[Any]:
    """Return the longest common subsequence: equal ends first, between them by the table; O(n * m)."""
    start, shorter = 0, min(len(before), len(after))
    while start < shorter and before[start] == after[start]:
        start += 1
    end = 0
    while end < shorter - start and before[-1 - end] == after[-1 - end]:
        end += 1
    middle = before[start:len(before) - end]
    middle_after = after[start:len(after) - end]
    found = [] if len(middle) * len(middle_after) > LARGEST_TABLE else common_by_table(middle, middle_after)
    return [*before[:start], *found, *before[len(before) - end:]]


def common_by_table(before: Sequence[Any], after: Sequence[Any]) -> List[Any]:
    """Return the longest common subsequence, with the real engine's choice among those of one length."""
    table = [[0] * (len(before) + 1)]
    for value in after:
        above, row = table[-1], [0]
        for column, other in enumerate(before):
            row.append(above[column] + 1 if other == value else max(row[column], above[column + 1]))
        table.append(row)
    found = []
    x, y = len(before), len(after)
    while x and y:
        if before[x - 1] == after[y - 1]:
            x, y = x - 1, y - 1
            found.append(before[x])
        elif table[y][x - 1] > table[y - 1][x]:
            x -= 1
        else:
            y -= 1
    return found[::-1]


BECOMES_SENSITIVE = (
    "will be marked as sensitive and will not", "display in UI output after applying this change.")
STOPS_BEING_SENSITIVE = ("will no longer be marked as sensitive", "after applying this change.")


def compare_sensitive(before: Value, after: Value) -> Diff:
    """Return the difference of two values, one of them at least sensitive, with the warning it needs."""
    was, will = type(before) is Sensitive, type(after) is Sensitive
    inner = compare(before.value if was else before, after.value if will else after)
    action = "update" if inner.action == "noop" and was != will else inner.action
    warning: Tuple[str, ...] = ()
    if was != will and inner.action in ("noop", "update"):
        warning = STOPS_BEING_SENSITIVE if was else BECOMES_SENSITIVE
        if inner.action == "noop":
            warning = warning[0], warning[1] + " The value is unchanged."
    return Diff(action, "sensitive", inner, warning)


def by_first_step(paths: Iterable[Path]) -> Dict[Any, List[Path]]:
    """Return the paths without their first steps, by these."""
    found: Dict[Any, List[Path]] = {}
    for path in paths:
        found.setdefault(path[0], []).append(path[1:])
    return found


def with_sensitive(value: Value, paths: Sequence[Path]) -> Value:
    """Return the value with a Sensitive around everything that a path leads to."""
    if () in paths:
        return Sensitive(value)
    inner = by_first_step(paths)
    if inner and isinstance(value, dict):
        return type(value)({name: with_sensitive(item, inner.get(name, ())) for name, item in value.items()})
    if inner and isinstance(value, list):
        return [with_sensitive(item, inner.get(index, ())) for index, item in enumerate(value)]
    return value


# --------------------------------------------------------------------------------------
# values as text
# render_diff(compare("a", "b"))  ->  '"a" -> "b"'
# --------------------------------------------------------------------------------------

COLORS = {
    "reset": "0", "bold": "1", "underline": "4", "red": "31", "green": "32", "yellow": "33", "cyan": "36",
    "dark_gray": "90"}
COLOR_MARK = re.compile(r"\[(%s)\]" % "|".join(COLORS))


def paint(text: str, color: bool) -> str:
    """Return the text with marks like ``[bold]`` as escape sequences and a reset behind, or without."""
    painted = COLOR_MARK.sub(lambda mark: f"\033[{COLORS[mark[1]]}m" if color else "", text)
    return painted + "\033[0m" if color and painted != text else painted


MARKS = {
    "create": "  [green]+[reset]", "update": "  [yellow]~[reset]", "delete": "  [red]-[reset]", "noop": "   ",
    "replace": "[red]-[reset]/[green]+[reset]", "swap": "[green]+[reset]/[red]-[reset]"}
SYMBOLS = {color: {action: paint(mark, color) + " " for action, mark in MARKS.items()} for color in (False, True)}
TO_NULL = {color: paint(" [dark_gray]-> null[reset]", color) for color in (False, True)}
ARROW = {color: f" {paint('[yellow]->[reset]', color)} " for color in (False, True)}
class Style(NamedTuple):
    """How differences are written; ``suffix``: with "-> null"; ``full``: unchanged parts too."""

    color: bool = False
    symbols: bool = True
    suffix: bool = True
    full: bool = False

    def start(self, action: str, indent: int) -> str:
        """Return what stands before a name or an element: the indentation and the symbol's four columns."""
        return "    " * indent + (SYMBOLS[self.color][action] if self.symbols else "")


PLAIN = Style()


def name_text(name: str) -> str:
    """Return a name as it stands before ``=``: bare where it is a valid identifier."""
    return name if name[:1] != "-" and name.replace("-", "a").isidentifier() else go_quoted(name)


def scalar_text(value: Value, style: Style) -> str:
    """Return a null, bool, number or one-line string."""
    if value is None or value is ABSENT:
        return paint("[dark_gray]null[reset]", style.color)
    if isinstance(value, str) and type(value) is not JsonNumber:
        return go_quoted(value)
    return str(value).lower() if isinstance(value, bool) else digits(value)


def forces(diff: Diff, style: Style) -> str:
    """Return the remark that a value forces the replacement, where it does."""
    return paint(" [red]# forces replacement[reset]", style.color) if diff.replace else ""


def null_suffix(action: str, style: Style) -> str:
    """Return "-> null" behind something deleted, unless what is around it already says so."""
    return TO_NULL[style.color] if action == "delete" and style.suffix else ""


def hidden(count: int, noun: str, indent: int, style: Style) -> List[str]:
    """Return the line that stands for unchanged parts, if there are any."""
    if not count:
        return []
    text = f"# ({count} unchanged {noun}{'s' * (count != 1)} hidden)"
    text = f"\033[90m{text}\033[0m\033[0m" if style.color else text
    return [style.start("noop", indent) + text]


def render_diff(diff: Diff, indent: int = 0, style: Style = PLAIN) -> str:
    """Return the text of a difference behind its name; more lines are indented for this level."""
    if diff.kind == "string":
        return render_string(diff, indent, style)
    if diff.kind in ("object", "map", "list"):
        return render_collection(diff, indent, style)
    if diff.kind == "sensitive":
        return "(sensitive value)" + null_suffix(diff.action, style) + forces(diff, style)
    if diff.kind in ("unknown", "type"):
        inner = style._replace(suffix=False)
        sides = [render_diff(side, indent, inner) for side in (diff.before, diff.after) if side is not ABSENT]
        if diff.kind == "type":
            return ARROW[style.color].join(sides)
        return " -> ".join([*sides, "(known after apply)"]) + forces(diff, style)
    return render_scalar(diff, style)


def render_scalar(diff: Diff, style: Style) -> str:
    """Return ``1``, ``1 -> 2`` or ``1 -> null``, with the remark on a replacement."""
    text = scalar_text(diff.after if diff.action == "create" else diff.before, style)
    if diff.action == "update":
        text += ARROW[style.color] + scalar_text(diff.after, style)
    elif diff.before is not None:
        text += null_suffix(diff.action, style)
    return text + forces(diff, style)


def json_inside(text: Value) -> Value:
    """Return the object or list that a string holds as JSON, or None."""
    if text is ABSENT or text[:1] not in ("{", "["):
        return None
    import json
    try:
        return json.loads(text, parse_int=JsonNumber, parse_float=JsonNumber, parse_constant=refuse_constant)
    except (ValueError, RecursionError):
        return None


GO_SPACE = "".join(map(chr, [  # what Go's TrimSpace takes away
    *range(9, 14), 32, 0x85, 0xA0, 0x1680, *range(0x2000, 0x200B), 0x2028, 0x2029, 0x202F, 0x205F, 0x3000]))


def render_string(diff: Diff, indent: int, style: Style) -> str:
    """Return a string or its change: quoted, as lines, or as the JSON that it holds."""
    sides = [side for side in (diff.before, diff.after) if side is not ABSENT]
    if not any(side[:1] in ("{", "[") or "\n" in side for side in sides):
        return render_scalar(diff, style)
    documents = [json_inside(side) for side in sides]
    if None not in documents:
        return render_json(diff, indent, style)
    if documents.count(None) < len(documents):  # JSON on one side only
        both = compare(diff.before, ABSENT), compare(ABSENT, diff.after)
        return render_diff(Diff("update", "type", *both), indent, style)
    if not any("\n" in side for side in sides):
        return render_scalar(diff, style)
    lines = [side.strip(GO_SPACE).split("\n") if "\n" in side else [side] for side in sides]
    text = [f"<<-EOT{forces(diff, style)}"]
    for before, after in align(lines[0], lines[-1] if diff.action == "update" else lines[0]):
        action = "delete" if after is ABSENT else "create" if before is ABSENT else "noop"
        text.append(style.start(action, indent + 1) + (after if before is ABSENT else before))
    text.append(f"{style.start('noop', indent)}EOT{null_suffix(diff.action, style)}")
    return "\n".join(text)


def render_json(diff: Diff, indent: int, style: Style) -> str:
    """Return a string that holds JSON as ``jsonencode(...)`` around the difference of what is inside."""
    inside = compare(*(ABSENT if side is ABSENT else json_inside(side) for side in (diff.before, diff.after)))
    inner, remark, replace = style._replace(suffix=False), "", forces(diff, style)
    if diff.action == "update" and inside.action == "noop":
        remark = " # whitespace changes force replacement" if diff.replace else " # whitespace changes"
        inner, replace = inner._replace(full=True), ""
    text = render_diff(inside, indent + 1, inner)
    if "\n" not in text:
        return f"jsonencode({text}){remark}{replace}"
    start = style.start("update" if diff.action == "update" else "noop", indent + 1)
    close = f"{style.start('noop', indent)}){null_suffix(diff.action, style)}"
    return f"jsonencode({remark}\n{start}{text}{replace}\n{close}"


def render_collection(diff: Diff, indent: int, style: Style) -> str:
    """Return a list, an object or a map between its brackets."""
    opening, closing = "[]" if diff.kind == "list" else "{}"
    suffix = null_suffix(diff.action, style)
    if not diff.parts:
        return f"{opening}{closing}{suffix}{forces(diff, style)}"
    if diff.kind == "list":
        lines = element_lines(diff.parts, indent + 1, style)
    else:
        inner = style._replace(suffix=diff.kind == "map" and diff.action != "delete" and style.suffix)
        lines = member_lines(diff, indent + 1, style, inner)
    return "\n".join([opening + forces(diff, style), *lines, style.start("noop", indent) + closing + suffix])


def element_lines(parts: Sequence[Diff], indent: int, style: Style) -> List[str]:
    """Return the lines of a list; of unchanged elements only the two beside a change, the others counted."""
    lines, skipped = [], 0
    changed = style._replace(suffix=False)
    shown = [style.full or part.action != "noop" for part in parts]
    for index, part in enumerate(parts):
        if not (shown[index] or any(shown[max(0, index - 1):index + 2])):
            skipped += 1
            continue
        lines += hidden(skipped, "element", indent, style)
        skipped = 0
        text = render_diff(part, indent, style._replace(full=True) if part.action == "noop" else changed)
        lines.append(f"{style.start(part.action, indent)}{text},")
    return lines + hidden(skipped, "element", indent, style)


def byte_length(text: str) -> int:
    """Return the length in UTF-8, which Go takes for the width of a column."""
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogatepass"))


ALWAYS_SHOWN = ("id", "name", "tags")


def member_lines(diff: Diff, indent: int, style: Style, inner: Style) -> List[str]:
    """Return the lines of an object's attributes or a map's elements, aligned, the unchanged ones counted."""
    is_map = diff.kind == "map"
    names = {name: go_quoted(name) if is_map else name_text(name) for name in diff.parts}
    width = max(map(byte_length, names.values()))
    lines, skipped = [], 0
    for name, part in diff.parts.items():
        look = inner
        if not is_map and name in ALWAYS_SHOWN:
            look = inner._replace(full=True)
        elif part.action == "noop" and not style.full:
            skipped += 1
            continue
        if part.kind == "sensitive" and part.after:
            start = paint(f"  # [yellow]Warning[reset]: this attribute value {part.after[0]}", style.color)
            lines += ["    " * indent + start, f"{'    ' * indent}  # {part.after[1]}"]
        start = style.start(part.action, indent) + names[name].ljust(width)
        lines.append(f"{start} = {render_diff(part, indent, look)}")
    return lines + hidden(skipped, "element" if is_map else "attribute", indent, style)


# --------------------------------------------------------------------------------------
# resource blocks
# Change("terraform_data.a", ..., "create", ...)  ->  '  # terraform_data.a will be created\n  + resource ...'
# --------------------------------------------------------------------------------------


def is_dynamic(type_name: str, name: str) -> bool:
    """Return whether an attribute takes a value of any type; its maps are then written like objects."""
    return type_name in SCHEMAS and SCHEMAS[type_name].kinds.get(name) == "dynamic"


def compare_attributes(
    change: Change, before: Dict[str, Value], after: Dict[str, Value], forced: Sequence[Path]
) -> Diff:
    """Return the difference of two objects' attributes; null and "" count as not set, like in OpenTofu.

    A known value of a dynamic attribute never carries the remark that it forces the replacement.
    """
    parts: Dict[str, Diff] = {}
    for name in sorted({*before, *after}):
        left = ABSENT if untyped(before.get(name)) in (None, "") else before[name]
        right = ABSENT if untyped(after.get(name)) in (None, "") else after[name]
        if left is ABSENT and right is ABSENT:
            continue
        diff, dynamic = compare(left, right), is_dynamic(change.type, name)
        if diff.kind == "object" and not dynamic and Map in (type(left), type(right)):
            diff = diff._replace(kind="map")
        if (name,) in forced and (not dynamic or diff.kind in ("unknown", "sensitive")):
            diff = diff._replace(replace=True)
        parts[name] = diff
    return Diff("update", "object", parts=parts)


def shown_attributes(
    attributes: Optional[Dict[str, Value]], sensitive: Sequence[Path], changed: bool = False
) -> Dict[str, Value]:
    """Return the attributes, with those that are set and sensitive marked.

    The real tools show the output of terraform_data although the input that it copies is sensitive; here it is hidden.
    """
    found: Dict[str, Value] = attributes or {}
    live = [path for path in sensitive if found.get(str(path[0])) not in (None, "")]
    if live and (changed or is_known(found.get("output"))):
        live += [("output", *path[1:]) for path in live if path[0] == "input"]
    marked: Dict[str, Value] = with_sensitive(found, live) if live else found
    return marked


def render_attributes(change: Change, style: Style, relevant: Optional[Sequence[Path]] = None) -> List[str]:
    """Return the lines between a block's braces; what is not ``relevant`` has not changed."""
    before = shown_attributes(change.before, change.before_sensitive)
    after = shown_attributes(change.after, change.after_sensitive, change.before is not None)
    if relevant is not None:
        after = only_relevant(before, after, relevant)
    elif style.symbols and not (before and after):
        return one_sided_lines(change.type, after or before, style, "create" if after else "delete")
    diff = compare_attributes(change, before, after, change.replace_paths)
    return member_lines(diff, 1, style, style) if diff.parts else []


def only_relevant(before: Dict[str, Value], after: Dict[str, Value], paths: Sequence[Path]) -> Dict[str, Value]:
    """Return ``after`` with everything that no path touches as it was before."""
    if () in paths:
        return after
    result = dict(before)
    for name, inner in by_first_step(paths).items():
        left, right = before.get(name), after.get(name, ABSENT)
        if isinstance(left, dict) and isinstance(right, dict):
            right = only_relevant(left, right, inner)
        result[name] = right
    return {name: value for name, value in result.items() if value is not ABSENT}


def one_sided_lines(type_name: str, attributes: Dict[str, Value], style: Style, action: str) -> List[str]:
    """Return the lines of an object that comes or goes; most plans are made of such blocks.

    Through ``compare_attributes`` and ``member_lines`` a plan of 100,000 would take 2.7 s for 0.8 s.
    """
    shown = sorted([name for name, value in attributes.items() if untyped(value) is not None and value != ""])
    start, width, suffix = style.start(action, 1), max(map(len, shown), default=0), null_suffix(action, style)
    lines = []
    for name in shown:
        value = attributes[name]
        kind = type(value)
        if kind is str and value[0] not in "{[" and "\n" not in value:
            text = go_quoted(value) + suffix
        elif kind is Unknown:
            text = "(known after apply)"
        else:
            diff = compare(ABSENT, value) if action == "create" else compare(value, ABSENT)
            if kind is Map and not is_dynamic(type_name, name):
                diff = diff._replace(kind="map")
            text = render_diff(diff, 1, style)
        lines.append(f"{start}{name.ljust(width)} = {text}")
    return lines


PLANNED = {
    "create": "will be created",
    "update": "will be updated in-place",
    "delete": "will be [bold][red]destroyed[reset]",
    "replace": "must be [bold][red]replaced[reset]",
    "replace_because_tainted": "is tainted, so it must be [bold][red]replaced[reset]",
    "replace_by_request": "will be [bold][red]replaced[reset], as requested",
    "replace_by_triggers": "will be [bold][red]replaced[reset] due to changes in replace_triggered_by"}
DRIFTED = {"update": "has changed", "delete": "has been deleted"}


def symbol_of(change: Change) -> str:
    """Return the key of SYMBOLS for a change; a replacement has two."""
    return "swap" if change.verb == "replace" and change.create_before_destroy else change.verb


def render_change(
    change: Change, *, drift: bool = False, relevant: Optional[Sequence[Path]] = None, color: bool = False
) -> str:
    """Return one block of a plan, without a line break at its end, under the comment that says what is done and why."""
    what = DRIFTED[change.verb] if drift else PLANNED.get(change.action_reason, PLANNED[change.verb])
    deposed = f" (deposed object {change.deposed})" if change.deposed else ""
    heading = f"[bold]  # {change.address}{deposed}[reset] {what}\n"
    if change.action_reason == "delete_because_no_resource_config":
        heading += f"  # (because {change.address} is not in configuration)\n"
    if change.deposed and change.verb == "delete":
        heading += "  # (left over from a partially-failed replacement of this instance)\n"
    name, body = change.address.split(".", 1)[1], braces(render_attributes(change, Style(color), relevant), 1)
    return f'{paint(heading, color)}{SYMBOLS[color][symbol_of(change)]}resource "{change.type}" "{name}" {body}'


def braces(lines: List[str], indent: int) -> str:
    """Return the lines of a block between its braces, the closing one at this level."""
    return "\n".join(["{", *lines, "    " * indent + "}"]) if lines else "{}"


# --------------------------------------------------------------------------------------
# plan text
# render_plan(plan)  ->  '\nminigraph used the selected providers to generate the following execution\n...'
# --------------------------------------------------------------------------------------

WIDTH = 77  # where running text is broken; the real tools' width without a terminal

LEGEND = (("create", "create"), ("update", "update in-place (current -> planned)"), ("delete", "destroy"),
          ("replace", "destroy and then create replacement"), ("swap", "create replacement and then destroy"))
INTRODUCTION = (
    "minigraph used the selected providers to generate the following execution plan. Resource actions are "
    "indicated with the following symbols:")
HEADING = "\nminigraph will perform the following actions:\n"
FAILED_HEADING = "\nminigraph planned the following actions, but then encountered a problem:\n"
PLANNING_FAILED = (
    "\n[reset][bold][red]Planning failed.[reset][bold] minigraph encountered an error while generating this "
    "plan.[reset]\n\n")
OUTPUTS_ONLY = (
    "You can apply this plan to save these new output values to the minigraph state, without changing any "
    "real infrastructure.")
NO_CHANGES = {
    "normal": ("Your infrastructure matches the configuration.", ""),
    "destroy": (
        "No objects need to be destroyed.",
        "Either you have not created any objects yet or the existing objects were already deleted outside of "
        "minigraph."),
    "refresh-only": (
        "Your infrastructure still matches the configuration.",
        "minigraph has checked that the real remote objects still match the result of your most recent "
        "changes, and found no differences.")}
CHECKED_ONLY = (
    "Note: You used the -%s option, so minigraph only checked resources %s those addresses. There may be "
    "pending changes for other resources.")
DRIFT_OPENING = (
    'minigraph detected the following changes made outside of minigraph since the last "minigraph apply" '
    "which may have affected this plan:")
DRIFT_CLOSING = (
    "Unless you have made equivalent changes to your configuration, or ignored the relevant attributes using "
    "ignore_changes, the following plan may include actions to undo or respond to these changes.")
REFRESH_ONLY = (
    "This is a refresh-only plan, so minigraph will not take any actions to undo these. If you were "
    "expecting these changes then you can apply this plan to record the updated values in the minigraph "
    "state without changing any remote objects.")
NOT_SAVED = (
    "Note: You didn't use the -out option to save this plan, so minigraph can't guarantee to take exactly "
    'these actions if you run "minigraph apply" now.')


def wrapped(text: str) -> str:
    """Return a paragraph broken into lines, with a line break at its end."""
    import textwrap
    return textwrap.fill(text, WIDTH, break_long_words=False, break_on_hyphens=False) + "\n"


def rule(color: bool) -> str:
    """Return an empty line and a line across the page."""
    return paint("[dark_gray]\n" + "─" * WIDTH, color) + "\n"


def plan_counts(plan: Plan) -> Tuple[int, int, int]:
    """Return how many objects will be added, changed and destroyed; a replacement is added and destroyed."""
    verbs = [change.verb for change in plan.changes]
    replaced = verbs.count("replace")
    return verbs.count("create") + replaced, verbs.count("update"), verbs.count("delete") + replaced


def render_plan(plan: Plan, *, color: bool = False) -> str:
    """Return what stands between the refresh lines and the warnings, beginning with an empty line.

    A destroy plan with errors shows nothing, as in the real tools.
    """
    if plan.errors and plan.mode == "destroy":
        return ""
    changes = [change for change in plan.changes if change.verb != "noop"]
    outputs = render_output_changes(plan.outputs, color)
    drift = render_drift(plan, bool(changes or outputs), color)
    parts = [drift, rule(color)] if drift else []
    if changes:
        parts.append(render_actions(plan, changes, color))
    if outputs:
        parts.append(f"\nChanges to Outputs:\n{outputs}\n")
        if not changes:
            parts.append("\n" + wrapped(OUTPUTS_ONLY))
    elif not changes:
        if drift and plan.mode == "refresh-only" and not plan.errors:
            return drift
        parts.append(render_no_changes(plan, color))
    return "".join(parts)


def render_actions(plan: Plan, changes: Sequence[Change], color: bool) -> str:
    """Return the legend, the blocks, the counts, and the notes on waits that were given up."""
    parts = [render_legend(changes, color), FAILED_HEADING if plan.errors else HEADING]
    parts.extend(f"\n{render_change(change, color=color)}\n" for change in changes)
    summary = "\n[bold]Plan:[reset] %d to add, %d to change, %d to destroy.\n" % plan_counts(plan)
    parts.append(paint(summary, color))
    parts.extend("\n" + wrapped(f"Note: {note}") for note in plan.notes)
    return "".join(parts)


def render_legend(changes: Sequence[Change], color: bool) -> str:
    """Return the introduction, with the symbols that the plan uses."""
    used = {symbol_of(change) for change in changes}
    lines = [paint(f"{MARKS[action]} {text}", color) + "\n" for action, text in LEGEND if action in used]
    return "\n" + wrapped(INTRODUCTION) + "".join(lines)


def render_no_changes(plan: Plan, color: bool) -> str:
    """Return what is said instead of a plan that holds nothing."""
    if plan.errors:
        return paint(PLANNING_FAILED, color)
    sentence, reason = NO_CHANGES[plan.mode]
    if plan.mode == "normal" and (plan.targets or plan.excludes):
        reason = CHECKED_ONLY % (("target", "matching") if plan.targets else ("exclude", "not matching"))
    gap = "\n\n" if reason else "\n"
    heading = paint(f"\n[reset][bold][green]No changes.[reset][bold] {sentence}[reset]{gap}", color)
    return heading + (wrapped(reason) if reason else "")


def has_drifted(change: Change, relevant: Sequence[Path]) -> bool:
    """Return whether an object went, or one of the attributes that matter changed."""
    before, after = change.before or {}, change.after or {}
    diff = compare_attributes(change, before, only_relevant(before, after, relevant), ())
    return change.verb == "delete" or any(part.action != "noop" for part in diff.parts.values())


def render_drift(plan: Plan, changing: bool, color: bool) -> str:
    """Return the note on what changed outside: all of it in a refresh-only plan, else what is used."""
    whole = plan.mode == "refresh-only"
    used = by_first_step((address, *path) for address, path in plan.relevant) if plan.drift else {}
    blocks = []
    for change in plan.drift if changing or whole else ():
        relevant = None if whole else used.get(change.address, ())
        if relevant is None or relevant and has_drifted(change, relevant):
            blocks.append(f"\n{render_change(change, drift=True, relevant=relevant, color=color)}\n")
    if not blocks:
        return ""
    heading = paint("\n[bold][cyan]Note:[reset][bold] Objects have changed outside of minigraph\n", color)
    closing = wrapped(REFRESH_ONLY if whole else DRIFT_CLOSING)
    return f"{heading}\n{wrapped(DRIFT_OPENING)}{''.join(blocks)}\n\n{closing}"


def render_output_changes(outputs: Sequence[OutputChange], color: bool) -> str:
    """Return the lines under ``Changes to Outputs:``, aligned to the longest name, changed or not."""
    width = max((byte_length(name_text(output.name)) for output in outputs), default=0)
    lines = []
    for output in outputs:
        sides = [ABSENT if value is None else Sensitive(value) if sensitive else value for value, sensitive in (
            (output.before, output.sensitive_before), (output.after, output.sensitive_after))]
        if output.verb == "noop" or sides == [ABSENT, ABSENT]:  # null is the same as not there
            continue
        diff = compare(*sides)
        if diff.action != "noop":
            name = name_text(output.name).ljust(width)
            lines.append(f"{SYMBOLS[color][diff.action]}{name} = {render_diff(diff, 0, Style(color))}")
    return "\n".join(lines)


def render_next_step(plan_file: str, color: bool = False) -> str:
    """Return the end of ``plan``: how to apply the saved plan, or that none was saved (plan_file is "")."""
    if plan_file:
        return (f"{rule(color)}\nSaved the plan to: {plan_file}\n\nTo perform exactly these actions, run the "
                f"following command to apply:\n    minigraph apply {go_quoted(plan_file)}\n")
    return rule(color) + "\n" + wrapped(NOT_SAVED)


# --------------------------------------------------------------------------------------
# state and output text
# render_outputs({"pet": OutputValue("clever-cat")})  ->  'pet = "clever-cat"\n'
# --------------------------------------------------------------------------------------


def console_value(value: Value, indent: int = 0) -> str:
    """Return a value in the form of ``output`` and the console: an expression for the same value."""
    kind: Value = type_of(value)
    value = value.value if type(value) is Typed else value
    if isinstance(value, Unknown):
        return "(known after apply)"
    if type(value) is Sensitive:
        return "(sensitive value)"
    if value is None:
        whole = "" if isinstance(kind, str) else f" /* of {kind[1]} */"
        return "null" if kind == "dynamic" or kind[0] in ("tuple", "object") else f"to{kind[0] if whole else kind}(null){whole}"
    if isinstance(value, str):
        return console_lines(value, indent) if "\n" in value else go_quoted(value)
    if not isinstance(value, (dict, list)):
        return scalar_text(value, PLAIN)
    pad = "\n" + " " * (indent + 2)
    if isinstance(value, dict):
        content = "".join(f"{pad}{console_value(name, indent + 2)} = {console_value(follow(value, [name], name), indent + 2)}"
                          for name in sorted(value))
    else:
        content = "".join(f"{pad}{console_value(item, indent + 2)}," for item in value)
    text = (content + "\n" + " " * indent if content else "").join("{}" if isinstance(value, dict) else "[]")
    return f"to{kind[0]}({text})" if kind[0] in ("list", "set", "map") else text


def console_lines(text: str, indent: int) -> str:
    """Return a string of more lines as a heredoc whose end mark is none of its lines."""
    lines, mark = text.split("\n"), "EOT"
    while any(line.strip() == mark for line in lines):
        mark += "_"
    pad = " " * indent
    return "\n".join([("<<-" if indent else "<<") + mark, *(pad + line for line in lines), pad + mark])


def render_outputs(outputs: Dict[str, OutputValue]) -> str:
    """Return one ``name = value`` for each output, as under ``Outputs:`` and in the output command."""
    return "".join(
        f"{name} = {'<sensitive>' if outputs[name].sensitive else console_value(outputs[name].value)}\n"
        for name in sorted(outputs))


STATE_STYLE = Style(symbols=False, full=True)


def render_instance(address: str, instance: Instance, deposed: str = "") -> str:
    """Return one object as ``show`` and ``state show`` write it."""
    remark = f" (deposed object {deposed})" if deposed else " (tainted)" if instance.tainted else ""
    change = Change(address, instance.type, "noop", "", instance.attributes, instance.attributes,
                    before_sensitive=instance.sensitive, after_sensitive=instance.sensitive)
    lines = render_attributes(change, STATE_STYLE)
    name = address.split(".", 1)[1]
    return f'# {address}:{remark}\nresource "{instance.type}" "{name}" {braces(lines, 0)}\n'


def render_state(state: State) -> str:
    """Return all objects and outputs of a state: by address, the current object before its deposed ones."""
    if state.holds_nothing():
        return "The state file is empty. No resources are represented.\n"
    blocks = []
    for address in sorted({**state.objects, **state.deposed}, key=lambda address: address.split(".")):
        found = [("", state.objects[address])] if address in state.objects else []
        found += sorted(state.deposed.get(address, {}).items())
        blocks += [render_instance(address, instance, key) for key, instance in found]
    text = "\n".join(blocks) + ("\n\nOutputs:\n\n" if state.outputs else "")
    for name, output in sorted(state.outputs.items()):
        value = Sensitive(output.value) if output.sensitive else output.value
        text += f"{name} = {render_diff(compare(value, value), 0, STATE_STYLE)}\n"
    left_out = [address for entry in state.foreign for address in carried_addresses(entry)]
    return text + "".join(f"\n# {address}: left out, minigraph does not work on it\n" for address in left_out)


# --------------------------------------------------------------------------------------
# JSON forms
# Plan -> {"format_version": "1.2", "resource_changes": [{"address": "local_file.a", "change": {...}}], ...}
# --------------------------------------------------------------------------------------

VERSION = "1.0.0"  # of minigraph itself; TERRAFORM_VERSION names the release whose shapes are written
Document = Dict[str, Value]
SCALARS = frozenset((str, int, bool, Decimal, type(None)))
ACTIONS = {"noop": ["no-op"], "create": ["create"], "update": ["update"], "delete": ["delete"],
           "replace": ["delete", "create"]}


def dump_json(document: Value, indent: Optional[int] = None) -> str:
    """Return a document as JSON with Go's escapes and all digits: on one line, or indented by two."""
    return go_escaped(compact_json(document) if indent is None else json_text(document))


def json_value(value: Value) -> Value:
    """Return the known part of a value, keys sorted: unknown members left out, unknown elements null."""
    if isinstance(value, dict):
        return {key: item if type(item) in SCALARS else json_value(item)
                for key, item in sorted(value.items()) if type(item) is not Unknown}
    if isinstance(value, list):
        return [json_value(item) for item in value]
    if isinstance(value, (Typed, Sensitive)):
        return json_value(value.value)
    return None if isinstance(value, Unknown) else value


def type_form(value: Value) -> Value:
    """Return the type of a value as the documents write it, the attributes of an object sorted."""
    return json_value(type_of(value))


def output_value(output: OutputValue) -> Document:
    """Return an output with its type."""
    return {"sensitive": output.sensitive, "type": type_form(output.value), "value": json_value(output.value)}


def unknown_mask(value: Value) -> Value:
    """Return true where a value is unknown, in the value's shape; known members of an object are left out."""
    if isinstance(value, dict):
        masks = [(key, unknown_mask(item)) for key, item in sorted(value.items()) if type(item) not in SCALARS]
        return {key: mask for key, mask in masks if mask is not False}
    if isinstance(value, list):
        return [unknown_mask(item) for item in value]
    return isinstance(value, Unknown)


def sensitive_mask(value: Value, paths: Sequence[Path]) -> Value:
    """Return true where one of ``paths`` leads, in the value's shape; members with nothing to hide left out.

    An unknown value of a known type has the shape of an empty one.
    """
    if () in paths:
        return True
    if isinstance(value, Typed):
        value = value.value
    elif isinstance(value, Unknown):
        empty: Dict[str, Value] = {"object": {}, "map": {}, "tuple": [], "list": [], "set": []}
        value = empty.get(value.type[0]) if value.type else None
    inner = by_first_step(paths)
    if isinstance(value, dict):
        masks = [(key, sensitive_mask(item, inner.get(key, ())))
                 for key, item in sorted(value.items()) if key in inner or type(item) not in SCALARS]
        return {key: mask for key, mask in masks if mask is not False}
    if isinstance(value, list):
        return [sensitive_mask(item, inner.get(index, ())) for index, item in enumerate(value)]
    return False


def hidden_attributes(type_name: str, attributes: Optional[Dict[str, Value]], paths: Sequence[Path]) -> Value:
    """Return the sensitive mask of an object's attributes; false for the missing side of a change.

    What the schema calls sensitive is marked even where it is null.
    """
    if attributes is None:
        return False
    always = SCHEMAS[type_name].sensitive if type_name in SCHEMAS else ()
    return sensitive_mask(attributes, [*((name,) for name in always if name in attributes), *paths])


def resource_head(address: str, provider: str) -> Document:
    """Return the keys that every resource of a document begins with."""
    kind, name = sort_key(address)
    return {"address": address, "mode": "managed", "type": kind, "name": name, "provider_name": provider}


def present(**pairs: Value) -> Document:
    """Return the pairs without those of an empty value: the real tools leave such keys out."""
    return {key: value for key, value in pairs.items() if value}


def resource_values(
    type_name: str, attributes: Optional[Dict[str, Value]], sensitive: Sequence[Path], version: int = 0
) -> Document:
    """Return what an object holds, as the documents write it."""
    return {"schema_version": version, **present(values=json_value(attributes)),
            "sensitive_values": hidden_attributes(type_name, attributes, sensitive)}


def provider_name(recorded: str) -> str:
    """Return the name inside a provider as a state file records it: provider["HOST/NAMESPACE/NAME"]."""
    return recorded.partition('["')[2].partition('"]')[0]


# --------------------------------------------------------------------------------------
# the state as JSON
# State -> {"format_version": "1.0", "values": {"outputs": {...}, "root_module": {"resources": [...]}}}
# --------------------------------------------------------------------------------------


def state_document(state: State) -> Document:
    """Return what ``show -json`` prints of a state: only the format version where the state holds nothing."""
    if state.holds_nothing():
        return {"format_version": "1.0"}
    outputs = {
        name: {"sensitive": item.sensitive, "value": json_value(item.value), "type": type_form(item.value)}
        for name, item in sorted(state.outputs.items())}
    resources = [instance_form(address, item) for address, item in state.objects.items()]
    resources += [{**instance_form(address, item), "deposed_key": key}
                  for address, found in state.deposed.items() for key, item in found.items()]
    resources += [form for entry in state.foreign for form in foreign_forms(entry)]
    resources.sort(key=lambda form: (form["address"], form.get("deposed_key", "")))
    values = {**present(outputs=outputs), "root_module": present(resources=resources)}
    return {"format_version": "1.0", "terraform_version": state.terraform_version, "values": values}


def instance_form(address: str, instance: Instance) -> Document:
    """Return one object of the state as a resource of the document."""
    return {**resource_head(address, provider_name(instance.provider)),
            **resource_values(instance.type, instance.attributes, instance.sensitive, instance.schema_version),
            **present(depends_on=list(instance.dependencies), tainted=instance.tainted)}


def foreign_forms(entry: Dict[str, Value]) -> Iterator[Document]:
    """Yield the objects of a resource that is only carried along, attributes as the file holds them."""
    for address, raw in zip(carried_addresses(entry), entry["instances"]):
        yield {
            "address": address, **{key: entry[key] for key in ("mode", "type", "name")},
            **({"index": raw["index_key"]} if "index_key" in raw else {}),
            "provider_name": provider_name(str(entry.get("provider", ""))),
            "schema_version": raw.get("schema_version", 0), "values": json_value(raw.get("attributes")),
            "sensitive_values": {},
            **present(depends_on=raw.get("dependencies"), tainted=raw.get("status") == "tainted",
                      deposed_key=raw.get("deposed"))}


# --------------------------------------------------------------------------------------
# the plan as JSON
# Change("local_file.a", ..., "create")  ->  {"actions": ["create"], "after_unknown": {"id": true}, ...}
# --------------------------------------------------------------------------------------


def plan_document(plan: Plan) -> Document:
    """Return what ``show -json PLANFILE`` prints: terraform's keys, which hold all of tofu's."""
    providers = provider_names(plan)
    # a refresh-only plan changes no object, and the real tool lists none
    changes = [] if plan.mode == "refresh-only" else plan.changes
    relevant = sorted(plan.relevant, key=lambda pair: (pair[0], [str(step) for step in pair[1]]))
    return {
        "format_version": "1.2", "terraform_version": TERRAFORM_VERSION,
        "planned_values": planned_values(changes, plan.outputs, providers),
        **present(resource_drift=[change_form(change, providers) for change in plan.drift],
                  resource_changes=[change_form(change, providers) for change in changes],
                  output_changes={change.name: output_change_form(change) for change in plan.outputs},
                  prior_state={} if plan.prior.holds_nothing() else state_document(plan.prior)),
        "configuration": configuration_document(plan.config, providers),
        **present(relevant_attributes=[{"resource": address, "attribute": list(path)} for address, path in relevant]),
        "timestamp": plan.timestamp,
        "applyable": not (plan.errors or plan.does_nothing()),
        "complete": not (plan.errors or plan.targets or plan.excludes),
        "errored": bool(plan.errors)}


def provider_names(plan: Plan) -> Dict[str, str]:
    """Return the provider of every type: the one that the state records, else the one on its host."""
    host = provider_host(plan.before_refresh, plan.config.directory)
    names = {kind: provider_name(provider_address(kind, host)) for kind in SCHEMAS}
    for state in (plan.prior, plan.before_refresh):
        for found in (state.objects, *state.deposed.values()):
            for item in found.values():
                if item.provider:
                    names[item.type] = provider_name(item.provider)
    return names


def planned_values(
    changes: Sequence[Change], output_changes: Sequence[OutputChange], providers: Dict[str, str]
) -> Document:
    """Return every object and output as they will be; what is unknown is left out."""
    outputs: Document = {
        output.name: {"sensitive": output.sensitive_before or output.sensitive_after} if not is_known(output.after) else
        output_value(OutputValue(output.after, output.sensitive_before or output.sensitive_after))
        for output in output_changes if output.verb != "delete"}
    resources = [
        {**resource_head(change.address, providers[change.type]),
         **resource_values(change.type, change.after, change.after_sensitive)}
        for change in changes if change.after is not None and not change.deposed]
    return {**present(outputs=outputs), "root_module": present(resources=resources)}


def change_form(change: Change, providers: Dict[str, str]) -> Document:
    """Return one entry of ``resource_changes`` or ``resource_drift``."""
    created_first = change.verb == "replace" and change.create_before_destroy
    return {
        **resource_head(change.address, providers[change.type]), **present(deposed=change.deposed),
        "change": {
            "actions": ["create", "delete"] if created_first else ACTIONS[change.verb],
            "before": json_value(change.before), "after": json_value(change.after),
            "after_unknown": {} if is_known(change.after) else unknown_mask(change.after),
            "before_sensitive": hidden_attributes(change.type, change.before, change.before_sensitive),
            "after_sensitive": hidden_attributes(change.type, change.after, change.after_sensitive),
            **present(replace_paths=[list(path) for path in change.replace_paths])},
        **present(action_reason=change.action_reason)}


def output_change_form(change: OutputChange) -> Document:
    """Return one entry of ``output_changes``; both sides count as sensitive when one of them is."""
    sensitive = change.sensitive_before or change.sensitive_after
    return {"actions": ACTIONS[change.verb], "before": json_value(change.before),
            **({} if isinstance(change.after, Unknown) else {"after": json_value(change.after)}),
            "after_unknown": not is_known(change.after) and unknown_mask(change.after),
            "before_sensitive": sensitive, "after_sensitive": sensitive}


def configuration_document(config: Config, providers: Dict[str, str]) -> Document:
    """Return the configuration as the plan shows it: expressions as written, and what they refer to."""
    used = sorted({resource.type for resource in config.resources.values()})
    outputs = {
        name: {**present(sensitive=output.sensitive), "expression": expression_form(output.value),
               **present(depends_on=list(map(subject, output.depends_on)), description=output.description)}
        for name, output in sorted(config.outputs.items())}
    resources = [
        {"address": address, "mode": "managed", "type": resource.type, "name": resource.name,
         "provider_config_key": local_name(resource.type),
         **present(expressions={name: expression_form(value) for name, value in sorted(resource.body.items())}),
         "schema_version": 0, **present(depends_on=list(map(subject, resource.depends_on)))}
        for address, resource in sorted(config.resources.items())]
    return {
        **present(provider_config={
            local_name(kind): {"name": local_name(kind), "full_name": providers[kind]} for kind in used}),
        "root_module": present(outputs=outputs, resources=resources)}


def local_name(type_name: str) -> str:
    """Return the name that a configuration has for the provider of a type: what stands before the first _."""
    return type_name.partition("_")[0]


def expression_form(value: Value) -> Document:
    """Return an expression: its text as a constant, and each reference with all that it begins with."""
    references: List[str] = []
    for _, _, reference in references_in(value):
        steps = reference.steps if reference.target else reference.steps[1:]
        texts = [f".{step}" if isinstance(step, str) and is_name(step) else f"[{json_text(step)}]" for step in steps]
        references += [subject(reference) + "".join(texts[:length]) for length in range(len(steps), -1, -1)]
    return {"constant_value": json_value(value), **present(references=references)}


def subject(reference: Reference) -> str:
    """Return what a reference names, without further steps: "local.x", "local_file.a", "path.module"."""
    return reference.target or ".".join((reference.root, *map(str, reference.steps[:1])))


# --------------------------------------------------------------------------------------
# diagnostics and log lines as JSON
# event("version", "minigraph 1.0", 0.0, ui="1.2")  ->  {"@level": "info", ..., "type": "version", ...}
# --------------------------------------------------------------------------------------

# a string, a reference or number, one character
HIGHLIGHT = re.compile(r'"(?:[^"\\]|\\.)*"|[\w.-]+(?:\[[^\]]*\])*|.|$')
LOG_ACTIONS = {"create": ("Creating", "Creation"), "update": ("Modifying", "Modifications"),
               "delete": ("Destroying", "Destruction")}
LOG_REASONS = {"replace_by_request": "requested", "replace_by_triggers": "replace_triggered_by"}


def validate_document(diagnostics: Sequence[Diagnostic]) -> Document:
    """Return what ``validate -json`` prints (indented)."""
    errors = sum(diagnostic.severity == "error" for diagnostic in diagnostics)
    return {"format_version": "1.0", "valid": not errors, "error_count": errors,
            "warning_count": len(diagnostics) - errors,
            "diagnostics": [diagnostic_document(diagnostic) for diagnostic in diagnostics]}


def diagnostic_document(diagnostic: Diagnostic) -> Document:
    """Return one diagnostic in the real shape, with range and source line where its place is known."""
    place = diagnostic.place
    document: Document = {
        "severity": diagnostic.severity, "summary": diagnostic.summary, "detail": diagnostic.detail,
        **present(address=diagnostic.address)}
    if place is None:
        return document
    first, last = highlight(place)
    start, end = len(place.source[:first].encode()), len(place.source[:last].encode())
    values = [value.partition(" ") for value in diagnostic.values]
    return {
        **document,
        "range": {"filename": place.file, "start": {"line": place.line, "column": first + 1, "byte": place.byte + start},
                  "end": {"line": place.line, "column": last + 1, "byte": place.byte + end}},
        "snippet": {
            "context": place.context or None, "code": place.source, "start_line": place.line,
            "highlight_start_offset": start, "highlight_end_offset": end,
            "values": [{"traversal": name, "statement": statement} for name, _, statement in values]}}


def highlight(place: Place) -> Tuple[int, int]:
    """Return where the part of a line begins and ends that a diagnostic is about."""
    first = min(place.column - 1, len(place.source))
    found = HIGHLIGHT.match(place.source, first)
    return first, found.end() if found else first


def event(kind: str, message: str, timestamp: float, level: str = "info", **payload: Value) -> Document:
    """Return one line of the ``-json`` log; ``timestamp`` is in seconds since the epoch."""
    import datetime
    moment = datetime.datetime.fromtimestamp(timestamp, datetime.timezone.utc)
    return {"@level": level, "@message": message, "@module": "minigraph.ui",
            "@timestamp": f"{moment:%Y-%m-%dT%H:%M:%S.%fZ}",
            **dict(sorted({**payload, "type": kind}.items()))}


def version_event(timestamp: float) -> Document:
    """Return the first line of every log."""
    return event("version", f"minigraph {VERSION}", timestamp, minigraph=VERSION, ui="1.2")


def diagnostic_event(diagnostic: Diagnostic, timestamp: float) -> Document:
    """Return a diagnostic as a line of the log."""
    label, level = ("Error", "error") if diagnostic.severity == "error" else ("Warning", "warn")
    return event("diagnostic", f"{label}: {diagnostic.summary}", timestamp, level,
                 diagnostic=diagnostic_document(diagnostic))


def change_event(change: Change, timestamp: float, drift: bool = False) -> Document:
    """Return the line of one planned change, or of one that was found to have happened outside (drift)."""
    reason = LOG_REASONS.get(change.action_reason, change.action_reason.replace("replace_because_", ""))
    message = f"Drift detected ({change.verb})" if drift else f"Plan to {change.verb}"
    form = {"resource": log_resource(change.address), "action": change.verb, **present(reason=reason)}
    kind = "resource_drift" if drift else "planned_change"
    return event(kind, f"{change.address}: {message}", timestamp, change=form)


def change_summary(add: int, change: int, remove: int, operation: str, timestamp: float) -> Document:
    """Return the summary line; ``operation`` is "plan", "apply" or "destroy"."""
    messages = {"plan": f"Plan: {add} to add, {change} to change, {remove} to destroy.",
                "apply": f"Apply complete! Resources: {add} added, {change} changed, {remove} destroyed.",
                "destroy": f"Destroy complete! Resources: {remove} destroyed."}
    return event("change_summary", messages[operation], timestamp, changes={
        "add": add, "change": change, "import": 0, "remove": remove, "operation": operation})


def planned_outputs_event(changes: Sequence[OutputChange], timestamp: float) -> Document:
    """Return the line that says what a plan does to the outputs."""
    outputs = {item.name: {"sensitive": item.sensitive_before or item.sensitive_after, "action": item.verb}
               for item in changes}
    return event("outputs", f"Outputs: {len(outputs)}", timestamp, outputs=outputs)


def outputs_event(outputs: Dict[str, OutputValue], timestamp: float) -> Document:
    """Return the line with the outputs after an apply; a sensitive one has no value there."""
    forms = outputs_document(outputs)
    for form in forms.values():
        if form["sensitive"]:
            del form["value"]
    return event("outputs", f"Outputs: {len(forms)}", timestamp, outputs=forms)


def outputs_document(outputs: Dict[str, OutputValue]) -> Document:
    """Return what ``output -json`` prints (indented)."""
    return {name: output_value(output) for name, output in sorted(outputs.items())}


def refresh_event(kind: str, address: str, object_id: str, timestamp: float) -> Document:
    """Return a line of the kind refresh_start or refresh_complete; without an id the object is gone."""
    word = "Refreshing state..." if kind == "refresh_start" else "Refresh complete"
    return hook_event(kind, address, word, timestamp, object_id)


def apply_event(
    kind: str, address: str, action: str, timestamp: float, object_id: str = "", elapsed: int = 0
) -> Document:
    """Return a line of the kind apply_start, apply_progress, apply_complete or apply_errored.

    ``action`` is "create", "update" or "delete"; ``elapsed`` counts seconds. The id is the one that the
    object has at that moment: none before a create, none after a delete.
    """
    verb, noun = LOG_ACTIONS[action]
    if kind == "apply_start":
        return hook_event(kind, address, f"{verb}...", timestamp, object_id, action=action)
    if kind == "apply_progress":
        word, object_id = f"Still {verb.lower()}... [{elapsed_text(elapsed)} elapsed]", ""
    elif kind == "apply_errored":
        word, object_id = f"{noun} errored after {elapsed_text(elapsed)}", ""
    else:
        word = f"{noun} complete after {elapsed_text(elapsed)}"
    return hook_event(kind, address, word, timestamp, object_id, action=action, elapsed_seconds=elapsed)


def hook_event(kind: str, address: str, message: str, timestamp: float, object_id: str, **more: Value) -> Document:
    """Return the line of something that happens to one object, with its id if it has one."""
    shown = f" [id={object_id}]" if object_id else ""
    hook = {"resource": log_resource(address), **present(action=more.pop("action", ""))}
    hook.update({"id_key": "id", "id_value": object_id, **more} if object_id else more)
    return event(kind, f"{address}: {message}{shown}", timestamp, hook=hook)


def log_resource(address: str) -> Document:
    """Return a resource as the lines of the log name it; the key of a deposed object is not in the log."""
    kind, name = sort_key(address)
    return {"addr": address, "module": "", "resource": address, "implied_provider": local_name(kind),
            "resource_type": kind, "resource_name": name, "resource_key": None}


def elapsed_text(seconds: int) -> str:
    """Return whole seconds as Go writes a duration: 0s, 21s, 1m0s, 1h0m0s."""
    minutes, hours = seconds // 60, seconds // 3600
    return (f"{hours}h" if hours else "") + (f"{minutes % 60}m" if minutes else "") + f"{seconds % 60}s"


# --------------------------------------------------------------------------------------
# saved plans
# Plan  <->  one JSON document: what show -json prints, the configuration's texts, the state, the exact changes
# --------------------------------------------------------------------------------------


def pack(value: Value) -> Value:
    """Return a planned value as JSON that keeps its exact kind: collections and unknowns as tagged lists."""
    if isinstance(value, Unknown):
        return ["unknown", list(value.origin or ()), value.type]
    if isinstance(value, Typed):
        return ["typed", value.value, value.type]
    if isinstance(value, dict):
        return ["map" if isinstance(value, Map) else "object", {key: pack(item) for key, item in value.items()}]
    return ["list", [pack(item) for item in value]] if isinstance(value, list) else value


def unpack(packed: Value) -> Value:
    """Return the value that ``pack`` wrote."""
    if not isinstance(packed, list):
        return packed
    kind, content = packed[0], packed[1]
    if kind == "unknown":
        return Unknown((content[0], content[1]) if content else None, packed[2])
    if kind == "typed":
        return Typed(content, packed[2])
    if kind == "list":
        return [unpack(item) for item in content]
    found = {key: unpack(item) for key, item in content.items()}
    if kind not in ("map", "object"):
        raise ValueError(f"{kind!r} is no kind of value")
    return Map(found) if kind == "map" else found


def pack_record(record: Union[Change, OutputChange]) -> Dict[str, Value]:
    """Return a change as a JSON object; paths become lists."""
    return {name: pack(value) if name in ("before", "after") else
            [list(item) if isinstance(item, tuple) else item for item in value]
            if isinstance(value, (tuple, list)) else value
            for name, value in record._asdict().items()}


def unpack_record(kind: Callable[..., Any], fields: Dict[str, Value]) -> Any:
    """Return the change of this kind that ``pack_record`` wrote."""
    paths = ("replace_paths", "before_sensitive", "after_sensitive")
    return kind(**{
        name: unpack(value) if name in ("before", "after") else tuple(map(tuple, value)) if name in paths else value
        for name, value in fields.items()})


PLAN_MARK = b'{"minigraph_plan"'  # what a plan file begins with
SEAL = ',"digest":"'  # what a plan file ends with: the checksum of all before it


def plan_file_text(plan: Plan) -> str:
    """Return the content of a plan file."""
    document = {
        "minigraph_plan": 1, "plan": plan_document(plan), "sources": plan.config.sources,
        "options": plan.options._asdict(), "cwd": plan.evaluator.known_before["cwd"], "timestamp": plan.timestamp,
        "state": state_text(plan.before_refresh), "refreshed": state_text(plan.prior),
        "changes": list(map(pack_record, plan.changes)), "drift": list(map(pack_record, plan.drift)),
        "outputs": list(map(pack_record, plan.outputs)),
        "uses_configured": sorted(plan.uses_configured), "uses_stored": sorted(plan.uses_stored),
        "warnings": [[item.summary, item.detail] for item in plan.warnings],
        "errors": [item.summary for item in plan.errors]}
    body = go_escaped(compact_json(document))
    return f'{body[:-1]}{SEAL}{digest(body.encode("utf-8", "replace"))}"}}\n'


def plan_file_error(path: str, why: str) -> StateError:
    """Return the refusal of a plan file."""
    return StateError(f'Failed to load "{path}" as a plan file', why)


def read_plan_document(path: str, shown: str) -> Dict[str, Value]:
    """Return the outer JSON object of a plan file; StateError where it is none."""
    if os.path.isdir(path):
        raise plan_file_error(shown, "The specified path is a directory, not a plan file. You can use the global -chdir flag"
                              " to use this directory as the configuration root.")
    try:
        with open(path, "rb") as file:
            data = file.read()
        document = exact_json(data.decode())
    except OSError as error:
        raise plan_file_error(shown, f"Error: stat {shown}: {reason_of(error)}") from None
    except (ValueError, ArithmeticError, RecursionError):
        document = None
    if not data.startswith(PLAN_MARK) or isinstance(document, dict) and not same(document.get("minigraph_plan"), 1):
        raise plan_file_error(shown, "It is not a plan file of minigraph: make one with minigraph plan -out=FILE.")
    body = data.rpartition(SEAL.encode())[0] + b"}"
    if not isinstance(document, dict) or document.get("digest") != digest(body):
        raise plan_file_error(shown, "It is damaged: its content is not what minigraph wrote. Make a new one with minigraph"
                              " plan -out=FILE.")
    return document


def load_plan(path: str, shown: str, directory: str) -> Plan:
    """Return the plan in a plan file, ready to apply: configuration, state and changes as they were planned."""
    document = read_plan_document(path, shown)
    try:
        return plan_of(document, directory, shown)
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, ArithmeticError, RecursionError) as error:
        raise plan_file_error(shown, f"It is damaged: {error!r}.") from None


def plan_of(document: Dict[str, Value], directory: str, shown: str) -> Plan:
    """Return the plan that a plan document holds."""
    config = load_config(directory, dict(document["sources"]))
    plan = Plan(config, read_state(document["state"], shown), PlanOptions(**document["options"]))
    plan.prior = read_state(document["refreshed"], shown)
    plan.evaluator, plan.timestamp = Evaluator(document["cwd"]), document["timestamp"]
    plan.changes = [unpack_record(Change, fields) for fields in document["changes"]]
    plan.drift = [unpack_record(Change, fields) for fields in document["drift"]]
    plan.outputs = [unpack_record(OutputChange, fields) for fields in document["outputs"]]
    plan.deps = config_graph(config)[0]
    plan.configured = resource_graph(config, plan.deps)
    plan.kept = kept_nodes(plan, plan.deps)
    plan.create_before_destroy = effective_cbd(config, plan.configured, plan.kept)
    plan.uses_configured, plan.uses_stored = set(document["uses_configured"]), set(document["uses_stored"])
    plan.warnings = [Diagnostic(summary, detail, severity="warning") for summary, detail in document["warnings"]]
    plan.errors = [Diagnostic(summary) for summary in document["errors"]]
    for change in plan.changes:
        if change.after is not None and not change.deposed:
            plan.evaluator.values[change.address] = seen(change.type, change.after)
            if change.after_sensitive:
                plan.evaluator.marks[change.address] = change.after_sensitive
    return plan


def check_plan_is_current(plan: Plan, state: State) -> None:
    """Refuse a saved plan whose state has moved on, or that was made from another state."""
    planned = plan.before_refresh
    if planned.lineage and planned.lineage != state.lineage:
        raise StateError("Saved plan does not match the given state", "The given plan file can not be applied because it was"
                         " created from a different state lineage.")
    if planned.serial != state.serial or planned.lineage != state.lineage:
        raise StateError("Saved plan is stale", "The given plan file can no longer be applied because the state was changed by"
                         " another operation after the plan was created.")
    if plan.errors:
        raise StateError("Cannot apply incomplete plan", "minigraph encountered an error when generating this plan, so it"
                         " cannot be applied.")


# --------------------------------------------------------------------------------------
# messages
# Diagnostic("Bad", "Mend it.", place=Place("a.tf.json", 3))  ->  "\nError: Bad\n\n  on a.tf.json line 3..."
# --------------------------------------------------------------------------------------

LAID_OUT = re.compile(r"\s|\S+ needs \S+: ")  # indented lines and the edges of a cycle keep their line breaks


def render_diagnostics(diagnostics: Iterable[Diagnostic], color: bool = False) -> str:
    """Return diagnostics in the real layout, each behind a blank line; with color each in its box."""
    return "".join(diagnostic_text(diagnostic, color) for diagnostic in diagnostics)


def colored(text: str, color: bool, *names: str) -> str:
    """Return a text between escape sequences, if so; unlike ``paint`` it takes any text, marks and all."""
    return "".join(f"\033[{COLORS[name]}m" for name in names) + text + "\033[0m" if color else text


def diagnostic_text(diagnostic: Diagnostic, color: bool) -> str:
    """Return one diagnostic: summary, blank, where it is, blank, detail; in color a rule to the left of them."""
    label, tone = ("Error: ", "red") if diagnostic.severity == "error" else ("Warning: ", "yellow")
    heading = colored(label, color, "bold", tone) + colored(diagnostic.summary, color, "bold")
    where = place_lines(diagnostic, color)
    lines = [*heading.split("\n"), "", *where, *[""] * bool(where)]
    lines += wrap_detail(diagnostic.detail, 75 if color else 77) if diagnostic.detail else []
    if not color:
        return "\n".join(["", *lines, ""])
    left, top, bottom = (colored(part, color, tone) for part in "│╷╵")
    return "\n".join([top, *(f"{left} {line}" for line in lines), bottom, ""])


def place_lines(diagnostic: Diagnostic, color: bool) -> List[str]:
    """Return the lines that say where: the address, the file with its source line, the values involved."""
    lines = [f"  with {diagnostic.address},"] if diagnostic.address else []
    place, values = diagnostic.place, diagnostic.values
    if place is None:
        return lines
    first, last = highlight(place)
    middle = colored(place.source[first:last], color, "underline")
    lines += [f"  on {place.file} line {place.line}{f', in {place.context}' if place.context else ''}:",
              f"{place.line:4d}: {place.source[:first]}{middle}{place.source[last:]}"]
    top, side = (colored(part, color, "dark_gray") for part in ("├────────────────", "│"))
    return lines + [f"    {line}" for line in (top, *(f"{side} {value}" for value in values)) if values]


def wrap_detail(text: str, width: int) -> List[str]:
    """Return the lines of a text, broken at spaces to fit ``width`` where they are not laid out already."""
    lines: List[str] = []
    for line in text.split("\n"):
        if len(line) <= width or LAID_OUT.match(line):
            lines.append(line)
            continue
        import textwrap
        lines += textwrap.wrap(line, width, break_long_words=False, break_on_hyphens=False)
    return lines


def render_compact_warnings(warnings: Iterable[Diagnostic], color: bool = False) -> str:
    """Return warnings as -compact-warnings shows them where there is no error: a line and a place each."""
    lines = ["", paint("[bold][yellow]Warnings:", color), ""]
    for warning in warnings:
        lines.append(f"- {warning.summary}")
        if warning.place:
            lines.append(f"  on {warning.place.file} line {warning.place.line}")
    lines += ["", "To see the full warning notes, run minigraph without -compact-warnings.", ""]
    return "\n".join(lines)


# --------------------------------------------------------------------------------------
# the command line
# ["plan", "--target", "local_file.a"]  ->  Invocation("plan", {"target": ["local_file.a"], ...}, [])
# --------------------------------------------------------------------------------------


class Option(NamedTuple):
    """One option of a command.

    ``kind``: "bare" (-x anywhere behind the command, never -x=true), "bool" (-x or -x=false); with a value
    (-x=v or -x v) "text", "repeat" (gives a list), "int", "duration" (gives seconds).
    """

    name: str
    kind: str
    help: str
    shown: str = ""  # what stands behind the name in the help: "=FILE"
    default: Value = None


class Command(NamedTuple):
    """One command: what it does, its options, its arguments (as shown, least and most), its exit statuses."""

    summary: str
    options: Tuple[Option, ...]
    arguments: str = ""
    least: int = 0
    most: int = 0
    exits: Tuple[str, ...] = ("0  done", "1  an error, also in the command line itself")
    refused: Tuple[str, ...] = ()  # options that are read only to say why they make no sense here; not in the help

    def offered(self) -> List[Option]:
        """Return the options that the help shows."""
        return [option for option in self.options if option.name not in self.refused]


class Invocation(NamedTuple):
    """What the command line asks for; ``options`` holds every option of the command, by name without dash.

    The command "help" has the command that it explains as argument ("" for all), and ``options["status"]``.
    """

    command: str
    options: Dict[str, Any]
    arguments: List[str]
    chdir: str = ""


class UsageError(MinigraphError):
    """The command line is refused: ``text`` is all that goes to stderr. ``json``: -json was given."""

    status = 1
    json = False

    def __init__(self, summary: str, detail: str = "", command: str = "") -> None:
        super().__init__(summary, detail)
        self.command = command

    def text(self, color: bool = False) -> str:
        """Return the error and the command that shows the help."""
        name = " ".join(filter(None, ("minigraph", self.command, "-help")))
        error = render_diagnostics(self.diagnostics, color).rstrip()
        return f"{error}\n\nFor more help on using this command, run:\n  {name}\n"


OPTION_LINE = re.compile(r"(\w+) +-([\w-]+)(\S*) +(.*)")
DEFAULTS: Dict[str, Value] = {"bare": False, "bool": False, "text": "", "int": 10, "duration": 0.0}


def options(table: str) -> Tuple[Option, ...]:
    """Return the options that a table lists, one a line: kind, name, what stands behind it, help."""
    return tuple(
        Option(name, kind, text, shown, True if shown == "=false" else DEFAULTS.get(kind))
        for kind, name, shown, text in OPTION_LINE.findall(table))


NO_COLOR, JSON, STATE, STATE_OUT, BACKUP, *LOCK = options("""
    bare      -no-color           Print without color.
    bool      -json               Print JSON, for other programs to read.
    text      -state=FILE         The state file; terraform.tfstate by default.
    text      -state-out=FILE     Write the state there, not over the one that was read.
    text      -backup=FILE        Where to keep the state as it was before; "-" keeps none.
    bool      -lock=false         Do not lock the state.
    duration  -lock-timeout=10s   Wait that long for a lock that another process holds.""")
PLANNING = (*options("""
    bool      -destroy            Plan to destroy every object.
    bool      -refresh-only       Only take changes made outside into the state.
    bool      -refresh=false      Trust the state; do not look for changes made outside.
    repeat    -target=ADDRESS     Only this and what it needs (destroy: what needs it). Repeats.
    repeat    -exclude=ADDRESS    All but this resource and what needs it. Repeats.
    repeat    -replace=ADDRESS    Replace this resource even if nothing changed. Repeats.
    int       -parallelism=N      At most N steps at once.
    bool      -input=false        Accepted for scripts; minigraph never asks."""),
    JSON, *options("bare -compact-warnings Show warnings as one line each."), NO_COLOR, STATE, *LOCK)
APPLYING = (*options("bool -auto-approve Accepted for scripts; minigraph never asks."), *PLANNING, STATE_OUT, BACKUP)
MARKING = (NO_COLOR, STATE, STATE_OUT, BACKUP, *LOCK)
ANY = sys.maxsize  # number of arguments
GRAPH_TYPES = ("plan", "plan-destroy", "apply")
APPLIED = ("0  all steps done", "1  an error; what was done is in the state",
           "130  interrupted twice; the journal keeps what was done")

COMMANDS: Dict[str, Command] = {
    "validate": Command(
        "Check the configuration: syntax, references, arguments, loops", (JSON, NO_COLOR), "[DIR]", 0, 1,
        ("0  the configuration is valid", "1  it is not")),
    "order": Command(
        "Show the waves and the critical path", (*options("""
            bool -destroy          The order of a destroy.
            text -type=apply       The order of the steps of the next apply."""), JSON, NO_COLOR),
        exits=("0  there is an order", "1  there is none (a loop), or the configuration is not valid")),
    "graph": Command(
        "Print the dependency graph in the DOT language", (*options("""
            text -type=TYPE        plan, plan-destroy or apply; without it: as configured.
            bool -full             Keep the edges that another path implies.
            bool -draw-cycles      Draw a graph with loops, their edges red.
            text -plan=FILE        Draw the steps of a saved plan."""), NO_COLOR),
        exits=("0  the graph has an order", "1  it has loops, or the configuration is not valid")),
    "plan": Command(
        "Show what apply would change", (*options("""
            text -out=FILE         Save the plan, for apply to carry out.
            bool -detailed-exitcode Tell by the exit status of changes."""), *PLANNING),
        exits=("0  planned; with -detailed-exitcode: no changes", "1  an error",
               "2  with -detailed-exitcode: there are changes")),
    "apply": Command(
        "Create, update and destroy objects until they are as configured", APPLYING, "[PLANFILE]", 0, 1, APPLIED),
    "destroy": Command(
        "Destroy all objects in the state, dependents first", APPLYING, "", 0, 1, APPLIED,
        refused=("destroy", "refresh-only", "replace")),
    "show": Command("Show the state, or a saved plan or state file", (JSON, NO_COLOR), "[FILE]", 0, 1),
    "output": Command(
        "Show the outputs, or the value of one", (
            JSON, *options("bool -raw Print the string itself, without quotes or newline."), NO_COLOR, STATE),
        "[NAME]", 0, 1),
    "state list": Command("List the objects in the state", (NO_COLOR, STATE), "[ADDRESS...]", 0, ANY),
    "state show": Command("Show one object in the state", (NO_COLOR, STATE), "ADDRESS", 1, 1),
    "state rm": Command(
        "Forget objects: they leave the state and stay where they are", (
            *options("bool -dry-run Only say what would be forgotten."), NO_COLOR, STATE, BACKUP, *LOCK),
        "ADDRESS...", 1, ANY),
    "taint": Command("Mark an object to be replaced", MARKING, "ADDRESS", 1, 1),
    "untaint": Command("Take that mark off again", MARKING, "ADDRESS", 1, 1),
    "version": Command("Show the version", (JSON, NO_COLOR), "", 0, ANY),
}
LOGGING = ("plan", "apply", "destroy")  # with -json these print a log of JSON lines, usage errors too
JSON_FLAGS = {"-json", "--json", "-json=true", "--json=true"}
INSTEAD = {  # commands that the real tools have: what to do here
    "init": "There is nothing to install: its providers are built in. Go on with minigraph plan.",
    "refresh": "Use minigraph apply -refresh-only.",
    "help": "Use minigraph -help, or minigraph COMMAND -help."}
HELP_FLAGS = ("-h", "-help", "--help")
VERSION_FLAGS = ("-v", "-version", "--version")
GLOBAL_HELP = """
Global options, before the command:
  -chdir=DIR   Run the command in DIR.
  -help        Show this text; behind a command: the help of that command.
  -version     Show the version.

An option takes one dash or two, and = or a space before its value.
Exit status: 0 fine, 1 an error. COMMAND -help names the others.
"""


def parse_command_line(argv: Sequence[str], environ: Dict[str, str]) -> Invocation:
    """Return what the words behind the program's name ask for; UsageError where they are refused.

    The words of TF_CLI_ARGS_<command> and TF_CLI_ARGS go before those of the command line, which win.
    """
    flags, chdir, words = global_options(list(argv))
    if flags & set(VERSION_FLAGS):
        return Invocation("version", *parse_options("version", []), chdir)
    if not words:
        return Invocation("help", {"status": 0 if flags else 1}, [""], chdir)
    name, words = command_name(words)
    for variable in ("TF_CLI_ARGS", "TF_CLI_ARGS_" + name.replace(" ", "_")):
        words = extra_words(variable, environ) + words
    if flags or not set(HELP_FLAGS).isdisjoint(words):
        return Invocation("help", {"status": 0}, [name], chdir)
    if name not in COMMANDS:
        raise UsageError(f"minigraph {name} what?", f"It is one of: {', '.join(group(name))}.", name)
    try:
        options, arguments = parse_options(name, words)
        check_arguments_given(name, arguments)
        check_options(name, options, arguments)
        if "ADDRESS" in COMMANDS[name].arguments:
            arguments = [plain_address(address, "address", name) for address in arguments]
    except UsageError as error:
        error.json = name in LOGGING and not JSON_FLAGS.isdisjoint(words)
        raise
    return Invocation(name, options, arguments, chdir)


def global_options(words: List[str]) -> Tuple[Set[str], str, List[str]]:
    """Return the -help and -version flags before the command, the directory of -chdir, the other words."""
    flags, chdir = set(), ""
    while words and words[0].startswith("-"):
        word = words.pop(0)
        name, _, value = word.replace("--", "-", 1).partition("=")
        if name == "-chdir":
            chdir = value
            if not value:
                raise UsageError(
                    "Invalid -chdir option",
                    "It must include an equals sign followed by a directory path, like -chdir=example.")
        elif word in HELP_FLAGS + VERSION_FLAGS:
            flags.add(word)
        else:
            later = name[1:] in {option.name for command in COMMANDS.values() for option in command.options}
            hint = did_you_mean(name, ("-chdir", "-help", "-version"))
            raise undefined_option("", name, " It goes behind the command." if later else hint)
    return flags, chdir, words


def command_name(words: List[str]) -> Tuple[str, List[str]]:
    """Return the name of the command (two words for "state list") and the words behind it."""
    name, rest = words[0], words[1:]
    inner = group(name)
    if inner and rest and not rest[0].startswith("-"):
        if rest[0] not in inner:
            hint = did_you_mean(rest[0], inner)
            raise UsageError(f'minigraph has no command named "{name} {rest[0]}".{hint}', command=name)
        return f"{name} {rest[0]}", rest[1:]
    if not inner and name not in COMMANDS:
        hint = did_you_mean(name, {known.split(" ")[0] for known in COMMANDS})
        raise UsageError(f'minigraph has no command named "{name}".{hint}', INSTEAD.get(name, ""))
    return name, rest


def group(name: str) -> List[str]:
    """Return the second words of the commands whose first word is ``name``."""
    return [command.partition(" ")[2] for command in COMMANDS if command.startswith(name + " ")]


def extra_words(variable: str, environ: Dict[str, str]) -> List[str]:
    """Return the words of an environment variable, split as a shell does."""
    if not environ.get(variable):
        return []
    import shlex
    try:
        return shlex.split(environ[variable])
    except ValueError:
        raise UsageError(f"Error parsing extra CLI args from {variable}", "invalid command line string") from None


def parse_options(name: str, words: Sequence[str]) -> Tuple[Dict[str, Any], List[str]]:
    """Return the options of a command over their defaults, and its arguments; these come last."""
    known = {option.name: option for option in COMMANDS[name].options}
    found = {option.name: [] if option.kind == "repeat" else option.default for option in known.values()}
    bare = {dash + option.name for option in known.values() if option.kind == "bare" for dash in ("-", "--")}
    found.update((word.lstrip("-"), True) for word in words if word in bare)
    rest = [word for word in words if word not in bare]
    while rest and rest[0].startswith("-") and rest[0] != "-":
        word = rest.pop(0)
        if word == "--":
            break
        flag, equals, text = word[2 if word.startswith("--") else 1:].partition("=")
        if not flag or flag.startswith("-"):
            raise refused_option(name, f"bad flag syntax: {word}")
        option = known.get(flag)
        if option is None or option.kind == "bare":
            hint = did_you_mean("-" + flag, ("-" + item for item in known if item != flag))
            raise undefined_option(name, "-" + flag, hint)
        if not equals and option.kind == "bool":
            text = "true"
        elif not equals and not rest:
            raise refused_option(name, f"flag needs an argument: -{flag}")
        elif not equals:
            text = rest.pop(0)
        value = option_value(name, option, text)
        found[flag] = [*found[flag], value] if option.kind == "repeat" else value
    return found, rest


def undefined_option(name: str, flag: str, hint: str) -> UsageError:
    """Return the error of an option that the command does not have."""
    return refused_option(name, f"flag provided but not defined: {flag}{'.' if hint else ''}{hint}")


def refused_option(name: str, detail: str) -> UsageError:
    """Return the error of an option that cannot be read."""
    return UsageError("Failed to parse command-line options", detail, name)


BOOLS = {
    **dict.fromkeys(("1", "t", "T", "true", "TRUE", "True"), True),
    **dict.fromkeys(("0", "f", "F", "false", "FALSE", "False"), False)}


def option_value(name: str, option: Option, text: str) -> Value:
    """Return the value of an option from its text, read as Go's flag package reads it."""
    if option.kind == "bool" and text not in BOOLS:
        raise refused_option(name, f'invalid boolean value "{text}" for -{option.name}: parse error')
    try:
        if option.kind == "int" and not re.fullmatch(r"[+-]?[0-9]{1,18}", text):
            raise ValueError
        read: Dict[str, Callable[[str], Value]] = {
            "bool": BOOLS.__getitem__, "duration": parse_duration, "int": int}
        return read.get(option.kind, str)(text)
    except ValueError:
        raise refused_option(name, f'invalid value "{text}" for flag -{option.name}: parse error') from None


def check_arguments_given(name: str, arguments: Sequence[str]) -> None:
    """Refuse too few or too many arguments."""
    command = COMMANDS[name]
    if len(arguments) < command.least:
        raise UsageError(
            "Missing argument", 'Give the address of an object; "minigraph state list" shows them all.', name)
    if len(arguments) <= command.most:
        return
    extra = arguments[command.most]
    if extra.startswith("-"):
        detail = f'Options go before the first argument: move "{extra}" before "{arguments[0]}".'
    elif command.arguments:
        detail = f'One {command.arguments.strip("[]")} at most; "{extra}" is too much.'
    else:
        detail = f'There is nothing to do with "{extra}". Did you mean to use -chdir?'
    raise UsageError("Unexpected argument", detail, name)


def check_options(name: str, options: Dict[str, Any], arguments: Sequence[str]) -> None:
    """Refuse values and combinations that make no sense, in the real tool's order and words.

    Addresses come out in their plain form.
    """
    def refuse(wrong: Any, summary: str, detail: str) -> None:
        if wrong:
            raise UsageError(summary, detail, name)

    if name == "output":
        refuse(options["raw"] and options["json"], "Invalid output format",
               "The -raw and -json options are mutually-exclusive.")
        refuse(options["raw"] and not arguments, "Output name required",
               "You must give the name of a single output value when using the -raw option.")
    elif name == "graph":
        refuse(options["type"] and options["type"] not in GRAPH_TYPES, "Unsupported graph type",
               f'The -type=... argument must be one of {", ".join(GRAPH_TYPES)}; it is "{options["type"]}".')
        refuse(options["plan"] and options["type"] not in ("", "apply"), "Invalid combination of arguments",
               "A saved plan has the graph of an apply: -plan goes with -type=apply or without -type.")
    elif name == "order":
        refuse(options["type"] not in ("", "apply"), "Unsupported graph type",
               f'The order of steps is -type=apply, not -type={options["type"]}.')
    if "parallelism" not in options:
        return
    refuse(options["parallelism"] < 0, "Invalid parallelism value",
           f"The parallelism must be a positive value. Not {options['parallelism']}.")
    options["parallelism"] = options["parallelism"] or 10
    for key, word in (("target", "target"), ("exclude", "exclude"), ("replace", "force-replace address")):
        options[key] = [plain_address(address, word, name) for address in options[key]]
    destroy, only = options["destroy"], options["refresh-only"]
    refuse(options["target"] and options["exclude"], "Invalid combination of arguments",
           "The -target and -exclude options are mutually-exclusive.")
    refuse(destroy and only, "Incompatible plan mode options",
           "The -destroy and -refresh-only options are mutually-exclusive.")
    refuse(only and not options["refresh"], "Incompatible refresh options",
           "It doesn't make sense to use -refresh-only at the same time as -refresh=false, because minigraph"
           " would have nothing to do.")
    if name == "destroy":
        refuse(destroy, "Invalid mode option",
               'The -destroy option is not valid for "minigraph destroy", because this command always runs in'
               " destroy mode.")
        refuse(only, "Invalid mode option", 'The -refresh-only option is not valid for "minigraph destroy".')
        refuse(arguments, "Destroy can't be called with a plan file",
               "If this plan was created using plan -destroy, apply it using:\n"
               f"  minigraph apply {' '.join(map(json_text, arguments))}")
    refuse(options["replace"] and (destroy or only or name == "destroy"), "Unsupported plan mode",
           "Forcing resource instance replacement (with -replace=...) is allowed only in normal planning"
           " mode.")


ADDRESS_NAME = r"[^\W\d][\w-]*"
ADDRESS_STEP = re.compile(rf'\s*(?:\.\s*({ADDRESS_NAME})|\[\s*([0-9]+|"(?:[^"\\]|\\.)*")\s*\])\s*')


def plain_address(text: str, word: str, command: str) -> str:
    """Return an address without white space and "resource."; UsageError: Invalid WORD "TEXT"."""
    names, keys, problem = address_steps(text)
    names = names[1:] if names[:1] == ["resource"] else names
    problem = problem or address_problem(names, keys, word)
    if problem:
        raise UsageError(f"Invalid {word} {json_text(text)}", problem, command)
    return ".".join(names) + "".join(keys)


def address_steps(text: str) -> Tuple[List[str], List[str], str]:
    """Return the names of an address, the [keys] behind them, and what is wrong with its syntax or ""."""
    start = re.match(rf"\s*({ADDRESS_NAME})\s*", text)
    if not start:
        return [], [], "Must begin with a variable name."
    names, position = [start[1]], start.end()
    keys: List[str] = []
    while position < len(text):
        step = ADDRESS_STEP.match(text, position)
        if step is None:
            return names, keys, broken_step(text[position:])
        if step[2]:
            keys.append(f"[{step[2]}]")
        elif keys and names[0] != "module":
            return names, keys, "Resource instance key must be given in square brackets."
        else:
            names.append(step[1])
        position = step.end()
    return names, keys, ""


BROKEN_STEPS = (  # the beginning of what cannot be read on, in the order of the checks, and the real parser's words
    (".*", "Splat expressions (.*) may not be used here."),
    ("[*", "Splat expressions (.*) may not be used here."),
    (".", "Dot must be followed by attribute name."),
    ("[", "Index brackets must contain either a literal number or a literal string."),
    ("", "Expected an attribute access or an index operator."))


def broken_step(rest: str) -> str:
    """Return what is wrong where an address cannot be read on."""
    if re.match(r'\[\s*[0-9"]', rest):
        return "Index key must be followed by a closing bracket."
    return next(text for start, text in BROKEN_STEPS if rest.startswith(start))


def address_problem(names: Sequence[str], keys: Sequence[str], word: str) -> str:
    """Return why the names of an address are not those of a resource, or "".

    The real tools know modules and data sources: as a target they are well-formed (and match nothing here).
    """
    choice = word in ("target", "exclude")
    first = names[0] if names else ""
    if first == "module":
        if len(names) < 2:
            return 'Prefix "module." must be followed by a module name.'
        return "" if choice else "A resource address is required here, and minigraph has no modules."
    if first in ("var", "local", "path", "each", "count", "self", "terraform"):
        return f'"{first}." is not how the address of a resource begins: it is TYPE.NAME.'
    if first == "data" and not choice:
        return "Only managed resources can be used here."
    least = 3 if first == "data" else 2
    if len(names) < least:
        return "Resource specification must include a resource type and name."
    if len(names) > least or len(keys) > 1:
        return "Resource instance key must be given in square brackets."
    return ""


def help_text(name: str = "") -> str:
    """Return the help of a command, of a group such as "state", or of everything."""
    if name in COMMANDS:
        command = COMMANDS[name]
        usage = f"Usage: minigraph [global options] {name} [options] {command.arguments}".rstrip()
        options = [(f"-{option.name}{option.shown}", option.help) for option in command.offered()]
        statuses = "".join(f"  {status}\n" for status in command.exits)
        return f"{usage}\n\n  {command.summary}.\n\nOptions:\n{columns(options)}\nExit status:\n{statuses}"
    chosen = [(known, command.summary) for known, command in COMMANDS.items() if known.startswith(name)]
    usage = " ".join(filter(None, ("Usage: minigraph [global options]", name, "COMMAND [options]")))
    return f"{usage}\n\nCommands:\n{columns(chosen)}{GLOBAL_HELP}"


def columns(rows: Sequence[Tuple[str, str]]) -> str:
    """Return lines of two aligned columns, the right one wrapped at 78."""
    left = max(len(word) for word, _ in rows) + 4
    gap = "\n" + " " * left
    return "".join(f"  {word:{left - 2}}{gap.join(wrap_detail(text, 78 - left))}\n" for word, text in rows)


# --------------------------------------------------------------------------------------
# showing progress
# emit("apply_start", entry=..., instance=...)  ->  "local_file.a: Creating..." on stdout
# --------------------------------------------------------------------------------------


class Interrupted(MinigraphError):
    """A signal asked to stop before any step had started."""


class View:
    """Where a command shows things: text or JSON lines on stdout, diagnostics on stderr (or as JSON lines).

    A closed stdout stops a run as an interrupt does (``broken``); any other failure to print is ignored, as the real
    tools do: the work matters more than its log.
    """

    def __init__(self, command: str = "", **options: Any) -> None:
        import time
        self.json = bool(options.get("json")) and command in LOGGING
        self.compact = bool(options.get("compact-warnings"))
        colored = not (options.get("no-color") or os.environ.get("NO_COLOR"))
        self.color, self.error_color = colored and sys.stdout.isatty(), colored and sys.stderr.isatty()
        self.now = time.time
        self.starts: Dict[str, float] = {}
        self.broken = False
        self.stop: Optional[Stop] = None
        if self.json:
            self.line(version_event(self.now()))

    def write(self, text: str, flush: bool = True) -> None:
        """Write to stdout."""
        if self.broken:
            return
        try:
            sys.stdout.write(text)
            if flush:
                sys.stdout.flush()
        except BrokenPipeError:
            self.broken = True
            if self.stop is None:
                raise
            self.stop.event.set()
        except OSError:
            pass

    def line(self, document: Value, indent: Optional[int] = None) -> None:
        """Write one JSON line, or a document indented by two."""
        self.write(dump_json(document, indent) + "\n")

    def diagnostics(self, found: Sequence[Diagnostic]) -> None:
        """Show errors on stderr and warnings on stdout, or both as JSON lines."""
        if self.json:
            for item in found:
                self.line(diagnostic_event(item, self.now()))
            return
        warnings = [item for item in found if item.severity == "warning"]
        errors = [item for item in found if item.severity != "warning"]
        if warnings:
            self.write(render_compact_warnings(warnings, self.color) if self.compact and not errors
                       else render_diagnostics(warnings, self.color))
        if errors:
            self.note(render_diagnostics(errors, self.error_color))

    def note(self, text: str) -> None:
        """Write to stderr, after what stdout has so far."""
        self.write("")
        try:
            sys.stderr.write(text)
            sys.stderr.flush()
        except OSError:
            pass

    def emit(self, kind: str, **what: Any) -> None:
        """Show progress: a line of the real tool's log, or its JSON form."""
        (self.refreshing if kind.startswith("refresh") else self.applying)(kind, **what)

    def refreshing(self, kind: str, address: str, deposed: str, id: Value) -> None:
        """Show that an object is being read."""
        if self.json:
            self.line(refresh_event(kind, address, str(id or ""), self.now()))
        elif kind == "refresh_start":
            self.write(f"{with_key(address, deposed)}: Refreshing state...{id_text(id)}\n", False)

    def applying(self, kind: str, entry: Entry, instance: Instance, elapsed: int = 0) -> None:
        """Show the start, the progress or the end of a step.

        Elapsed time is the difference of the rounded clock times, as in the real tools: 20 ms can show as 1s.
        """
        now, object_id = self.now(), instance.attributes.get("id")
        if kind == "apply_start":
            self.starts[entry.step] = now
        elif kind != "apply_progress":
            elapsed = int(now + 0.5) - int(self.starts.pop(entry.step) + 0.5)
        if self.json:
            known = "" if isinstance(object_id, Unknown) or entry.verb == "delete" and kind == "apply_complete" else object_id
            self.line(apply_event(kind, entry.address, entry.verb, now, str(known or ""), elapsed))
        elif kind != "apply_errored":
            self.write(progress_line(kind, entry, object_id, elapsed) + "\n")


def id_text(object_id: Value) -> str:
    """Return an id as log lines carry it, or nothing."""
    return "" if object_id is None or isinstance(object_id, Unknown) else f" [id={object_id}]"


def progress_line(kind: str, entry: Entry, object_id: Value, elapsed: int) -> str:
    """Return one line of the log, byte for byte as the real tool writes it (the end of a deposed destroy is unmarked)."""
    gerund, noun = LOG_ACTIONS[entry.verb]
    if kind == "apply_start":
        known = "" if entry.verb == "create" else id_text(object_id)
        return f"{with_key(entry.address, entry.deposed)}: {gerund}...{known}"
    if kind == "apply_progress":
        shown = str(object_id)
        shown = shown if len(shown) <= 80 else f"{shown[:38]}...{shown[-39:]}"
        known = "" if entry.verb == "create" or object_id is None else f"id={shown}, "
        return f"{entry.address}: Still {gerund.lower()}... [{known}{elapsed_text(elapsed)} elapsed]"
    return f"{entry.address}: {noun} complete after {elapsed_text(elapsed)}{'' if entry.verb == 'delete' else id_text(object_id)}"


class Signals:
    """SIGINT and SIGTERM while a command runs: the first asks it to stop, the second ends the process at once.

    Before the walk the first raises Interrupted; from then on it sets ``stop``, which the walk looks at.
    """

    TEXT = ("\nInterrupt received.\nPlease wait for minigraph to exit or data loss may occur.\nGracefully shutting down...\n\n"
            "Stopping operation...\n")
    TWICE = ("\nTwo interrupts received. Exiting immediately. Note that data loss may have\noccurred.\n\n"
             "Error: operation canceled\n")

    def __init__(self, stop: Stop, view: View) -> None:
        self.stop, self.view = stop, view
        self.walking = False
        self.received = 0
        self.lock_info = ""
        self.before: Dict[int, Any] = {}

    def __enter__(self) -> "Signals":
        import signal
        import threading
        if threading.current_thread() is threading.main_thread():
            self.before = {number: signal.signal(number, self.handle) for number in (signal.SIGINT, signal.SIGTERM)}
        return self

    def __exit__(self, *_: object) -> None:
        import signal
        for number, handler in self.before.items():
            signal.signal(number, handler)

    def handle(self, number: int, frame: Any) -> None:
        """Stop, in order or at once; written with os.write, as the streams may be in use."""
        self.received += 1
        if self.received > 1:
            write_raw(2, self.TWICE)
            remove_quietly(self.lock_info)
            os._exit(130)
        if self.view.json:
            write_raw(1, dump_json(event("log", "Stopping operation...", self.view.now())) + "\n")
        else:
            write_raw(1, self.TEXT)
        self.stop.event.set()
        if not self.walking:
            raise Interrupted("Interrupted", "No step had started; nothing was changed.")


def write_raw(fd: int, text: str) -> None:
    """Write to a file descriptor, past the streams; a failure does not matter."""
    try:
        os.write(fd, text.encode())
    except OSError:
        pass


# --------------------------------------------------------------------------------------
# commands
# main(["-chdir=stack", "apply"])  ->  0, the log on stdout, errors on stderr
# --------------------------------------------------------------------------------------


def is_same_file(path: str, other: str) -> bool:
    """Return whether two paths name one file, which need not be there."""
    return os.path.realpath(path) == os.path.realpath(other)


class Setting(NamedTuple):
    """What a command works with."""

    options: Dict[str, Any]
    arguments: List[str]
    directory: str
    view: View

    def path(self, name: str) -> str:
        """Return a path that the user gave relative to the working directory (-chdir)."""
        return os.path.join(self.directory, name)

    def state_path(self) -> str:
        """Return the path of the state file; StateError where a workspace is selected, whose state is another one."""
        if not self.options.get("state"):
            self.check_workspace()
        return self.path(self.options.get("state") or "terraform.tfstate")

    def check_workspace(self) -> None:
        """Refuse a workspace that tofu or terraform would use here: minigraph would act on the state of the default one."""
        name, by = os.environ.get("TF_WORKSPACE", ""), "the environment variable TF_WORKSPACE: unset it"
        if not name:
            by = "\"terraform workspace select\": select the default one"
            try:
                with open(self.path(os.path.join(os.environ.get("TF_DATA_DIR") or ".terraform", "environment")), "rb") as file:
                    name = file.read().decode("utf-8", "replace").strip()
            except OSError:
                pass
        if name not in ("", "default"):
            raise StateError(f'Workspace "{name}" is selected', f"minigraph knows the default workspace only, and would read"
                             f" and write its state. The other one was selected by {by}, or name a state file with -state.")

    def output_path(self) -> str:
        """Return the path of the state file that is written: that of -state-out, else the one that is read."""
        elsewhere = self.options.get("state-out")
        return self.path(elsewhere) if elsewhere else self.state_path()

    def backup_path(self, timed: bool = False) -> str:
        """Return where the state as it was before is kept, "" for nowhere; StateError where nothing can be kept."""
        given, seconds = self.options.get("backup"), int(self.view.now())
        while timed and os.path.exists(f"{self.output_path()}.{seconds}.backup"):
            seconds += 1
        path = self.path(given) if given else f"{self.output_path()}{f'.{seconds}' if timed else ''}.backup"
        unfit = os.path.isdir(path) or not os.path.isdir(os.path.dirname(path) or ".")
        if given not in ("", "-") and unfit or is_waiting(path):
            raise StateError("Invalid -backup path", f"{given or path} cannot be written. Nothing was changed.")
        if is_same_file(path, self.output_path()):
            raise StateError("Invalid -backup path", f"{given} is the state file itself. Nothing was changed.")
        return "" if given == "-" else path

    def runtime(self, stop: Optional[Stop] = None) -> Runtime:
        """Return what providers use of the world."""
        import time
        return Runtime((stop or Stop()).sleep, time.time, self.directory)

    def plan_options(self, destroy: bool = False) -> PlanOptions:
        """Return what the options ask of a plan."""
        given = self.options
        mode = "destroy" if destroy or given["destroy"] else "refresh-only" if given["refresh-only"] else "normal"
        return PlanOptions(mode, given["refresh"], given["target"], given["exclude"], given["replace"])


def configuration(context: Setting, needed: bool = False) -> Config:
    """Return the configuration of the working directory; ``needed`` refuses a directory without any."""
    config = load_config(context.directory or ".")
    if needed and not config.sources:
        raise ConfigError("No configuration files", "This requires configuration to be present: without any, all objects would"
                          " be marked for destruction, which is normally not what is desired. If you would like to destroy"
                          " everything, use the destroy command. Otherwise, create a configuration file (main.tf.json) and"
                          " try again.")
    return config


def recovered(context: Setting, path: str, known: bytes) -> Optional[State]:
    """Return the state that the journal of a run that died gives, told to the user; None where there is none."""
    found = recover(beside(path, "journal"), known, context.runtime())
    if found is None:
        return None
    if found[1]:
        lines = "".join(f"  {line}\n" for line in found[1])
        context.view.note(f"\nRecovered from the journal of a run that did not end:\n{lines}")
    return found[0]


def decoded_state(data: bytes, path: str) -> State:
    """Return the state that the bytes of a file hold."""
    try:
        return read_state(data.decode("utf-8"), path)
    except UnicodeDecodeError:
        raise state_error(path, "The state file is not UTF-8.") from None


def read_only_state(context: Setting, path: str = "") -> Tuple[State, bool]:
    """Return the state without changing a file, and whether there is one; a dead run's journal is taken into account.

    While another process holds the lock its journal is in use: then the file is read as it stands.
    """
    import errno
    import fcntl
    import stat
    import time
    path = path or context.state_path()
    attempts_left, live = 4, False
    while True:
        try:
            if os.path.exists(path) and stat.S_ISFIFO(os.stat(path).st_mode):
                raise OSError(errno.EINVAL, "a fifo holds no state")  # to open it would wait for a writer
            with open(path, "rb", 0) as file:
                try:
                    fcntl.lockf(file, fcntl.LOCK_SH | fcntl.LOCK_NB)
                except OSError:
                    live = True
                data = file.read()
        except FileNotFoundError:
            if not os.path.exists(beside(path, "journal")):
                return decoded_state(b"", path), False
            data = b""
        except OSError as error:
            raise StateError("Error reading the state file", f"{path}: {reason_of(error)}.") from None
        try:
            if not live or data.strip() or not attempts_left:
                return not live and recovered(context, path, data) or decoded_state(data, path), True
        except StateError:
            if not live or not attempts_left:
                raise
        attempts_left, live = attempts_left - 1, False
        time.sleep(0.05)  # it is being rewritten at this moment


def open_state(context: Setting, operation: str, signals: Optional[Signals] = None) -> StateFile:
    """Return the state file that a command writes, open and locked."""
    options, view = context.options, context.view

    def waiting() -> None:
        if not view.json:
            view.write("Acquiring state lock. This may take a few moments...\n")
    file = StateFile(context.output_path(), operation, options.get("lock-timeout", 0.0), options.get("lock", True),
                     waiting, VERSION)
    if signals:
        signals.lock_info = file.info_path if file.locked else ""
    return file


def load_state(context: Setting, file: StateFile, settle: bool) -> State:
    """Return the state, recovered where a run died; with ``settle`` a dead run's journal is written back."""
    path, known = file.path, file.read()
    state = recovered(context, path, known)
    if state is not None:
        state.serial += 1  # in a plan too: it holds for the state as the apply will find it
    if settle:
        if state is not None:
            try:
                file.write(state_bytes(state), sync=True)
            except OSError as error:
                raise not_saved(file, error) from None
        try:
            os.unlink(beside(path, "journal"))  # or at most a first line that was cut off
        except FileNotFoundError:
            pass
    if state is not None:
        return state
    if path != context.state_path():
        file.copied = True
        return read_only_state(context)[0]
    file.state = decoded_state(known, path)
    return file.state


def not_saved(file: StateFile, error: OSError) -> StateError:
    """Return the error of a state file that could not be written."""
    return StateError("Failed to save the state", f"{error.filename or file.path}: {reason_of(error)}. What it would have"
                      " held is in the journal beside it, if that could be written.")


def cmd_validate(context: Setting) -> int:
    """Check the configuration."""
    view = context.view
    where = context._replace(directory=context.path(context.arguments[0])) if context.arguments else context
    found: List[Diagnostic] = []
    try:
        found = validate_config(configuration(where, needed=True))
    except (ConfigError, CycleError) as error:
        found = error.diagnostics
    failed = any(item.severity == "error" for item in found)
    if context.options["json"]:
        view.line(validate_document(found), 2)
        return int(failed)
    view.diagnostics(found)
    if not failed:
        view.write("Success! The configuration is valid, but there were some validation warnings\nas shown above.\n" if found
                   else "Success! The configuration is valid.\n")
    return int(failed)


def cmd_order(context: Setting) -> int:
    """Show the waves and the critical path of the resources, of a destroy, or of the next apply's steps."""
    notes: List[str] = []
    if context.options["destroy"]:
        deps = steps_only(destroy_graph(read_only_state(context)[0]))
    elif context.options["type"] == "apply":
        steps = plan_steps(quiet_plan(context))
        deps, notes = steps_only(steps), steps.notes
    else:
        config = configuration(context, needed=True)
        graph, causes = config_graph(config)
        context.view.diagnostics(validate_config(config, graph, causes))
        deps = resource_graph(config, graph)
    found, path = waves(deps), critical_path(deps)
    if context.options["json"]:
        context.view.line({"waves": found, "critical_path": path, "steps": len(path)}, 2)
        return 0
    lines = [f"wave {number}: {', '.join(wave)}" for number, wave in enumerate(found, 1)]
    lines.append(f"critical path ({len(path)} step{'' if len(path) == 1 else 's'}): {' -> '.join(path)}" if path
                 else "nothing to order")
    lines += ["\n" + wrapped(f"Note: {note}").rstrip("\n") for note in notes]
    context.view.write("\n".join(lines) + "\n")
    return 0


def steps_only(graph: StepGraph) -> Deps:
    """Return a step graph without its junctions."""
    return contract(graph.deps, graph.steps)


def made_plan(context: Setting, state: State, options: PlanOptions, emit: Emit) -> Plan:
    """Return the plan for a state and the configuration of the working directory; ``emit`` hears of every read."""
    config = configuration(context, needed=options.mode != "destroy")
    try:
        started_in = os.getcwd()  # path.cwd, also with -chdir
    except OSError as error:
        raise MinigraphError("The working directory is gone", f"{reason_of(error)}: change to one that exists.") from None
    return make_plan(config, state, options, reader(config, context.runtime(), emit), started_in)


def quiet_plan(context: Setting) -> Plan:
    """Return the plan that apply would carry out now, without showing anything of it."""
    plan = made_plan(context, read_only_state(context)[0], PlanOptions(), lambda kind, **what: None)
    if plan.errors:
        raise MinigraphError(plan.errors)
    return plan


def cmd_graph(context: Setting) -> int:
    """Print a graph as DOT: the resources, all nodes of the configuration, or the steps of a destroy or an apply."""
    options, kind = context.options, context.options["type"]
    graph: Deps = {}
    deposed: Deps = {}
    explicit: Set[Tuple[str, str]] = set()
    if options["plan"]:
        deps = steps_only(plan_steps(load_plan(context.path(options["plan"]), options["plan"], context.directory)))
    elif kind == "plan-destroy":
        deps = steps_only(destroy_graph(read_only_state(context)[0]))
    elif kind == "apply":
        deps = steps_only(plan_steps(quiet_plan(context)))
    else:
        config = configuration(context, needed=kind == "plan" or not os.path.exists(context.state_path()))
        deps, causes = config_graph(config)
        explicit = causes.explicit()
        cycle = cycle_error(config, deps, causes)
        if cycle:
            cycle.diagnostics = placed(cycle.diagnostics, config.sources)
            if options["draw-cycles"]:
                context.view.write(render_dot(deps, explicit, loop_edges(deps)))
            raise cycle
        if kind != "plan":
            graph, deps = deps, resource_graph(config, deps)
            state, _ = read_only_state(context)
            for address in (*state.objects, *state.deposed):
                deps.setdefault(address, set())
                graph.setdefault(address, set())
            deposed = deposed_waits(state)
    if not options["full"]:
        deps, deposed = transitive_reduction(deps), transitive_reduction(deposed)
    explicit = explicit_edges(graph, causes, deps) if graph else explicit
    for address, found in deposed.items():  # one node an address: both edges between two of them may be there
        deps[address] |= found
    context.view.write(render_dot(deps, explicit))
    return 0


def show_changes(view: View, plan: Plan) -> None:
    """Show the drift and the changes of a plan as JSON lines."""
    for change in plan.drift:
        view.line(change_event(change, view.now(), drift=True))
    for change in plan.changed():
        view.line(change_event(change, view.now()))


def planned(context: Setting, state: State, destroy: bool) -> Plan:
    """Return the plan for the state, shown as it is made but for its warnings and errors."""
    import time
    view = context.view
    plan = made_plan(context, state, context.plan_options(destroy), view.emit)
    if any(change.verb in ("delete", "replace") for change in plan.changes):
        plan_steps(plan)  # for the notes on waits that give way: without a destroy there are none
    plan.timestamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(view.now()))
    if not view.json:
        view.write(render_plan(plan, color=view.color))
        return plan
    show_changes(view, plan)
    if plan.changes or not plan.errors:
        view.line(change_summary(*plan_counts(plan), "plan", view.now()))
        if plan.outputs:
            view.line(planned_outputs_event(plan.outputs, view.now()))
    return plan


def cmd_plan(context: Setting) -> int:
    """Show what apply would do, and save it if asked to."""
    view, out = context.view, context.options["out"]
    if out and is_same_file(context.path(out), context.state_path()):
        raise StateError("Failed to write plan file", f"{out} is the state file. Nothing was changed.")
    with Signals(Stop(), view) as signals, open_state(context, "OperationTypePlan", signals) as file:
        plan = planned(context, load_state(context, file, False), False)
        view.diagnostics([*plan.warnings, *plan.errors])
        if out:
            write_plan_file(context.path(out), plan)
        if plan.errors:
            return 1
        if not (view.json or os.environ.get("TF_IN_AUTOMATION") or plan.does_nothing()):
            view.write(render_next_step(out, view.color))
    return 2 if context.options["detailed-exitcode"] and not plan.does_nothing() else 0


def write_plan_file(path: str, plan: Plan) -> None:
    """Write a plan file, readable by its owner alone: it holds configuration and state."""
    try:
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o600)
        with os.fdopen(fd, "w", encoding="utf-8", errors="replace") as file:
            if os.path.isfile(path):
                os.fchmod(fd, 0o600)  # it may have been there with another mode
            file.write(plan_file_text(plan))
    except OSError as error:
        raise StateError("Failed to write plan file",
                         f"The plan file could not be written: {path}: {reason_of(error)}.") from None


def cmd_apply(context: Setting, destroy: bool = False) -> int:
    """Plan and carry out the plan, or carry out a saved one."""
    view, stop = context.view, Stop()
    view.stop = stop
    saved = context.arguments[0] if context.arguments else ""
    if saved:
        plan = load_plan(context.path(saved), saved, context.directory)
    with Signals(stop, view) as signals, open_state(context, "OperationTypeApply", signals) as file:
        state = load_state(context, file, True)
        if saved:
            check_plan_is_current(plan, state)
            if view.json:
                show_changes(view, plan)
        else:
            plan = planned(context, state, destroy)
            if plan.errors:
                view.diagnostics([*plan.warnings, *plan.errors])
                return 1
        signals.walking = True
        apply = Apply(plan, file, context.runtime(stop), view.emit, stop, context.backup_path())
        apply.run(context.options["parallelism"])
    return show_result(context, plan, apply, destroy)


def show_result(context: Setting, plan: Plan, apply: Apply, destroy: bool) -> int:
    """Show how an apply ended: the real summary, or the errors and what was done, failed and skipped."""
    view, outputs = context.view, apply.state.outputs
    warnings = [] if context.arguments else plan.warnings  # those of a saved plan were shown when it was made
    if plan.targets or plan.excludes:
        warnings = [*warnings, Diagnostic("Applied changes may be incomplete", INCOMPLETE, severity="warning")]
    view.diagnostics([*warnings, *apply.errors])
    if apply.errors or apply.stop.event.is_set():
        view.note("" if view.json else failure_summary(apply))
        return 141 if view.broken else 1
    counts = (apply.counts["create"], apply.counts["update"], apply.counts["delete"])
    if view.json:
        view.line(change_summary(*counts, "destroy" if destroy else "apply", view.now()))
        if not destroy:
            view.line(outputs_event(outputs, view.now()))
        return 0
    if destroy:
        view.write(f"\nDestroy complete! Resources: {counts[2]} destroyed.\n")
        return 0
    view.write("\nApply complete! Resources: {} added, {} changed, {} destroyed.\n".format(*counts))
    if context.options["state-out"] and any(counts):
        view.write(STATE_PATH.format(context.options["state-out"]))
    if outputs:
        view.write("\nOutputs:\n\n" + render_outputs(outputs))
    return 141 if view.broken else 0


STATE_PATH = """
The state of your infrastructure has been saved to the path
below. This state is required to modify and destroy your
infrastructure, so keep it safe. To inspect the complete state
use the `minigraph show` command.

State path: {}
"""


INCOMPLETE = (
    "The plan was created with the -target or the -exclude option in effect, so some changes requested in the"
    " configuration may have been ignored and the output values may not be fully updated: the state is now only partly"
    " reconciled with the configuration. Run the following command to verify that no other changes are pending:\n"
    "    minigraph plan\n\nNote that the -target and -exclude options are not suitable for routine use, and are provided"
    " only for exceptional situations such as recovering from errors or mistakes, or when minigraph specifically suggests"
    " to use it as part of an error message.")


def failure_summary(apply: Apply) -> str:
    """Return what completed, what failed and what was skipped because of which failure (no real tool says so)."""
    walked, steps = apply.walked, apply.graph.steps
    skipped = {step: cause for step, cause in walked.skipped.items() if step in steps}
    done, failed, left = (sorted(step for step in found if step in steps)
                          for found in (walked.completed, walked.failed, walked.unstarted))
    why = "was interrupted" if apply.stop.event.is_set() else "did not complete"
    lines = [f"\nThe run {why}: {len(done)} completed, {len(failed)} failed, {len(skipped)} skipped"
             + (f", {len(left)} not started." if left else ".")]
    lines += [f"  completed: {step}" for step in done] + [f"  failed: {step}" for step in failed]
    lines += [f"  skipped: {step} (because {cause} failed)" for step, cause in sorted(skipped.items())]
    lines += [f"  not started: {step}" for step in left]
    kept = "the journal beside the state" if apply.broken else "the state"
    return "\n".join([*lines, f"What was done is in {kept}; run the same command again to go on.", ""])


def cmd_show(context: Setting) -> int:
    """Show a saved plan, a state file, or the current state."""
    view, as_json = context.view, context.options["json"]
    name = context.arguments[0] if context.arguments else ""
    path = context.path(name) if name else ""
    if name and is_plan_file(path):
        if as_json:
            view.line(read_plan_document(path, name)["plan"])
        else:
            view.write(render_plan(load_plan(path, name, context.directory), color=view.color))
        return 0
    if name and not os.path.exists(path):
        raise StateError("Failed to read the given file as a state or plan file", f"stat {name}: no such file or directory")
    state, there = read_only_state(context, path)
    if as_json:
        view.line(state_document(state) if there else {"format_version": "1.0"})
    else:
        view.write(render_state(state) if there else "No state.\n")
    return 0


def is_plan_file(path: str) -> bool:
    """Return whether a file begins as our plan files do."""
    try:
        with open(path, "rb") as file:
            return file.read(len(PLAN_MARK)) == PLAN_MARK
    except OSError:
        return False


def cmd_output(context: Setting) -> int:
    """Show the outputs, or one of them."""
    view, (state, _) = context.view, read_only_state(context)
    if not context.arguments or not state.outputs and not context.options["json"]:
        if context.options["json"]:
            view.line(outputs_document(state.outputs), 2)
        elif state.outputs:
            view.write(render_outputs(state.outputs))
        else:
            view.diagnostics([Diagnostic("No outputs found", "The state file either has no outputs defined, or all the defined"
                                         " outputs are empty. Please define an output in your configuration with the output"
                                         " block and run minigraph apply for it to become available.", severity="warning")])
        return 0
    name = context.arguments[0]
    if name not in state.outputs:
        raise StateError(f'Output "{name}" not found', "The output variable requested could not be found in the state file."
                         " If you recently added this to your configuration, be sure to run minigraph apply, since the state"
                         " won't be updated with new output variables until that command is run."
                         + did_you_mean(name, state.outputs))
    value = state.outputs[name].value
    if context.options["json"]:
        view.line(plain(value))
    elif not context.options["raw"]:
        view.write(console_value(value) + "\n")
    elif isinstance(value, (str, bool, int, Decimal)):
        view.write(stringify(value))
    else:
        raise StateError("Unsupported value for raw output", f"The -raw option only supports strings, numbers, and boolean"
                         f" values, but output value \"{name}\" is {describe(value)}. Use the -json option instead.")
    return 0


def cmd_state_list(context: Setting) -> int:
    """List the addresses in the state."""
    state, there = read_only_state(context)
    if not there:
        raise StateError("No state file was found!", "State management commands require a state file. Run this command in a"
                         " directory where minigraph has been run or use the -state flag to point the command to a specific"
                         " state location.")
    wanted = set(context.arguments)
    check_held(state, context.arguments)
    found = sorted({*state.objects, *state.deposed}, key=sort_key)
    found += [address for entry in state.foreign for address in carried_addresses(entry)]
    context.view.write("".join(f"{address}\n" for address in found if not wanted or address in wanted))
    return 0


def no_such_object(address: str, state: State) -> StateError:
    """Return the refusal of an address that the state does not hold."""
    return StateError("No such object in the state", f"The state holds no {address}.{did_you_mean(address, state.objects)}"
                      ' "minigraph state list" shows what it holds.')


def check_held(state: State, addresses: List[str]) -> None:
    """Refuse addresses of which the state holds no object, not even a deposed one."""
    for address in addresses:
        if address not in state.objects and address not in state.deposed:
            raise no_such_object(address, state)


def cmd_state_show(context: Setting) -> int:
    """Show one object of the state."""
    (state, _), address = read_only_state(context), context.arguments[0]
    if address not in state.objects:
        raise no_such_object(address, state)
    context.view.write(render_instance(address, state.objects[address]))
    return 0


def change_state(context: Setting, change: Callable[[State], str], timed: bool = False) -> int:
    """Run ``change`` on the locked state, write it back with a higher serial, and print what it returns.

    ``timed``: the backup has the time in its name and overwrites no other.
    """
    with open_state(context, "OperationTypeApply") as file:
        state = load_state(context, file, True)
        told = change(state)
        backup = context.backup_path(timed)
        state.serial += 1
        try:
            keep_backup(backup, file)
            write_safely(file, state)
        except OSError as error:
            raise not_saved(file, error) from None
    context.view.write(told)
    return 0


def cmd_state_rm(context: Setting) -> int:
    """Forget objects: they leave the state and stay in the world."""
    def change(state: State) -> str:
        state.index_users()
        for address in context.arguments:
            check_held(state, [address])  # one at a time: the second mention of an address is refused
            state.deposed.pop(address, None)
            record(state, Entry("end", address, address, "delete"))
        removed = "".join(f"Removed {address}\n" for address in context.arguments)
        return f"{removed}Successfully removed {len(context.arguments)} resource instance(s).\n"
    if not context.options["dry-run"]:
        return change_state(context, change, timed=True)
    check_held(read_only_state(context)[0], context.arguments)
    context.view.write("".join(f"Would remove {address}\n" for address in context.arguments))
    return 0


def mark_object(context: Setting, tainted: bool) -> int:
    """Set or take off the taint of one object."""
    address = context.arguments[0]

    def change(state: State) -> str:
        if address not in state.objects:
            raise no_such_object(address, state)
        if not tainted and not state.objects[address].tainted:
            raise StateError("Resource instance is not tainted", f"{address} is not marked as tainted, so there is nothing to"
                             " take off.")
        state.objects[address] = state.objects[address]._replace(tainted=tainted)
        done = "marked as tainted" if tainted else "successfully untainted"
        return f"Resource instance {address} has been {done}.\n"
    return change_state(context, change)


def cmd_version(context: Setting) -> int:
    """Show the version."""
    import platform
    machine = f"{sys.platform}_{ {'x86_64': 'amd64', 'aarch64': 'arm64'}.get(platform.machine(), platform.machine())}"
    if context.options["json"]:
        context.view.line(
            {"minigraph_version": VERSION, "terraform_version": TERRAFORM_VERSION, "platform": machine}, 2)
    else:
        context.view.write(f"minigraph v{VERSION}\non {machine}\n")
    return 0


def cmd_help(context: Setting) -> int:
    """Show the help of a command, of a group, or of everything."""
    context.view.write(help_text(context.arguments[0]))
    return int(context.options["status"])


def run_command(argv: Sequence[str]) -> int:
    """Run what the words behind the program's name ask for; what the user can mend is shown, not raised."""
    try:
        call = parse_command_line(argv, dict(os.environ))
    except UsageError as error:
        if error.json:
            View("plan", json=True).diagnostics(error.diagnostics)
        else:
            View().note(error.text())
        return error.status
    view = View(call.command, **call.options)
    try:
        if call.chdir and not os.path.isdir(call.chdir):
            raise MinigraphError("Error handling -chdir option", f"chdir {call.chdir}: no such file or directory")
        return RUN[call.command](Setting(call.options, call.arguments, call.chdir, view))
    except MinigraphError as error:
        view.diagnostics(error.diagnostics)
        return 1


def open_streams() -> None:
    """Let stdout and stderr write UTF-8 in every locale, as the real tools do; a stream that is closed leads nowhere.

    Otherwise the first file opened, such as the state, would get the number of a closed stream.
    """
    for fd, name in enumerate(("stdin", "stdout", "stderr")):
        stream = getattr(sys, name)
        if stream is None:
            null = os.open(os.devnull, os.O_RDWR)
            if null != fd:
                os.dup2(null, fd)
            setattr(sys, name, open(fd, "w" if fd else "r", encoding="utf-8", closefd=False))
        elif fd and hasattr(stream, "reconfigure"):
            stream.reconfigure(encoding="utf-8", errors="backslashreplace")


def leave(status: int) -> None:
    """End the process at once: to free a million objects one by one first would take a second."""
    for stream in (sys.stdout, sys.stderr):
        try:
            stream.flush()
        except OSError:
            pass
    os._exit(status)


def main(argv: Optional[Sequence[str]] = None) -> int:
    """Run one command and return its exit status (0 fine, 1 an error, see the help of each command)."""
    open_streams()
    try:
        return run_command(sys.argv[1:] if argv is None else argv)
    except BrokenPipeError:
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # the interpreter flushes stdout once more at exit
        return 141
    except KeyboardInterrupt:
        return 130


RUN: Dict[str, Callable[[Setting], int]] = {
    "help": cmd_help, "validate": cmd_validate, "order": cmd_order, "graph": cmd_graph, "plan": cmd_plan, "apply": cmd_apply,
    "destroy": lambda context: cmd_apply(context, destroy=True), "show": cmd_show, "output": cmd_output,
    "state list": cmd_state_list, "state show": cmd_state_show, "state rm": cmd_state_rm, "version": cmd_version,
    "taint": lambda context: mark_object(context, True), "untaint": lambda context: mark_object(context, False)}


if __name__ == "__main__":
    leave(main())
