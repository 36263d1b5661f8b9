"""How large is the house? Modules and lines of code, by room, today or at an earlier commit.

    python benchmarks/size.py                             # src/sfumato as it stands
    python benchmarks/size.py --at 2bbd76f                # as it stood then
    python benchmarks/size.py --at 2bbd76f --new          # and which modules came since, which went
    python benchmarks/size.py --folder tests

A line of code is a line with a token on it that is neither a comment nor a docstring. A string that stands alone below a
constant or a field is a docstring, too.
"""

from __future__ import annotations

import argparse
import ast
import io
import subprocess
import tarfile
import tokenize
from collections import Counter
from pathlib import Path

REPO = Path(__file__).resolve().parents[1]
LAYOUT = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}


def count_lines(text: str) -> int:
    """Return the lines of code of a module."""
    code: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in LAYOUT:
            code.update(range(token.start[0], token.end[0] + 1))
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str):
            code.difference_update(range(node.lineno, (node.end_lineno or node.lineno) + 1))
    return len(code)


def read_modules(folder: str, commit: str | None = None) -> dict[str, int]:
    """Return the lines of code of every module below a folder, in the working tree or at a commit."""
    if commit is None:
        paths = sorted((REPO / folder).rglob("*.py"))
        return {str(p.relative_to(REPO / folder)): count_lines(p.read_text("utf-8")) for p in paths}
    packed = subprocess.run(["git", "archive", commit, folder], cwd=REPO, capture_output=True, check=True).stdout
    out = {}
    with tarfile.open(fileobj=io.BytesIO(packed)) as tree:
        for member in tree.getmembers():
            file = tree.extractfile(member) if member.name.endswith(".py") else None
            if file is not None:
                out[str(Path(member.name).relative_to(folder))] = count_lines(file.read().decode("utf-8"))
    return dict(sorted(out.items()))


def show(modules: dict[str, int]) -> None:
    """Print the total, and one line per room, the largest first."""
    files, lines = Counter[str](), Counter[str]()
    for path, count in modules.items():
        files[path.partition("/")[0]] += 1
        lines[path.partition("/")[0]] += count
    print(f"{sum(files.values()):5,} modules {sum(lines.values()):7,} lines of code")
    for room, count in lines.most_common():
        print(f"{files[room]:5,} {count:15,}  {room}")


def main(arguments: list[str] | None = None) -> None:
    """Count, and print."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--at", metavar="COMMIT", help="count an earlier commit")
    parser.add_argument("--new", action="store_true", help="with --at: the modules that came and went since")
    parser.add_argument("--folder", default="src/sfumato")
    options = parser.parse_args(arguments)
    then = read_modules(options.folder, options.at)
    show(then)
    if options.new:
        now = read_modules(options.folder)
        for sign, some, others in (("+", now, then), ("-", then, now)):
            for path in sorted(some.keys() - others.keys()):
                print(f"{sign} {some[path]:5,}  {path}")


if __name__ == "__main__":
    main()
