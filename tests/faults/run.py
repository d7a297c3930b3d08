"""Runs fault tests on the programs of a build.

    python3 tests/faults/run.py --build build/ci [--only 3,16] [--repeat 20] [--list]

Exit code 0 when all passed, 1 when one failed, 77 when all were skipped. Standard library only.
"""
import argparse
import sys
import time
import traceback

import launcher
import launchers
import training
from harness import Failed, Scene, Skipped


def run_one(number, fault, build):
    """True, False, or None when the machine cannot run it."""
    scene = Scene(build)
    began = time.monotonic()
    name = f"{number:2} {fault.__name__}"
    try:
        fault(scene)
        scene.expect_gone(2)
        print(f"passed   {name}  {time.monotonic() - began:.1f} s", flush=True)
        return True
    except Skipped as reason:
        print(f"skipped  {name}: {reason}", flush=True)
        return None
    except Failed as reason:
        print(f"FAILED   {name}: {reason}", flush=True)
        return False
    except Exception:  # a fault test that is wrong itself is a failure too
        print(f"FAILED   {name}:\n{traceback.format_exc()}", flush=True)
        return False
    finally:
        scene.close()


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", maxsplit=1)[0])
    parser.add_argument("--build", required=True, help="build folder, with bin/ and tests/")
    parser.add_argument("--only", default="", help="numbers or names, with commas between")
    parser.add_argument("--repeat", type=int, default=1)
    parser.add_argument("--list", action="store_true")
    arguments = parser.parse_args()
    faults = sorted(launcher.FAULTS + launchers.FAULTS + training.FAULTS, key=lambda fault: fault[0])
    if arguments.list:
        for number, fault in faults:
            print(f"{number:2} {fault.__name__:24} {fault.__doc__}")
        return 0
    chosen = [word for word in arguments.only.split(",") if word]
    faults = [fault for fault in faults if not chosen or str(fault[0]) in chosen or fault[1].__name__ in chosen]
    if not faults:
        print(f"run.py: no fault is called '{arguments.only}'; --list prints them", file=sys.stderr)
        return 2
    results = [run_one(*fault, arguments.build) for _ in range(arguments.repeat) for fault in faults]
    print(f"{results.count(True)} passed, {results.count(False)} failed, {results.count(None)} skipped")
    if results.count(False):
        return 1
    return 0 if results.count(True) else 77


if __name__ == "__main__":
    sys.exit(main())
