#!/usr/bin/env python3
"""messages.py SOURCES PAGE: whether the messages that a page explains are those of the program.

A message of PAGE (Markdown) is a heading of nothing but a code span; `{}` in it stands for anything that the program
puts in. It is found when its parts stand one after the other in one statement of a .cc or .h file below SOURCES/bin
or SOURCES/lib that is no test, however the literal is cut into lines there.

Exit code 0: all are found; 1: one is not, or the page explains fewer than it used to.
"""
import pathlib
import re
import sys

LEAST = 30  # messages; else the page or this reading of it is broken
SHORTEST = 10  # characters of its own that tell a message from any other text

VALUE = "\0"  # in a statement: something that is put in
TOKEN = re.compile(
    r'//[^\n]*|/\*.*?\*/'  # comments
    r'|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)*'(?![0-9])"
    r"|(?P<end>;)|(?P<blank>\s+)|(?P<other>.)",
    re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(0)), text)


def with_values(text):
    """A format string with its fields as values; what is none has no braces, or none that matter here."""
    text = text.replace("{{", "\1").replace("}}", "\2")
    return re.sub(r"\{[^{}]*\}", VALUE, text).replace("\1", "{").replace("\2", "}")


def statements_of(source):
    """The text of the literals of each statement; VALUE where something else stands between two."""
    now = ""
    for token in TOKEN.finditer(source):
        if token.group("end"):
            yield now
            now = ""
        elif token.group("text") is not None:
            now += with_values(unescaped(token.group("text")))
        elif token.group("raw") is not None:
            now += with_values(token.group("raw"))
        elif token.group("other") and now and not now.endswith(VALUE):
            now += VALUE
    yield now


def messages_of(page):
    for number, line in enumerate(page.splitlines(), 1):
        found = re.fullmatch(r"#+ `(.+)`", line)
        if found:
            yield number, found.group(1)


def pattern_of(message):
    parts = [re.escape(part) for part in message.split("{}")]
    return re.compile((".*?" + VALUE + ".*?").join(parts).removeprefix(".*?" + VALUE + ".*?"), re.DOTALL)


def main():
    root, page = pathlib.Path(sys.argv[1]), sys.argv[2]
    statements = []
    for folder in ("bin", "lib"):
        for file in sorted((root / folder).rglob("*")):
            if file.suffix in (".cc", ".h") and not file.stem.endswith("_test") and not file.name.startswith("test_"):
                statements += [s for s in statements_of(file.read_text()) if s]
    wrong = total = 0
    for line, message in messages_of(pathlib.Path(page).read_text()):
        total += 1
        if len(message.replace("{}", "")) < SHORTEST:
            print("%s:%d: too short to tell it from others: %s" % (page, line, message))
            wrong += 1
        elif not any(pattern_of(message).search(s) for s in statements):
            print("%s:%d: the program does not say: %s" % (page, line, message))
            wrong += 1
    print("%s: %d messages, %d not in the sources" % (page, total, wrong))
    if total < LEAST:
        print("at least %d were expected" % LEAST)
    return 1 if wrong or total < LEAST else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main())
