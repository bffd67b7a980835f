#!/usr/bin/env python3
"""Our output goes through readers of nccl-tests' formats like the real thing's.

Usage: readers_test.py MUSTER
"""

import json
import os
import pathlib
import re
import signal
import subprocess
import sys
import tempfile
import unittest

import nccl_json
import nccl_text

SAMPLE = pathlib.Path(__file__).resolve().parents[2] / "fixtures/nccl_tests_sample.txt"
MUSTER = ""


def bench(*arguments: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [MUSTER, "bench", *arguments], env=os.environ | variables, capture_output=True, text=True, timeout=60
    )


class TextReader(unittest.TestCase):
    def test_reads_the_real_thing(self):
        run = nccl_text.read(SAMPLE.read_text())
        self.assertEqual(run.average, 745.53)
        self.assertEqual([row.size for row in run.rows], [2**n for n in range(29, 34)])
        self.assertEqual(run.rows[3].in_place, nccl_text.Half(10141, 423.54, 835.32, 0))
        self.assertEqual([device[3] for device in run.devices], ["host-a", "host-a"])

    def test_reads_ours(self):
        done = bench("all_reduce", "--ranks", "2", "-b", "8", "-e", "1M", "-f", "2")
        self.assertEqual(done.returncode, 0, done.stderr)
        run = nccl_text.read(done.stdout)
        self.assertEqual([row.size for row in run.rows], [2**n for n in range(3, 21)])
        self.assertEqual(run.out_of_bounds, 0)
        self.assertEqual(len(run.devices), 2)
        self.assertEqual(run.options[2:6], ("8", "1048576", "2", "factor"))
        for row in run.rows:
            self.assertEqual((row.count, row.type, row.redop, row.root), (row.size // 4, "float", "sum", -1))
            for half in (row.out_of_place, row.in_place):
                self.assertEqual(half.wrong, 0)
                self.assertGreater(half.time_us, 0)
                self.assertEqual(half.algbw, half.busbw)  # of two ranks
        halves = [half.busbw for row in run.rows for half in (row.out_of_place, row.in_place)]
        self.assertAlmostEqual(run.average, sum(halves) / len(halves), delta=0.01)

    def test_reads_ours_with_columns_of_our_own(self):
        done = bench(
            "broadcast_perf", "-g", "2", "-b", "1K", "-e", "1K", "--percentiles", "-S", "1", "-c", "0"
        )
        self.assertEqual(done.returncode, 0, done.stderr)
        (row,) = nccl_text.read(done.stdout).rows
        self.assertEqual((row.redop, row.root, row.in_place.wrong), ("none", 0, None))

    def test_refuses_other_text(self):
        with self.assertRaises(ValueError):
            nccl_text.read("# Avg bus bandwidth : 1\n")


class JsonReader(unittest.TestCase):
    def test_reads_ours_without_secrets(self):
        with tempfile.TemporaryDirectory() as folder:
            file = f"{folder}/report.json"
            variables = {"MUSTER_TEST_TOKEN": "hunter2", "HOME_MADE": "hunter2", "NCCL_DEBUG": "INFO"}
            done = bench(
                "all_gather", "--ranks", "2", "-b", "1K", "-e", "4K", "-f", "2", "-I", "1", "-J", file,
                **variables,
            )  # fmt: skip
            self.assertEqual(done.returncode, 0, done.stderr)
            text = pathlib.Path(file).read_text()
            self.assertNotIn("hunter2", text)
            report = json.loads(text)
            self.assertEqual(nccl_json.check_report(report), [])
            self.assertIn("NCCL_DEBUG=INFO", report["env"])
            self.assertEqual([row["size"] for row in report["results"]], [1024, 2048, 4096])
            self.assertEqual(len(report["results"][0]["in_place_per_iter"]["times_us"]), 20)

    def test_sees_departures_from_the_schema(self):
        self.assertIn("report.version is missing", nccl_json.check_report({}))
        self.assertEqual(nccl_json.check({"a": True}, {"a": int}, "x"), ["x.a is a bool"])
        self.assertEqual(len(nccl_json.check({"a": "yes"}, {"a": ("true", "false")}, "x")), 1)


class ExitCodes(unittest.TestCase):
    def expect(self, code: int, text: str, *arguments: str, **variables: str):
        done = bench(*arguments, **variables)
        self.assertEqual(done.returncode, code, done.stderr)
        self.assertIn(text, done.stderr)

    def test_are_those_of_nccl_tests(self):
        small = ("all_reduce", "--ranks", "2", "-b", "8", "-e", "8")
        self.expect(255, "--nonsense", *small, "--nonsense")
        self.expect(255, "did you mean all_reduce?", "all_reduc")
        self.expect(255, "-n", *small, "-n", "many")
        self.expect(6, "above the largest", "all_reduce", "-b", "2M", "-e", "1M")
        self.expect(6, "ranks 0 to 1", "broadcast", "--ranks", "2", "-b", "8", "-e", "8", "-r", "2")
        self.expect(5, "CUDA graphs", *small, "-G", "1")
        self.expect(5, "CUDA plug-in", *small, "--backend", "nccl")
        self.expect(1, "/nonexistent", *small, "-J", "/nonexistent/report.json")
        self.expect(7, "NCCL_TESTS_MIN_BW", *small, NCCL_TESTS_MIN_BW="1000000")
        self.expect(255, "NCCL_TESTS_MIN_BW", *small, NCCL_TESTS_MIN_BW="fast")

    def test_tell_who_is_late_and_who_asked_to_stop(self):
        endless = [MUSTER, "bench", "all_reduce", "--ranks", "2", "-b", "8", "-e", "8", "-N", "0", "-T", "4"]
        for code, send, text in (
            (4, lambda job, rank: os.kill(rank, signal.SIGSTOP), "not there yet: rank 1"),
            (75, lambda job, rank: job.send_signal(signal.SIGINT), "stopped on request\n"),
        ):
            with subprocess.Popen(
                endless, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
            ) as job:
                rank = 0
                for line in job.stdout:
                    found = re.match(r"#  Rank  1 .* Pid +(\d+)", line)
                    rank = int(found[1]) if found else rank
                    if "float" in line:
                        break
                send(job, rank)
                out, err = job.communicate(timeout=60)
            self.assertEqual(job.returncode, code, err)
            self.assertIn(text, err)

    def test_tell_a_regression(self):
        with tempfile.TemporaryDirectory() as folder:
            before, after = pathlib.Path(folder, "before.json"), pathlib.Path(folder, "after.json")
            bench("all_reduce", "--ranks", "2", "-b", "8", "-e", "64K", "-f", "2", "-J", str(before))
            report = json.loads(before.read_text())
            for row in report["results"]:
                for half in ("out_of_place", "in_place"):
                    samples = f"{half}_samples_us"
                    row["muster"][samples] = [time / 0.9 for time in row["muster"][samples]]
            after.write_text(json.dumps(report))

            self.assertEqual(bench("compare", str(before), str(before)).returncode, 0)
            self.assertEqual(bench("compare", str(after), str(before)).returncode, 0)
            done = bench("compare", str(before), str(after))
            self.assertEqual(done.returncode, 8, done.stdout)
            self.assertIn("# REGRESSION: times changed by +11.1 %", done.stdout)
            self.expect(255, "cannot be read", "compare", str(before), "/nonexistent")


if __name__ == "__main__":
    MUSTER = sys.argv.pop(1)
    unittest.main()
