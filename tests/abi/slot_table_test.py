#!/usr/bin/env python3
"""Compares the core's table of slots (core/plugin/interface_table.cc) with the contract blocks of the headers: every
slot is listed, in order, as required or optional as its @fallback says, since its @since."""
import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "plugin_api" / "abi"))
import abi_headers  # noqa: E402


def main():
    text = (ROOT / "core" / "plugin" / "interface_table.cc").read_text()
    listed = {}
    for struct, slot, required, since in re.findall(r"TENON_SLOT\((\w+), (\w+), k(Required|Optional), (\d+)\)", text):
        listed.setdefault(struct, []).append((slot, required == "Required", since))
    problems = []
    for struct in abi_headers.read().structs.values():
        if not struct.name.endswith("_vtable"):
            continue
        expected = []
        for member in struct.members:
            if member.is_slot:
                contract = abi_headers.parse_contract(member.comment)
                expected.append((member.name, contract["fallback"] == "required", contract["since"].split(".")[1]))
        have = listed.pop(struct.name, [])
        for slot in expected:
            if slot not in have:
                problems.append("%s: the headers say %s, the core does not" % (struct.name, slot))
        problems += ["%s: the core lists %s, the headers do not" % (struct.name, slot) for slot in have if slot not in expected]
    problems += ["%s is no vtable of the headers" % name for name in listed]
    for problem in problems:
        print("slot_table: " + problem)
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
