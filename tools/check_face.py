"""Runs programs with --help, --help --json, --version and --version --json, and checks what they answer.

    python3 tools/check_face.py [--version-string V] PROGRAM...

`--help --json` is an object that may nest sub-commands in any way; every object with a key "flags" holds an array of
    {"name": "--seed", "type": "integer", "default": 1, "sentence": "Start of the random numbers."}
and `--version --json` is an object with at least "version". Standard library only.
"""
import argparse
import json
import subprocess
import sys


def run(program, *arguments):
    """Standard output of a call that must end with 0 and say nothing on standard error."""
    result = subprocess.run([program, *arguments], capture_output=True, text=True, timeout=60, stdin=subprocess.DEVNULL)
    call = " ".join([program, *arguments])
    if result.returncode != 0:
        raise AssertionError(f"`{call}` ended with {result.returncode}: {result.stderr.strip()}")
    if result.stderr:
        raise AssertionError(f"`{call}` wrote to standard error: {result.stderr.strip()}")
    if not result.stdout.strip():
        raise AssertionError(f"`{call}` printed nothing")
    return result.stdout


def run_json(program, *arguments):
    text = run(program, *arguments)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise AssertionError(f"`{program} {' '.join(arguments)}` is not JSON ({error}): {text[:200]}") from error


def flags_in(node):
    """Every object of a help document that describes a flag, whatever command it belongs to."""
    if isinstance(node, dict):
        for flag in node.get("flags", []):
            yield flag
        for key, value in node.items():
            if key != "flags":
                yield from flags_in(value)
    elif isinstance(node, list):
        for value in node:
            yield from flags_in(value)


def check(program, version):
    run(program, "--help")
    flags = list(flags_in(run_json(program, "--help", "--json")))
    if not flags:
        raise AssertionError(f"`{program} --help --json` describes no flag (key \"flags\")")
    for flag in flags:
        for key in ("name", "type", "default", "sentence"):
            if key not in flag:
                raise AssertionError(f"`{program} --help --json`: {json.dumps(flag)} lacks \"{key}\"")
        if not str(flag["sentence"]).strip():
            raise AssertionError(f"`{program} --help --json`: {flag['name']} has an empty sentence")
    plain = run(program, "--version")
    described = run_json(program, "--version", "--json")
    if version and version not in plain:
        raise AssertionError(f"`{program} --version` printed '{plain.strip()}', which does not hold {version}")
    if version and described.get("version") != version:
        raise AssertionError(f"`{program} --version --json` says version {described.get('version')!r}, not {version!r}")
    print(f"ok  {program}: {len(flags)} flags")


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--version-string")
    parser.add_argument("programs", nargs="+")
    arguments = parser.parse_args()
    failed = False
    for program in arguments.programs:
        try:
            check(program, arguments.version_string)
        except (AssertionError, OSError, subprocess.TimeoutExpired) as error:
            print(f"FAILED  {error}")
            failed = True
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
