#!/usr/bin/env python3
"""The texts of the program, as its sources in bin and lib say them.

messages.py          whether tests/golden/messages.txt, the list of all of them, is what the sources say
messages.py --write  makes that list anew
messages.py --page PAGE
                     whether the messages that a page explains are those of the program

The list is for reading: every text of two words or more that is no test, by file, in the order of the source, each
once a file. It changes only where a text does, so that a change of words is seen as words.

A message of PAGE (Markdown) is a heading of nothing but a code span; `{}` in it stands for anything that the program
puts in. It is found when its parts stand one after the other in one statement of a source, however the literal is cut
into lines there.

Exit code 0: it is so; 1: it is not, or the page explains fewer messages than it used to.
"""
import difflib
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
LIST = ROOT / "tests/golden/messages.txt"
LEAST = 30  # messages of a page; else the page or this reading of it is broken
SHORTEST = 10  # characters of its own that tell a message from any other text

# Words of other programs that torc looks for, and shell code.
NOT_OURS = {
    "bin/help/completion.cc",
    "lib/launcher/slurm_submission.cc",
    "lib/report/diagnosis/patterns.cc",
    "lib/report/graph_svg.cc",
}

VALUE = "\0"  # in a statement: something that is put in
TOKEN = re.compile(
    r'(?P<comment>//[^\n]*|/\*.*?\*/)'
    r'|R"(?P<mark>[^(\s]*)\((?P<raw>.*?)\)(?P=mark)"'
    r'|"(?P<text>(?:[^"\\\n]|\\.)*)"'
    r"|'(?:[^'\\\n]|\\.)*'(?![0-9])"
    r"|(?P<end>;)|(?P<blank>\s+)|(?P<other>[\w.]+|.)",
    re.DOTALL,
)
ESCAPES = {"n": "\n", "t": "\t", '"': '"', "\\": "\\", "'": "'"}


def unescaped(text):
    return re.sub(r"\\(.)", lambda m: ESCAPES.get(m.group(1), m.group(0)), text)


def literal_of(token):
    if token.group("text") is not None:
        return unescaped(token.group("text"))
    return token.group("raw")


def sources():
    for folder in ("bin", "lib"):
        for file in sorted((ROOT / folder).rglob("*")):
            name = file.relative_to(ROOT)
            is_test = file.stem.endswith(("_test", "_fixture")) or file.name.startswith("test_") or "testing" in name.parts
            if file.suffix in (".cc", ".h") and not is_test:
                yield str(name), file.read_text()


# The list.


def texts_of(source):
    """The literals, those that follow each other as one."""
    now = None
    for token in TOKEN.finditer(source):
        literal = literal_of(token)
        if literal is not None:
            now = (now or "") + literal
        elif now is not None and not token.group("blank") and not token.group("comment"):
            yield now
            now = None


def is_prose(text):
    return " " in text and re.search(r"[^\W\d_]{2}", text)


def listed():
    lines = []
    for name, source in sources():
        texts = [] if name in NOT_OURS else [text for text in texts_of(source) if is_prose(text)]
        if texts:
            lines += ["", name]
        for text in dict.fromkeys(texts):
            first, *more = text.strip("\n").split("\n")
            lines += [("  " + first).rstrip()] + [("    " + line).rstrip() for line in more]
    return "\n".join(lines[1:]) + "\n"


def check_list():
    had, has = LIST.read_text() if LIST.exists() else "", listed()
    if had == has:
        return 0
    where = str(LIST.relative_to(ROOT))
    sys.stdout.writelines(
        line if line.endswith("\n") else line + "\n"
        for line in difflib.unified_diff(had.splitlines(True), has.splitlines(True), where, "the sources", n=0)
    )
    print("%s is not what the sources say: read what changed, then scripts/messages.py --write" % where)
    return 1


# A page.


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
        elif literal_of(token) is not None:
            now += with_values(literal_of(token))
        elif token.group("other") and now and not now.endswith(VALUE):
            now += VALUE
    yield now


def messages_of(page):
    for number, line in enumerate(page.splitlines(), 1):
        found = re.fullmatch(r"#+ `(.+)`", line)
        if found:
            yield number, found.group(1)


def says(statement, message):
    """Whether the parts of message stand in statement in their order, a value between each two. By the first place of
    each: a pattern that may go back takes time as the square of the text, and some texts are pages."""
    end = 0
    for n, part in enumerate(part for part in message.split("{}") if part):
        if n:
            end = statement.find(VALUE, end) + 1
            if not end:
                return False
        start = statement.find(part, end)
        if start < 0:
            return False
        end = start + len(part)
    return True


def check_page(page):
    statements = [s for _, source in sources() for s in statements_of(source) if s]
    wrong = total = 0
    for line, message in messages_of(pathlib.Path(page).read_text()):
        total += 1
        if len(message.replace("{}", "")) < SHORTEST:
            print("%s:%d: too short to tell it from others: %s" % (page, line, message))
            wrong += 1
        elif not any(says(s, message) for s in statements):
            print("%s:%d: the program does not say: %s" % (page, line, message))
            wrong += 1
    print("%s: %d messages, %d not in the sources" % (page, total, wrong))
    if total < LEAST:
        print("at least %d were expected" % LEAST)
    return 1 if wrong or total < LEAST else 0


def main(words):
    if not words:
        return check_list()
    if words == ["--write"]:
        LIST.parent.mkdir(exist_ok=True)
        LIST.write_text(listed())
        return 0
    if len(words) == 2 and words[0] == "--page":
        return check_page(words[1])
    return __doc__


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
