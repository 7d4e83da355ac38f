#!/usr/bin/env python3
"""Proves that each check of the lint finds what it is for: a violation is seeded, and must be found."""

import tempfile
import unittest
from pathlib import Path

import checks

HEADER = "#pragma once\n"


class LintTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def found(self, check, named):
        """Findings of `check` in the tree so far with the files `named` added, as text."""
        for name, text in named.items():
            path = self.root / name
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return [str(finding) for finding in check(checks.Tree(self.root))]

    def assert_found(self, check, name, text, place):
        findings = self.found(check, {name: text})
        self.assertEqual(len(findings), 1, findings)
        self.assertIn(f"{name}:{place}" if place else name, findings[0])

    def assert_clean(self, check, files):
        self.assertEqual(self.found(check, files), [])


class IncludeDirection(LintTest):
    def test_no_floor_includes_one_above_it(self):
        for name, include in (
            ("pricing/a.hpp", "placement/fleet.hpp"),
            ("pricing/base/a.hpp", "pricing/meter.hpp"),
            ("placement/score/a.cpp", "adapters/engines/engine.hpp"),
            ("adapters/stores/a.cpp", "router/config/config.hpp"),
            ("migrations/a.hpp", "pricing/meter.hpp"),
        ):
            with self.subTest(name=name):
                self.setUp()
                self.assert_found(checks.include_direction, name, f'{HEADER}#include "{include}"\n', 2)

    def test_angle_brackets_do_not_hide_a_floor(self):
        self.assert_found(checks.include_direction, "pricing/a.hpp", f"{HEADER}#include <placement/fleet.hpp>\n", 2)

    def test_an_include_relative_to_the_folder_is_refused(self):
        self.assert_found(checks.include_direction, "placement/a.cpp", '#include "fleet.hpp"\n', 1)

    def test_floors_below_are_welcome(self):
        self.assert_clean(checks.include_direction, {
            "router/a.cpp": '#include "router/a.hpp"\n#include "adapters/b.hpp"\n#include "pricing/c.hpp"\n',
            "placement/a.cpp": '#include <vector>\n#include "pricing/base/units.hpp"\n',
        })


class PureFloors(LintTest):
    def test_headers_of_sockets_files_clocks_and_threads(self):
        for header in ("boost/asio/io_context.hpp", "fstream", "filesystem", "thread", "mutex", "ctime", "sys/socket.h",
                       "unistd.h", "sqlite3.h", "iostream"):
            with self.subTest(header=header):
                self.setUp()
                self.assert_found(checks.pure_floors, "placement/a.hpp", f"{HEADER}#include <{header}>\n", 2)

    def test_words_of_sockets_files_clocks_and_threads(self):
        for code in ("auto t = std::chrono::steady_clock::now();", "std::thread worker;", "std::random_device seed;",
                     'auto home = getenv("HOME");', 'FILE* f = fopen("x", "r");', "auto t = time(nullptr);",
                     "std::cerr << 1;", "int fd = ::socket(1, 2, 3);", "std::this_thread::sleep_for(s);"):
            with self.subTest(code=code):
                self.setUp()
                self.assert_found(checks.pure_floors, "pricing/a.cpp", f"#include <vector>\n{code}\n", 2)

    def test_comments_strings_and_other_floors_may_name_them(self):
        self.assert_clean(checks.pure_floors, {
            "pricing/a.hpp": f'{HEADER}// reads no clock: steady_clock::now() is passed in\nauto s = "std::thread";\n',
            "pricing/b.hpp": f"{HEADER}#include <chrono>\n#include <boost/system/result.hpp>\nvoid advance(TimePoint now);\n",
            "router/a.cpp": "#include <thread>\nauto t = std::chrono::steady_clock::now();\n",
        })


class Headers(LintTest):
    def test_a_header_without_pragma_once(self):
        self.assert_found(checks.headers_stand_alone, "router/a.hpp", "#include <vector>\n", 1)

    def test_a_source_that_does_not_include_its_header_first(self):
        self.found(checks.headers_stand_alone, {"router/a.hpp": HEADER})
        self.assert_found(checks.headers_stand_alone, "router/a.cpp", '#include <vector>\n#include "router/a.hpp"\n', 1)

    def test_a_comment_may_come_before_pragma_once(self):
        self.assert_clean(checks.headers_stand_alone, {"router/a.hpp": f"// What it is.\n\n{HEADER}",
                                                       "router/a.cpp": '#include "router/a.hpp"\n#include <vector>\n'})

    def test_headers_without_a_source_are_listed_for_compiling(self):
        self.found(checks.headers_stand_alone, {"pricing/a.hpp": HEADER, "pricing/b.hpp": HEADER, "pricing/b.cpp": ""})
        self.assertEqual(checks.headers_without_source(checks.Tree(self.root)), ["pricing/a.hpp"])


class Text(LintTest):
    def test_paths_of_one_machine(self):
        for path in ("/ro" + "ot/x", "/wo" + "rk/main", "/ho" + "me/someone/x", "/Us" + "ers/x/y"):
            with self.subTest(path=path):
                self.setUp()
                self.assert_found(checks.machine_paths, "deploy/a.yaml", f"ok: 1\nfile: {path}\n", 2)

    def test_paths_that_every_machine_has(self):
        self.assert_clean(checks.machine_paths, {"a.md": "see /var/lib/fareway, $HOME/wo" + "rk/x and docs/wo" + "rk/x\n"})

    def test_unfinished_marks(self):
        self.assert_found(checks.unfinished_marks, "router/a.cpp", "\n// TO" + "DO: later\n", 2)

    def test_a_very_long_file_is_refused_and_a_long_one_warned_of(self):
        self.assert_found(checks.file_lengths, "router/a.cpp", "\n" * (checks.LINES_REFUSED + 1), None)
        (self.root / "router/a.cpp").write_text("\n" * (checks.LINES_WARNED + 1), encoding="utf-8")
        findings = checks.file_lengths(checks.Tree(self.root))
        self.assertEqual([finding.warning for finding in findings], [True])

    def test_shell_that_does_not_parse(self):
        findings = self.found(checks.shell_syntax, {"run": "#!/usr/bin/env bash\nif true; then\n"})
        self.assertTrue(any("syntax error" in finding for finding in findings), findings)
        self.assertTrue(any("not executable" in finding for finding in findings), findings)


class Links(LintTest):
    def test_a_link_to_a_file_that_is_not_there(self):
        self.assert_found(checks.links_resolve, "docs/a.md", "text\n[b](b.md)\n", 2)

    def test_a_link_to_a_heading_that_is_not_there(self):
        self.found(checks.links_resolve, {"docs/b.md": "# One thing\n"})
        self.assert_found(checks.links_resolve, "docs/a.md", "[b](b.md#another-thing)\n", 1)

    def test_links_that_resolve(self):
        self.assert_clean(checks.links_resolve, {
            "docs/a.md": "[b](b.md#one-thing-isnt-two) [up](../README.md) [folder](../docs) [out](https://example.org/x)\n"
                         "```\n[not a link](nowhere.md)\n```\n`[nor this](nowhere.md)`\n",
            "docs/b.md": "# One thing isn't `two`\n",
            "README.md": "",
        })


if __name__ == "__main__":
    unittest.main()
