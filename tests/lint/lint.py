#!/usr/bin/env python3
"""Checks the repository's own rules: include direction, pure floors, headers, paths, links, lengths.

    lint.py ROOT                      all text checks
    lint.py ROOT --headers COMPILER   compiles alone each header that no source includes first

Exit status: 0 when nothing is wrong (warnings do not count), 1 otherwise.
"""

import argparse
import shlex
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import checks

JOBS = 2


def compile_alone(root, compiler, header):
    """A finding where the header does not compile as the only include of a source, nothing where it does."""
    # cmake/Options.cmake tells tests where the sources are.
    define = f'-DFAREWAY_SOURCE_DIR="{root}"'
    command = [*shlex.split(compiler), "-std=c++20", "-fsyntax-only", define, "-I", str(root), "-x", "c++", "-"]
    source = f'#include "{header}"\n'
    done = subprocess.run(command, input=source, capture_output=True, text=True, check=False)
    return None if done.returncode == 0 else checks.Finding(header, 0, "does not compile alone:\n" + done.stderr.strip())


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("root")
    parser.add_argument("--headers", metavar="COMPILER")
    arguments = parser.parse_args()

    tree = checks.Tree(arguments.root)
    if arguments.headers:
        headers = checks.headers_without_source(tree)
        with ThreadPoolExecutor(JOBS) as pool:
            results = pool.map(lambda header: compile_alone(tree.root, arguments.headers, header), headers)
        findings = [finding for finding in results if finding]
        looked_at = f"{len(headers)} headers compiled alone"
    else:
        findings = [finding for check in checks.ALL for finding in check(tree)]
        looked_at = f"{len(tree.paths)} files, {len(checks.ALL)} checks"

    for finding in findings:
        print(finding)
    errors = sum(not finding.warning for finding in findings)
    print(f"{looked_at}: {errors} wrong, {len(findings) - errors} warnings")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
