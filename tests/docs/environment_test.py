#!/usr/bin/env python3
"""docs/environment.md lists exactly the MUSTER_ variables that code reads, and any other it reads."""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = "docs/environment.md"
# How code reads a variable: a quoted name in C++, os.environ in Python, an expansion in a script.
ENVIRON = r"environ(?:\.get\(|\[)[\"'](MUSTER_[A-Z_]+)"
PATTERNS = {
    ".cpp": [r'"(MUSTER_[A-Z_]+)[="]', r'getenv\("(\w+)"\)'],
    ".hpp": [r'"(MUSTER_[A-Z_]+)[="]', r'getenv\("(\w+)"\)'],
    ".py": [ENVIRON],
    "": [ENVIRON, r"\$\{?(MUSTER_[A-Z_]+)"],
}
FOLDERS = ("kernels", "collectives", "runtime", "launcher", "scripts", "tests", ".ci")


def variables_in_code() -> dict[str, str]:
    """Name to the first file that reads it."""
    found: dict[str, str] = {}
    for folder in FOLDERS:
        for path in sorted((ROOT / folder).rglob("*")):
            is_test_code = folder == "tests" and path.suffix in (".cpp", ".hpp")
            if not path.is_file() or path.suffix not in PATTERNS or is_test_code:
                continue
            text = path.read_text(errors="replace")
            for pattern in PATTERNS[path.suffix]:
                for name in re.findall(pattern, text):
                    found.setdefault(name, str(path.relative_to(ROOT)))
    return found


def variables_in_document() -> list[str]:
    text = (ROOT / DOCUMENT).read_text()
    cells = re.findall(r"^\| (`[A-Z_`, ]+`) \|", text, re.MULTILINE)
    return [name for cell in cells for name in re.findall(r"`(\w+)`", cell)]


def main() -> int:
    code, listed = variables_in_code(), variables_in_document()
    document = set(listed)
    wrong = [f"{DOCUMENT} lacks {name}, read by {code[name]}" for name in sorted(set(code) - document)]
    wrong += [f"{DOCUMENT} lists {name}, which nothing reads" for name in sorted(document - set(code))]
    wrong += [f"{DOCUMENT} lists {name} twice" for name in sorted(document) if listed.count(name) > 1]
    print("\n".join(wrong) or f"environment: {len(code)} variables, all documented")
    return 1 if wrong or not code else 0


if __name__ == "__main__":
    sys.exit(main())
