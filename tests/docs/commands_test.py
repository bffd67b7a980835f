#!/usr/bin/env python3
"""docs/commands.md lists exactly the commands and options that `muster --help` offers.

Usage: commands_test.py MUSTER
"""

import pathlib
import re
import subprocess
import sys

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs/commands.md"
OPTION = re.compile(r"(?<![\w-])(--?[a-zA-Z][a-zA-Z-]*)")


def help_of(program: str, *command: str) -> str:
    done = subprocess.run([program, *command, "--help"], capture_output=True, text=True, timeout=30)
    if done.returncode != 0:
        raise SystemExit(f"{' '.join(command) or 'muster'} --help returned {done.returncode}: {done.stderr}")
    return done.stdout


def commands_offered(program: str) -> list[str]:
    """Names in the list of sub-commands: indented, at the start of their line, one word."""
    text = help_of(program)
    found = re.search(r"^(?:Sub)?[Cc]ommands:\n((?:[ \t]+.*\n?|\n)+)", text, re.MULTILINE)
    if not found:
        raise SystemExit("muster --help has no list of commands")
    return re.findall(r"^  (\w+)\s", found[1], re.MULTILINE)


def options_offered(program: str, command: str) -> set[str]:
    """Options at the start of a line of the help, where an example does not count."""
    lines = re.findall(r"^\s+(-.*)$", help_of(program, command), re.MULTILINE)
    names = {name for text in lines for name in OPTION.findall(re.split(r"\s{2,}", text)[0])}
    return names - {"-h", "--help"}


def documented() -> dict[str, set[str]]:
    """Command to the options in the first column of the table under its heading."""
    sections = re.split(r"^## `muster (\w+)`\n", DOCUMENT.read_text(), flags=re.MULTILINE)
    found = {}
    for name, text in zip(sections[1::2], sections[2::2]):
        cells = re.findall(r"^\| (`-[^|]*) \|", text, re.MULTILINE)
        found[name] = {option for cell in cells for option in OPTION.findall(cell)}
    return found


def main() -> int:
    program, pages, wrong = sys.argv[1], documented(), []
    offered = commands_offered(program)
    wrong += [f"{DOCUMENT.name} lacks muster {name}" for name in offered if name not in pages]
    wrong += [
        f"{DOCUMENT.name} has muster {name}, which is not offered" for name in pages if name not in offered
    ]
    for name in set(offered) & set(pages):
        options = options_offered(program, name)
        wrong += [f"muster {name} offers {o}, not in {DOCUMENT.name}" for o in sorted(options - pages[name])]
        wrong += [
            f"{DOCUMENT.name} has {o}, which muster {name} lacks" for o in sorted(pages[name] - options)
        ]
    print("\n".join(wrong) or f"commands: {len(offered)} commands, all options documented")
    return 1 if wrong or not offered else 0


if __name__ == "__main__":
    sys.exit(main())
