#!/usr/bin/env python3
"""Compiles every public header alone, twice in a row, in another order and among hostile macros, with gcc and clang, as
C99, C11, C17 and C++11 to C++20, all warnings being errors; the sdk as C++17 and C++20. A compiler that is not
installed is named as skipped."""
import concurrent.futures
import pathlib
import random
import shutil
import subprocess
import sys

INCLUDE = pathlib.Path(__file__).resolve().parent.parent.parent / "plugin_api" / "include"
C_FLAGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wpadded", "-Wstrict-prototypes", "-Wconversion", "-Wshadow"]
CXX_FLAGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wpadded", "-Wold-style-cast", "-Wconversion", "-Wshadow"]
SDK_FLAGS = ["-pedantic-errors", "-Wall", "-Wextra", "-Wold-style-cast", "-Wconversion", "-Wshadow", "-Wnon-virtual-dtor"]
HOSTILE = "".join("#define %s @broken@\n" % word for word in
                  ("BOOL", "SUM", "ANY", "major", "minor", "makedev", "linux", "unix", "ERROR", "DELETE", "OK", "INT",
                   "DEVICE", "STRICT", "IN", "OUT", "CONST", "VOID", "small", "near", "far", "interface"))


def sources():
    """(name, text) of the C units: each header alone and twice, all in a shuffled order, all among hostile macros."""
    headers = sorted(path.relative_to(INCLUDE) for path in (INCLUDE / "tenon" / "abi").glob("*.h"))
    end = "extern int tenon_probe;\n"
    for header in headers:
        yield str(header), '#include "%s"\n' % header * 2 + end
    random.Random(7).shuffle(headers)
    everything = "".join('#include "%s"\n' % header for header in headers)
    yield "all, shuffled", everything + end
    yield "all, hostile macros", "#include <stddef.h>\n#include <stdint.h>\n" + HOSTILE + everything + end
    yield "note", '#include "tenon/abi/note.h"\nTENON_PLUGIN_NOTE("a.b", "1.0.0", TENON_KIND_OP, TENON_NOTE_OPENMP, 0);\n'


def jobs():
    units = list(sources())
    sdk_headers = sorted(path.relative_to(INCLUDE) for path in (INCLUDE / "tenon" / "sdk").glob("*.h"))
    for c, cxx in (("gcc", "g++"), ("clang", "clang++")):
        if not shutil.which(c) or not shutil.which(cxx):
            print("skipped: %s is not installed" % c)
            continue
        for standard in ("c99", "c11", "c17"):
            for name, text in units:
                yield [c, "-std=" + standard, "-x", "c"] + C_FLAGS, name, text
        for standard in ("c++11", "c++14", "c++17", "c++20"):
            for name, text in units:
                yield [cxx, "-std=" + standard, "-x", "c++"] + CXX_FLAGS, name, text
        for standard in ("c++17", "c++20"):
            yield [cxx, "-std=" + standard, "-x", "c++"] + SDK_FLAGS, "sdk", '#include "tenon/sdk/sdk.h"\n' * 2
        if c == "gcc":
            for header in sdk_headers:
                yield [cxx, "-std=c++17", "-x", "c++"] + SDK_FLAGS, str(header), '#include "%s"\n' % header


def run(job):
    command, name, text = job
    result = subprocess.run(command + ["-Werror", "-fsyntax-only", "-I", str(INCLUDE), "-"], input=text, text=True,
                            capture_output=True)
    if result.returncode == 0:
        return None
    return "%s, %s %s:\n%s" % (name, command[0], command[1], "\n".join(result.stderr.splitlines()[:6]))


def main():
    todo = list(jobs())
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        problems = [problem for problem in pool.map(run, todo) if problem]
    for problem in problems[:20]:
        print(problem)
    print("%d compilations, %d failed" % (len(todo), len(problems)))
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
