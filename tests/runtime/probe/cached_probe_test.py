#!/usr/bin/env python3
"""muster probe with its cache, on this machine: measured, re-validated, ignored, --fresh.

Usage: cached_probe_test.py MUSTER
"""

import os
import pathlib
import re
import subprocess
import sys
import tempfile
import tomllib
import unittest

MUSTER = ""
TIME = r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d UTC"
RE_VALIDATED = re.compile(rf"^measured at ({TIME}), re-validated in [\d.]+ s", re.MULTILINE)
MEASURED = re.compile(rf"^measured at ({TIME})$", re.MULTILINE)
ATTEMPTS = 5  # other load may make any one check disagree


class CachedProbe(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = pathlib.Path(folder.name)

    def probe(self, *options: str) -> str:
        done = subprocess.run(
            [MUSTER, "probe", "--ranks", "2", "--out", self.folder / "cluster.toml", *options],
            env=os.environ | {"XDG_CACHE_HOME": str(self.folder)},
            capture_output=True,
            text=True,
            timeout=60,
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("inside a host", done.stdout)
        return done.stdout

    def cache(self) -> pathlib.Path:
        (file,) = (self.folder / "muster").iterdir()
        return file

    def test_says_when_figures_were_measured(self):
        first = self.probe()
        self.assertTrue(MEASURED.search(first), first)
        for _ in range(ATTEMPTS):
            kept = tomllib.loads((self.folder / "cluster.toml").read_text())
            later = self.probe()
            if found := RE_VALIDATED.search(later):
                measured = tomllib.loads((self.folder / "cluster.toml").read_text())["measured"]
                self.assertEqual(f"{measured:%Y-%m-%d %H:%M:%S} UTC", found[1])
                self.assertEqual(measured, kept["measured"])
                return
            self.assertIn("no longer holds: inside ", later)
            self.assertTrue(MEASURED.search(later), later)
        self.fail(f"{ATTEMPTS} probes in a row disagree: {later}")

    def test_measures_all_when_asked(self):
        self.probe()
        again = self.probe("--fresh")
        self.assertTrue(MEASURED.search(again), again)
        self.assertNotIn("cached probe", again)

    def test_ignores_a_truncated_cache_by_name(self):
        self.probe()
        file = self.cache()
        file.write_text(file.read_text()[:100])
        again = self.probe()
        self.assertIn(f"the cached probe {file} is ignored: it is damaged or incomplete\n", again)
        self.assertTrue(MEASURED.search(again), again)
        self.assertGreater(len(self.cache().read_text()), 100)

    def test_goes_on_where_it_cannot_write(self):
        (self.folder / "muster").write_text("no folder")
        self.assertIn("the probe is not cached: ", self.probe())


if __name__ == "__main__":
    MUSTER = sys.argv.pop(1)
    unittest.main()
