"""What the repository promises about its own text, one function a promise.

Each check takes the tree and returns findings; none of them prints or exits. `lint.py` runs them all, and
`test_checks.py` seeds a violation of each to prove that it is found.
"""

import os
import re
import subprocess
from dataclasses import dataclass
from pathlib import Path

# Arrows point one way: router -> adapters -> placement -> pricing -> pricing/base.
MAY_INCLUDE = {
    "pricing/base": ("pricing/base/",),
    "pricing": ("pricing/",),
    "placement": ("pricing/", "placement/"),
    "adapters": ("pricing/", "placement/", "adapters/", "migrations/"),
    "migrations": ("migrations/",),
    "router": ("pricing/", "placement/", "adapters/", "migrations/", "router/"),
}

# Floors that compute: no sockets, files, clocks, threads or environment. Time and chance come in as arguments.
PURE_FLOORS = ("pricing", "placement")
PURE_THIRD_PARTY = ("boost/system/result.hpp", "boost/container/", "boost/core/span.hpp",
                    "boost/unordered/", "boost/math/interpolators/", "coin/", "fmt/format.h")
IMPURE_STANDARD_HEADERS = frozenset(
    "atomic barrier condition_variable coroutine csignal cstdio ctime filesystem fstream future iostream latch "
    "mutex semaphore shared_mutex stop_token syncstream thread".split()
)
IMPURE_WORDS = (
    r"::now\s*\(",
    r"\bstd::(?:thread|jthread|async|mutex|atomic|cout|cerr|clog|cin|FILE|random_device)\b",
    r"\b(?:getenv|setenv|fopen|popen|system|sleep_for|sleep_until|usleep|srand|rand)\s*\(",
    r"\b(?:printf|fprintf|puts|gettimeofday|clock_gettime)\s*\(",
    r"(?<![\w.>])time\s*\(\s*(?:nullptr|NULL|0)\s*\)",
    r"(?<![\w.>:])::?(?:socket|connect|open|read|write|fork)\s*\(",
)

# Assembled from pieces, so that this file does not contain what it forbids.
MACHINE_PATHS = re.compile(r"(?<![\w.$}])/(?:" + "|".join(("work", "farm", "root", "Users", "home/[a-z][\\w-]*")) + r")/")
UNFINISHED = re.compile(r"\b(?:" + "|".join(("TO" + "DO", "FIX" + "ME", "X" + "XX")) + r")\b")

LINES_WARNED = 400
LINES_REFUSED = 600
CPP_SUFFIXES = (".cpp", ".hpp")


@dataclass(frozen=True)
class Finding:
    path: str
    line: int  # 1-based; 0 where the file as a whole is meant
    what: str
    warning: bool = False

    def __str__(self):
        place = f"{self.path}:{self.line}" if self.line else self.path
        return f"{place}: {'warning: ' if self.warning else ''}{self.what}"


class Tree:
    """The files of the repository: tracked, or new and not ignored. Texts are read once."""

    def __init__(self, root):
        self.root = Path(root)
        self.paths = sorted(path for path in self._listed() if (self.root / path).is_file())
        self._texts = {}

    def _listed(self):
        listing = subprocess.run(
            ["git", "-C", str(self.root), "ls-files", "-co", "--exclude-standard", "-z"], capture_output=True, check=False
        )
        if listing.returncode == 0 and listing.stdout:
            return [path for path in listing.stdout.decode().split("\0") if path]
        found = []
        for folder, folders, files in os.walk(self.root):
            folders[:] = [name for name in folders if name not in (".git", "build", "node_modules", "__pycache__")]
            found += [str((Path(folder) / name).relative_to(self.root)) for name in files]
        return found

    def text(self, path):
        """The file's text; empty where it is not UTF-8."""
        if path not in self._texts:
            try:
                self._texts[path] = (self.root / path).read_text(encoding="utf-8")
            except UnicodeDecodeError:
                self._texts[path] = ""
        return self._texts[path]

    def lines(self, path):
        return enumerate(self.text(path).splitlines(), start=1)

    def cpp(self, *floors):
        return [
            path
            for path in self.paths
            if path.endswith(CPP_SUFFIXES) and (not floors or path.split("/")[0] in floors)
        ]


INCLUDE = re.compile(r'^\s*#\s*include\s*(?:"([^"]+)"|<([^>]+)>)')
COMMENT_OR_STRING = re.compile(r'//[^\n]*|/\*.*?\*/|R"(\w*)\(.*?\)\1"|"(?:\\.|[^"\\\n])*"|\'(?:\\.|[^\'\\\n])\'', re.DOTALL)


def includes(tree, path):
    """(line, name, quoted) of every include in the file."""
    for number, line in tree.lines(path):
        if match := INCLUDE.match(line):
            yield number, match.group(1) or match.group(2), match.group(1) is not None


def code_only(text):
    """The text with comments and literals blanked, lines kept."""
    return COMMENT_OR_STRING.sub(lambda match: re.sub(r"[^\n]", " ", match.group(0)), text)


def include_direction(tree):
    findings = []
    for path in tree.cpp(*{floor.split("/")[0] for floor in MAY_INCLUDE}):
        floor = next((name for name in MAY_INCLUDE if path.startswith(name + "/")), None)
        allowed = MAY_INCLUDE[floor]
        for number, name, quoted in includes(tree, path):
            ours = quoted or name.split("/")[0] in MAY_INCLUDE
            if ours and not name.startswith(allowed):
                findings.append(Finding(path, number, f'"{name}" may not be included here: {floor} stands on '
                                                      f'{", ".join(allowed)} only'))
    return findings


def pure_floors(tree):
    """pricing and placement touch no socket, file, clock, thread or environment."""
    findings = []
    for path in tree.cpp(*PURE_FLOORS):
        floor = path.split("/")[0]
        for number, name, quoted in includes(tree, path):
            if quoted or name.startswith(PURE_THIRD_PARTY):
                continue
            if "/" in name or name.endswith(".h") or name in IMPURE_STANDARD_HEADERS:
                findings.append(Finding(path, number, f"<{name}> has no place in {floor}, which does no I/O, reads "
                                                      "no clock and starts no thread"))
        for number, line in enumerate(code_only(tree.text(path)).splitlines(), start=1):
            for word in IMPURE_WORDS:
                if match := re.search(word, line):
                    findings.append(Finding(path, number, f"'{match.group(0).strip()}' has no place in {floor}: "
                                                          "time and chance come in as arguments, I/O stays outside"))
    return findings


def headers_stand_alone(tree):
    """`#pragma once` opens every header, and a source includes its own header first, so each compiles by itself."""
    findings = []
    for path in tree.cpp():
        if path.endswith(".hpp"):
            code = (line.strip() for line in code_only(tree.text(path)).splitlines())
            if next((line for line in code if line), "") != "#pragma once":
                findings.append(Finding(path, 1, "a header begins with #pragma once"))
            continue
        own = path[: -len(".cpp")] + ".hpp"
        names = [name for _, name, _ in includes(tree, path)]
        if own in tree.paths and (not names or names[0] != own):
            findings.append(Finding(path, 1, f'"{own}" is not the first include, so nothing proves that it compiles alone'))
    return findings


def headers_without_source(tree):
    """Headers that no source of the same name includes first; `lint.py` compiles each of them alone."""
    return [path for path in tree.cpp(*MAY_INCLUDE, "tests")
            if path.endswith(".hpp") and path[: -len(".hpp")] + ".cpp" not in tree.paths]


def machine_paths(tree):
    findings = []
    for path in tree.paths:
        for number, line in tree.lines(path):
            if match := MACHINE_PATHS.search(line):
                findings.append(Finding(path, number, f"'{match.group(0)}' is a path of one machine"))
    return findings


def unfinished_marks(tree):
    findings = []
    for path in tree.paths:
        if path.endswith((".sum", "-lock.json", ".csv")) or path == "LICENSE":
            continue
        for number, line in tree.lines(path):
            if match := UNFINISHED.search(line):
                findings.append(Finding(path, number, f"{match.group(0)}: finish it, or file it as an issue"))
    return findings


def file_lengths(tree):
    findings = []
    for path in tree.cpp():
        count = tree.text(path).count("\n")
        if count > LINES_REFUSED:
            findings.append(Finding(path, 0, f"{count} lines; split it, at most {LINES_REFUSED} are accepted"))
        elif count > LINES_WARNED:
            findings.append(Finding(path, 0, f"{count} lines; past {LINES_WARNED} a file usually holds two ideas", warning=True))
    return findings


LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)(?:\s+\"[^\"]*\")?\)|!\[[^\]]*\]\(([^)\s]+)\)")
FENCE = re.compile(r"^(```|~~~).*?^\1\s*$", re.DOTALL | re.MULTILINE)


def anchors(text):
    """Fragment names that the headings of a Markdown text give."""
    names = set()
    for heading in re.findall(r"^#{1,6}\s+(.+?)\s*#*$", FENCE.sub("", text), re.MULTILINE):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        names.add(re.sub(r"[^\w\- ]", "", plain).strip().replace(" ", "-"))
    return names


def links_resolve(tree):
    """Relative links in Markdown lead to a file or folder that is there, and to a heading that is there."""
    folders = {str(parent) for path in tree.paths for parent in Path(path).parents}
    findings = []
    for path in (path for path in tree.paths if path.endswith(".md")):
        for number, target in _links(tree.text(path)):
            file, _, fragment = target.partition("#")
            goal = os.path.normpath(os.path.join(os.path.dirname(path), file)) if file else path
            if goal not in tree.paths and goal not in folders:
                findings.append(Finding(path, number, f"link to '{target}' leads nowhere"))
            elif fragment and goal.endswith(".md") and fragment not in anchors(tree.text(goal)):
                findings.append(Finding(path, number, f"link to '{target}': no such heading"))
    return findings


def _links(text):
    blanked = FENCE.sub(lambda match: re.sub(r"[^\n]", "", match.group(0)), text)
    blanked = re.sub(r"`[^`\n]*`", "", blanked)
    for number, line in enumerate(blanked.splitlines(), start=1):
        for link, image in LINK.findall(line):
            target = link or image
            if not re.match(r"[a-z][a-z0-9+.-]*:", target):
                yield number, target


def shell_syntax(tree):
    findings = []
    for path in tree.paths:
        if not re.match(r"#!.*\b(?:ba)?sh\b", tree.text(path).partition("\n")[0]):
            continue
        parsed = subprocess.run(["bash", "-n", str(tree.root / path)], capture_output=True, text=True, check=False)
        if parsed.returncode != 0:
            findings.append(Finding(path, 0, parsed.stderr.strip()))
        if not os.access(tree.root / path, os.X_OK):
            findings.append(Finding(path, 0, "a script that is not executable"))
    return findings


ALL = (
    include_direction,
    pure_floors,
    headers_stand_alone,
    machine_paths,
    unfinished_marks,
    file_lengths,
    links_resolve,
    shell_syntax,
)
