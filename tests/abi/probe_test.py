#!/usr/bin/env python3
"""The second opinion on the layout of the ABI: abidiff (libabigail) over libraries that take each public struct by pointer,
so that nothing hides behind a handle. The gate is the goldens (check_abi.py layout); this test says when the two disagree.
The libraries are compared as they are: version 2.2 cannot read the dumps of abidw with these options again.

  probe_test.py CC

Today's headers against the generated neighbours: the older one must show what was cut, the newer one what was added, and a
header whose slots are swapped must not pass as equal. Ends with 77 (skipped) where the tool is missing.
"""
import pathlib
import shlex
import shutil
import subprocess
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin_api" / "abi"))
sys.dont_write_bytecode = True
import abi_headers  # noqa: E402

CHANGED = 4  # bit of abidiff's exit code


def build(compiler, include, folder, names):
    """A library with one function per struct."""
    headers = ['#include "tenon/abi/%s"' % header.name for header in abi_headers.headers(include)]
    probes = ["int probe_%s(%s* given);\nint probe_%s(%s* given) { return given != 0; }" % (name, name, name, name)
              for name in names]
    source, library = folder / "probe.c", folder / "probe.so"
    source.write_text("\n".join(headers + probes) + "\n")
    subprocess.run(shlex.split(compiler) + ["-g", "-O0", "-shared", "-fPIC", "-w", "-I", str(include), str(source),
                                            "-o", str(library)], check=True)
    return library


def compare(old, new):
    """Exit bits and report of abidiff."""
    result = subprocess.run(["abidiff", "--non-reachable-types", "--harmless", str(old), str(new)], capture_output=True, text=True)
    return result.returncode, result.stdout + result.stderr


def grew(code, report):
    """Did structs change by members that were appended, and by nothing else? libabigail has no word for it."""
    moved = ("data member deletion", "offset changed", "name of ")
    return code & CHANGED != 0 and "data member insertion" in report and not any(word in report for word in moved)


def main():
    if len(sys.argv) != 2:
        print(__doc__)
        return 2
    if not shutil.which("abidiff"):
        print("SKIPPED: abidiff is missing (package abigail-tools); the goldens are checked all the same")
        return 77
    compiler = sys.argv[1]
    names = sorted(abi_headers.read().structs)
    problems = []

    def expect(what, condition, report):
        print("%-58s %s" % (what, "as expected" if condition else "NOT AS EXPECTED"))
        if not condition:
            problems.append(what)
            print("\n".join("    " + line for line in report.splitlines()[:30]))

    with tempfile.TemporaryDirectory() as scratch:
        scratch = pathlib.Path(scratch)
        neighbours = scratch / "neighbours"
        subprocess.run([sys.executable, "-B", str(ROOT / "plugin_api" / "abi" / "make_neighbours.py"), str(neighbours)],
                       check=True, capture_output=True)
        swapped = scratch / "swapped"
        shutil.copytree(abi_headers.INCLUDE, swapped)
        stream = swapped / "tenon" / "abi" / "stream.h"
        text = stream.read_text()
        for old, new in (("(*event_record)", "(*between)"), ("(*event_query)", "(*event_record)"), ("(*between)", "(*event_query)")):
            assert old in text
            text = text.replace(old, new, 1)
        stream.write_text(text)

        libraries = {}
        for name, include in (("today", abi_headers.INCLUDE), ("again", abi_headers.INCLUDE), ("swapped", swapped),
                              ("older", neighbours / "older" / "include"), ("newer", neighbours / "newer" / "include")):
            folder = scratch / ("build_" + name)
            folder.mkdir()
            libraries[name] = build(compiler, include, folder, names)

        code, report = compare(libraries["today"], libraries["again"])
        expect("today's headers against themselves: no change", code == 0, report)
        code, report = compare(libraries["older"], libraries["today"])
        expect("from the older neighbour: structs grew at their ends", grew(code, report), report)
        for name in ("trim", "find_layout", "correlation_id"):
            expect("  the report names %s" % name, name in report, report)
        code, report = compare(libraries["today"], libraries["newer"])
        expect("to the newer neighbour: structs grow at their ends", grew(code, report), report)
        expect("  the report names the added member", "neighbour_added" in report, report)
        code, report = compare(libraries["today"], libraries["swapped"])
        expect("two slots swapped: a change, and not at an end", code & CHANGED != 0 and not grew(code, report), report)
        expect("  the report names the struct", "tenon_stream_vtable" in report, report)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
