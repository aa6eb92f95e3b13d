"""The measurable house rules: length of files, functions and comment lines, no unsafe outside the kernels, no
unfinished markers, and for the core the order of its layers, no word of any surface and few public types."""

import pathlib
import re
import subprocess
import sys

FILE_LIMIT, FUNCTION_LIMIT, COMMENT_LIMIT = 600, 80, 110
# Tables, formulas and code in comments may be longer than prose.
UNBROKEN = re.compile(r"[|$`{]")
UNFINISHED = re.compile(r"\b(?:todo|unimplemented|dbg)!|FIX" + r"ME|XX" + r"X")

CORE = "crates/compressive/src/"
# Libraries whose texts are worded by the surface that shows them.
SURFACELESS = (CORE, "crates/compressive-report/src/", "crates/compressive-client/src/", "crates/compressive-collector/src/")
# Ways to say "this flag" or "this command" in a text: ` --size`, "`--size`", `(-k 3)`, `compressive design`.
FLAG = re.compile(r"(?:^|[\s`(\"])(?:--[a-z]{2}|-[a-z][\s`)])|\bcompressive [a-z]+[\s`]")
# Structs, enums, traits and aliases of the core that its users can name; each new one is one more to learn.
TYPES_LIMIT = 118
# A layer uses those before it only; `error` serves them all.
LAYERS = ["num", "sketch", "privacy", "model", "density", "design", "learn", "ask"]


def shipped(lines):
    """Numbered lines of code without comments, up to the tests at the end of a file."""
    for i, line in enumerate(lines):
        if line.startswith("#[cfg(test)]") and lines[i + 1 : i + 2] and lines[i + 1].startswith("mod "):
            return
        # Not the slashes of an address.
        yield i + 1, re.split(r"(?<!:)//", line)[0]


def upward(name, lines):
    """Arrows from a layer of the core to a higher one."""
    place = name.removeprefix(CORE).split("/")
    if not name.startswith(CORE) or place[0] not in LAYERS or "tests" in name:
        return
    allowed = LAYERS[: LAYERS.index(place[0]) + 1]
    for number, code in shipped(lines):
        for layer in re.findall(r"\bcrate::(\w+)", code):
            if layer in LAYERS and layer not in allowed:
                yield f"{name}:{number}: `{place[0]}` uses `{layer}`, a layer above it"


def surface(name, lines):
    """Flags and commands of the program in the texts of libraries, which carry remedies instead."""
    if not name.startswith(SURFACELESS) or "tests" in name:
        return
    code = "\n".join(text for _, text in shipped(lines))
    for literal in re.finditer(r'"(?:\\.|[^"\\])*"', code, re.DOTALL):
        if FLAG.search(literal.group()[1:-1]):
            number = code.count("\n", 0, literal.start()) + 1
            yield f"{name}:{number}: a flag or command in a text of a library: {literal.group()[:60]}"


def functions(lines):
    """Name, first line and length of each function, from its `fn` to the brace that closes it at the same indentation."""
    for i, line in enumerate(lines):
        start = re.match(r"(\s*)(?:pub(?:\([a-z]+\))? )?(?:const )?(?:unsafe )?fn (\w+)", line)
        if not start or line.rstrip().endswith((";", "}")):
            continue
        closing = start.group(1) + "}"
        for j in range(i + 1, len(lines)):
            if lines[j].rstrip() == closing:
                yield start.group(2), i + 1, j - i + 1
                break


def public_types(page):
    """The public types of a crate, from its page of all items, where rustdoc lists what can be reached."""
    return re.findall(r'<a href="[^"]*\b(?:struct|enum|union|trait|type)\.(\w+)\.html">', page)


def too_many(page):
    """The complaint about the number of public types, if there is one."""
    found = len(public_types(page))
    if found > TYPES_LIMIT:
        yield f"{CORE}: {found} public types, the limit is {TYPES_LIMIT}: hide or merge what no other crate needs"


def complaints():
    files = subprocess.run(
        ["git", "ls-files", "-co", "--exclude-standard", "*.rs", "*.py"], capture_output=True, text=True, check=True
    ).stdout.split()
    for name in files:
        path = pathlib.Path(name)
        if not path.exists():
            continue
        lines = path.read_text().splitlines()
        if len(lines) > FILE_LIMIT:
            yield f"{name}: {len(lines)} lines, the limit is {FILE_LIMIT}"
        for i, line in enumerate(lines):
            if UNFINISHED.search(line):
                yield f"{name}:{i + 1}: unfinished: {line.strip()}"
            code = line.split("//")[0]
            if name.endswith(".rs") and code.strip() == "" and len(line) > COMMENT_LIMIT and not UNBROKEN.search(line):
                yield f"{name}:{i + 1}: a comment line of {len(line)} characters, the limit is {COMMENT_LIMIT}"
            if name.endswith(".rs") and "compressive-kernels" not in name and re.search(r"\bunsafe\b(?!_code|-inline)", code):
                yield f"{name}:{i + 1}: unsafe belongs in compressive-kernels"
        yield from upward(name, lines)
        yield from surface(name, lines)
        if name.endswith(".rs"):
            for function, line, length in functions(lines):
                if length > FUNCTION_LIMIT:
                    yield f"{name}:{line}: fn {function} has {length} lines, the limit is {FUNCTION_LIMIT}"


if __name__ == "__main__":
    # With the folder of the documentation as argument, its types are counted instead.
    pages = [pathlib.Path(folder, "compressive", "all.html").read_text() for folder in sys.argv[1:]]
    found = [line for page in pages for line in too_many(page)] if pages else list(complaints())
    print("\n".join(found) if found else "house rules kept")
    sys.exit(bool(found))
