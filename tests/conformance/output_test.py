"""Checks what the kit prints: the list, JSON, JUnit, exit codes, exceptions, and the reference page.

    python3 output_test.py KIT PLUGIN PAGE
"""
import json
import pathlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

CASES = 94


def run(kit, *arguments):
    return subprocess.run([kit, *arguments], capture_output=True, text=True, timeout=300)


def expect(holds, text):
    if not holds:
        raise AssertionError(text)


def check_list(kit):
    cases = json.loads(run(kit, "--list", "--json").stdout)
    expect([case["number"] for case in cases] == list(range(1, CASES + 1)), "--list does not have all numbers in order")
    for case in cases:
        expect(case["id"] == f"{case['level']}.{case['number']}_{case['name']}", f"{case} has another id")
        expect(case["clause"] and case["checks"].endswith("."), f"{case['id']} lacks a clause or a sentence")
    text = run(kit, "--list").stdout.splitlines()
    expect(len(text) == CASES, f"--list prints {len(text)} lines")


def check_page(kit, page):
    printed = run(kit, "--list", "--markdown").stdout
    expect(printed == pathlib.Path(page).read_text(encoding="utf-8"),
           f"{page} is not what --list --markdown prints; write it anew")
    for flag in set(re.findall(r"(?m)^  (--[a-z]+)", run(kit, "--help").stdout)) - {"--version"}:
        expect(f"`{flag}" in printed, f"{page} does not say what {flag} is for")


def check_results(kit, plugin, folder):
    junit = folder / "junit.xml"
    result = run(kit, plugin, "--json", "--only", "L0", "--junit", str(junit))
    expect(result.returncode == 0, result.stdout + result.stderr)
    rows = json.loads(result.stdout)
    expect(len(rows) == 30, f"L0 has {len(rows)} cases")
    for row in rows:
        expect(set(row) == {"id", "level", "name", "clause", "result", "message", "ms"}, f"{row} has other keys")
    suite = xml.etree.ElementTree.parse(junit).getroot().find("testsuite")
    expect(suite.get("tests") == "30" and suite.get("failures") == "0", "the JUnit file counts otherwise")
    expect(len(suite.findall("testcase")) == 30, "the JUnit file has other cases")
    repro = run(kit, plugin, "--repro", "L1.31_space_alignment")
    expect(repro.returncode == 0 and "tenon.memory.alloc(" in repro.stdout, "--repro prints no calls")


def check_exceptions(kit, plugin, folder):
    file = folder / "exceptions.yaml"
    file.write_text("exceptions:\n  L0.1_exported_symbol: it is known\n", encoding="utf-8")
    result = run(kit, plugin, "--only", "1", "--exceptions", str(file))
    expect(result.returncode == 1 and "remove the exception" in result.stdout, "a stale exception is not a failure")
    for text, wanted in (("exceptions:\n  L0.1_exported: x\n", ":2:3"), ("exceptions:\n  L0.1_exported_symbol: ''\n", ":2:"),
                         ("other: 1\n", "exceptions")):
        file.write_text(text, encoding="utf-8")
        result = run(kit, plugin, "--only", "1", "--exceptions", str(file))
        expect(result.returncode == 2 and wanted in result.stderr, f"{text!r} gives {result.returncode}: {result.stderr}")


def check_usage(kit, plugin, folder):
    expect(run(kit).returncode == 2, "no plugin is not wrong usage")
    expect(run(kit, plugin, "--only", "L0.7_no_such").returncode == 2, "an unknown case is not wrong usage")
    expect(run(kit, str(folder / "absent.so")).returncode == 2, "an absent file is not wrong usage")
    other = folder / "not_a_plugin.so"
    other.write_bytes(b"\x7fELF but no more")
    result = run(kit, str(other), "--only", "L0")
    expect(result.returncode == 3, f"a file that does not load gives {result.returncode}")


def main():
    kit, plugin, page = sys.argv[1:]
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        check_list(kit)
        check_page(kit, page)
        check_results(kit, plugin, folder)
        check_exceptions(kit, plugin, folder)
        check_usage(kit, plugin, folder)
    return 0


if __name__ == "__main__":
    try:
        sys.exit(main())
    except AssertionError as error:
        print(error)
        sys.exit(1)
