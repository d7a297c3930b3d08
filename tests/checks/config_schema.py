#!/usr/bin/env python3
"""Holds every run file of configs/ and data, as `tenon config show --json` understands it, against the JSON Schema that
`tenon config schema` prints, and expects files with a mistake to be refused by it.

  config_schema.py TENON RUN_FILE...

Ends with 77 (skipped) where the validator is missing.
"""
import json
import subprocess
import sys

try:
    import jsonschema
except ImportError:
    print("SKIPPED: the validator is missing (package python3-jsonschema)")
    sys.exit(77)


def output(*words):
    return json.loads(subprocess.run(words, check=True, capture_output=True, text=True).stdout)


def main():
    tenon, files = sys.argv[1], sys.argv[2:]
    schema = output(tenon, "config", "schema")
    validator = jsonschema.Draft202012Validator(schema)
    jsonschema.Draft202012Validator.check_schema(schema)
    bad = []

    def expect(what, config, good):
        problems = [error.message[:200] for error in validator.iter_errors(config)]
        if good == bool(problems):
            bad.append(what)
            print("%s: %s" % (what, problems if good else "was not refused"))

    for file in files:
        expect(file, output(tenon, "config", "show", file, "--json"), True)
    config = {"data": {"type": "csv", "path": "a.csv"}, "network": {"layers": ["relu", {"linear": {"out": 3}}]}}
    expect("a file with layers", config, True)
    for what, network in (("a key that no layer has", {"layers": [{"linear": {"outs": 3}}]}),
                          ("a layer that there is not", {"layers": ["relo"]}),
                          ("two layers in one entry", {"layers": [{"linear": {"out": 3}, "relu": {}}]}),
                          ("an argument that no network has", {"zoo": "lenet5", "args": {"classes": 3}})):
        expect(what, {**config, "network": network}, False)
    print("%d run files" % len(files))
    return 1 if bad or not files else 0


if __name__ == "__main__":
    sys.exit(main())
