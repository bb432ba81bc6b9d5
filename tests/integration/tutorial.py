#!/usr/bin/env python3
"""tutorial.py TORC PAGE: does what a tutorial tells its reader to do, and compares what is printed.

Of PAGE (Markdown) it takes, in their order,
  - ```console blocks: `$ COMMAND`, further lines of it after `> `, then what the command prints. `...` stands for
    anything within a line; a line of nothing but `...` for any number of lines. Any run of blanks is one blank,
    for columns are as wide as what stands in them.
  - ```yaml blocks that begin with `# NAME`: a file of this name, saved where the commands are at that point.
Other blocks are for readers. All of it runs in one bash, in an empty directory, with the directory of TORC first in
PATH. Standard output and error are taken together.

Exit code 0: all is as the page says; 1: something is not, with the line; 2: the page has nothing to run.
"""
import os
import re
import shlex
import signal
import subprocess
import sys
import tempfile

MARK = "-- end of a step --"
SECONDS = 240


class Step:
    def __init__(self, line, command):
        self.line = line  # of the page, from 1
        self.command = command
        self.expected = []
        self.shown = command


def blocks_of(text):
    """(language, line of the first line in it, lines) of each fenced block."""
    block = None
    for number, line in enumerate(text.splitlines(), 1):
        if block is None:
            if line.startswith("```"):
                block = (line[3:].strip(), number + 1, [])
        elif line.startswith("```"):
            yield block
            block = None
        else:
            block[2].append(line)


def steps_of(text):
    steps = []
    for language, first, lines in blocks_of(text):
        if language == "yaml" and lines and re.fullmatch(r"# [\w.-]+", lines[0]):
            body = "\n".join(lines)
            step = Step(first, "cat > %s <<'END OF FILE'\n%s\nEND OF FILE" % (lines[0][2:], body))
            step.shown = "saving " + lines[0][2:]
            steps.append(step)
        if language != "console":
            continue
        inside = False  # a command that goes on
        for number, line in enumerate(lines, first):
            if line.startswith("$ "):
                steps.append(Step(number, line[2:]))
                inside = True
            elif inside and line.startswith("> "):
                steps[-1].command += "\n" + line[2:]
            elif not steps or (number == first and not line.startswith("$ ")):
                raise ValueError("line %d: a console block begins with '$ COMMAND'" % number)
            else:
                inside = False
                steps[-1].expected.append(line)
    return steps


def plain(line):
    return " ".join(line.split())


def pattern_of(lines):
    out = ""
    for line in map(plain, lines):
        if line == "...":
            out += r"(?:[^\n]*\n)*?"
        else:
            out += r"[^\n]*?".join(re.escape(part) for part in line.split("...")) + r"\n"
    return re.compile(out)


def matches(expected, printed):
    lines = [plain(line) for line in printed.split("\n")]
    while lines and not lines[-1]:
        lines.pop()
    return pattern_of(expected).fullmatch("".join(line + "\n" for line in lines)) is not None


def script_of(steps):
    # The exit code stays for the next command to ask for.
    end = "{ _code=$?; printf '\\n%s\\n' " + shlex.quote(MARK) + "; (exit $_code); }\n"
    return "exec 2>&1\n" + "".join(step.command + "\n" + end for step in steps)


def printed_by(steps, torc, directory):
    env = {k: v for k, v in os.environ.items() if not k.startswith(("TORC_", "SLURM_"))}
    env.update(
        PATH=os.path.dirname(torc) + ":" + env.get("PATH", "/usr/bin:/bin"),
        LC_ALL="C",
        TORC_NODE_DIR=os.path.join(directory, "node"),  # no other test's workers are neighbours
    )
    work = os.path.join(directory, "work")
    for made in (work, env["TORC_NODE_DIR"]):
        os.mkdir(made, 0o700)
    script = os.path.join(directory, "session.sh")
    with open(script, "w") as file:
        file.write(script_of(steps))
    bash = subprocess.Popen(["bash", "--norc", script], cwd=work, env=env, text=True, errors="replace",
                            stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, start_new_session=True)
    try:
        out, _ = bash.communicate(timeout=SECONDS)
    except subprocess.TimeoutExpired:
        os.killpg(bash.pid, signal.SIGKILL)
        out, _ = bash.communicate()
        out += "\n(ended after %d s)\n" % SECONDS
    return out.split("\n" + MARK + "\n")


def main():
    torc, page = os.path.abspath(sys.argv[1]), sys.argv[2]
    with open(page) as file:
        steps = steps_of(file.read())
    if not any(step.expected for step in steps):
        print("%s: nothing to run" % page)
        return 2
    with tempfile.TemporaryDirectory(prefix="torc-tutorial-") as directory:
        printed = printed_by(steps, torc, directory)
    wrong = 0
    for number, step in enumerate(steps):
        if number >= len(printed):
            print("%s:%d: never came to: %s" % (page, step.line, step.shown))
            wrong += 1
            break
        if number == len(printed) - 1 or not matches(step.expected, printed[number]):
            print("%s:%d: $ %s\n-- printed --\n%s\n-- the page says --\n%s\n"
                  % (page, step.line, step.shown, printed[number].rstrip("\n"), "\n".join(step.expected)))
            wrong += 1
    print("%s: %d steps, %d not as the page says" % (page, len(steps), wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    sys.exit(main())
