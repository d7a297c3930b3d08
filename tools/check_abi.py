#!/usr/bin/env python3
"""Checks the ABI headers against their contracts, ledger, goldens and released minors.

  tools/check_abi.py                 all checks
  tools/check_abi.py contracts       one or more of: contracts shapes ledger hash layout constants released
  tools/check_abi.py --include DIR   headers of another folder (contracts and shapes only make sense there)
  tools/check_abi.py prefix OLD NEW  is layout file NEW a continuation of OLD?
"""
import argparse
import pathlib
import re
import sys

ABI = pathlib.Path(__file__).resolve().parent.parent / "plugin_api" / "abi"
sys.dont_write_bytecode = True
sys.path.insert(0, str(ABI))
import abi_headers  # noqa: E402
import layout  # noqa: E402

CHECKS = ("contracts", "shapes", "ledger", "hash", "layout", "constants", "released")
VALUES = {
    "since": r"1\.\d+",
    "threads": r"T[0-3]\b.*",
    "blocks": r"(never|host|device|network|disk)\b.*",
    "reentrant": r"(yes|no)\b.*",
    "capture": r"(yes|no|by trait|by capability)\b.*",
    "shutdown": r"(yes|no)\b.*",
    "fork": r"(never|allowed)\b.*",
    "idempotent": r"(yes|no|last call wins)\b.*",
}


def contract_problems(where, comment, minor):
    """What is missing or wrong in the contract block of one slot."""
    try:
        contract = abi_headers.parse_contract(comment)
    except abi_headers.HeaderError as error:
        return ["%s: %s" % (where, error)]
    problems = []
    if not contract.pop(""):
        problems.append("%s: no sentence that says what it does" % where)
    for field in abi_headers.CONTRACT_FIELDS:
        value = contract.pop(field, None)
        if not value:
            problems.append("%s: contract field @%s is missing" % (where, field))
        elif field in VALUES and not re.fullmatch(VALUES[field], value):
            problems.append("%s: @%s %s is not one of the known values" % (where, field, value))
        elif field == "since" and int(value.split(".")[1]) > minor:
            problems.append("%s: @since %s is newer than the headers" % (where, value))
    problems += ["%s: unknown contract field @%s" % (where, field) for field in contract]
    return problems


def check_contracts(api):
    minor = int(api.macros["TENON_ABI_MINOR"])
    problems = []
    for struct in api.structs.values():
        for member in struct.members:
            if member.is_slot:
                problems += contract_problems("%s: %s.%s" % (struct.header, struct.name, member.name), member.comment, minor)
    for function in api.functions.values():
        if function.signature == "void (*)(void)":
            continue  # a function of unknown type
        problems += contract_problems("%s: %s" % (function.header, function.name), function.comment, minor)
    return problems


FIXED_TYPES = re.compile(r"(const )*(u?int(8|16|32|64)_t|float|double|char|void|tenon_\w+)[ *const]*(\[\w+\])?$")


def check_shapes(api):
    """Rules of struct layout that a compiler does not know."""
    problems = []
    for struct in api.structs.values():
        where = "%s: %s" % (struct.header, struct.name)
        for member in struct.members:
            if not member.is_slot and not FIXED_TYPES.match(member.signature):
                problems.append("%s.%s: type %s does not cross the ABI" % (where, member.name, member.signature))
            if member.is_slot and member.name != "error_set":
                returns, _, parameters = member.signature.partition(" (*)(")
                if "tenon_error* error" in parameters and returns != "int32_t":
                    problems.append("%s.%s: takes an error sink and returns %s" % (where, member.name, returns))
                if "tenon_error*" in parameters and not parameters.endswith("tenon_error* error)"):
                    problems.append("%s.%s: the error sink is not the last parameter" % (where, member.name))
        if not struct.growable:
            continue
        last = struct.members[-1]
        if last.is_slot:
            optional = abi_headers.parse_contract(last.comment).get("fallback", "required") != "required"
        else:
            optional = last.comment.startswith("optional")
        if not optional:
            problems.append("%s: the last member %s is not optional" % (where, last.name))
    return problems


def check_ledger(api):
    ledger = layout.parse_ledger((ABI / "ledger.txt").read_text())
    entries = layout.ledger_entries(api)
    problems = ["ledger.txt: %s is missing; run plugin_api/abi/update.py" % e for e in entries if e not in ledger]
    problems += ["ledger.txt: %s is not in the headers" % e for e in ledger if e not in set(entries)]
    for struct in api.structs.values():
        for member in struct.members:
            since = abi_headers.parse_contract(member.comment).get("since") if member.is_slot else None
            listed = ledger.get("slot %s.%s" % (struct.name, member.name))
            if since and listed and since != listed:
                problems.append("ledger.txt: %s.%s is listed at %s, its contract says %s"
                                % (struct.name, member.name, listed, since))
    return problems


def check_hash(api, include):
    want = abi_headers.header_hash(include)
    have = api.macros["TENON_ABI_HEADER_HASH_HEX"].strip('"')
    octets = "".join(re.findall(r"0x(\w\w)", api.macros["TENON_ABI_HEADER_HASH_BYTES"]))
    if have == want and octets == want:
        return []
    return ["version.h: header hash is %s (bytes %s), the headers give %s; run plugin_api/abi/update.py" % (have, octets, want)]


def golden_difference(name, text):
    path = ABI / name
    golden = path.read_text() if path.exists() else ""
    if golden == text:
        return []
    old, new = golden.splitlines(), text.splitlines()
    changed = [line for line in old if line not in set(new)][:3] + [line for line in new if line not in set(old)][:3]
    return ["%s differs from the headers, for example: %s. Run plugin_api/abi/update.py and read the diff."
            % (name, "; ".join(line.strip() for line in changed) or "the order")]


def check_released(text, constants):
    """Every released minor must be a prefix of today's headers."""
    problems = []
    for folder in sorted(ABI.glob("v*.*")):
        old = layout.parse_layout((folder / "layout.txt").read_text())
        problems += ["%s: %s" % (folder.name, p) for p in layout.prefix_problems(old, layout.parse_layout(text))]
        problems += ["%s: %s" % (folder.name, p)
                     for p in layout.constant_problems((folder / "constants.txt").read_text(), constants)]
    return problems


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", nargs="*", help="checks to run, or: prefix OLD NEW")
    parser.add_argument("--include", type=pathlib.Path, default=abi_headers.INCLUDE)
    parser.add_argument("--cc", default="cc")
    arguments = parser.parse_args()

    if arguments.what[:1] == ["prefix"]:
        old, new = (layout.parse_layout(pathlib.Path(path).read_text()) for path in arguments.what[1:3])
        problems = layout.prefix_problems(old, new)
    else:
        selected = arguments.what or CHECKS
        for name in selected:
            if name not in CHECKS:
                parser.error("unknown check '%s'; known: %s" % (name, ", ".join(CHECKS)))
        try:
            api = abi_headers.read(arguments.include)
        except abi_headers.HeaderError as error:
            print("check_abi: %s" % error)
            return 1
        constants = layout.constants_text(api)
        text = ""
        if {"layout", "released"} & set(selected):
            text = layout.layout_text(layout.measure(api, arguments.include, arguments.cc), api)
        run = {
            "contracts": lambda: check_contracts(api),
            "shapes": lambda: check_shapes(api),
            "ledger": lambda: check_ledger(api),
            "hash": lambda: check_hash(api, arguments.include),
            "layout": lambda: golden_difference("layout.txt", text),
            "constants": lambda: golden_difference("constants.txt", constants),
            "released": lambda: check_released(text, constants),
        }
        problems = [problem for name in selected for problem in run[name]()]
    for problem in problems:
        print("check_abi: " + problem)
    if not problems:
        print("check_abi: ok")
    return 1 if problems else 0


if __name__ == "__main__":
    sys.exit(main())
