#!/usr/bin/env python3
"""Writes the reference of the ABI out of the headers and their contract blocks.

  plugin_api/abi/reference.py > docs/reference/abi.md     (update.py does it too)
  plugin_api/abi/reference.py --check docs/reference/abi.md
"""
import argparse
import pathlib
import re
import sys

sys.dont_write_bytecode = True

import abi_headers  # noqa: E402

# In the order in which a plugin author meets them.
HEADERS = ("plugin.h", "note.h", "version.h", "status.h", "types.h", "host.h", "device.h", "memory.h", "stream.h", "op.h",
           "subgraph.h", "collective.h", "profiler.h")

INTRODUCTION = """\
# The plugin ABI, version %(version)s

Made from the headers in `plugin_api/include/tenon/abi` by `plugin_api/abi/reference.py`; a test holds it against them. How
versions work together: [versioning.md](versioning.md). From an empty folder to a device:
[write-a-device-plugin.md](../howto/write-a-device-plugin.md).

Under each function stands its contract:

| field | what it says |
|---|---|
| since | first minor that has it |
| threads | T0: called once per process. T1: the caller serialises calls per plugin. T2: per object. T3: any thread |
| blocks | what it may wait for: never, or on the host, a device, the network, a disk |
| async | what OK means where work goes on after the call |
| own | who owns what each pointer leads to, and for how long |
| null | what NULL and zero sizes mean |
| errors | the codes that it may return |
| reentrant | may it be called from a completion, or from inside a host service |
| capture | may it be part of a captured stream |
| shutdown | may it be called while the host shuts down |
| fork | may it be called in a forked child |
| fallback | what the host does when the slot is NULL |
| idempotent | may it be called again with the same effect |

A struct that grows starts with `struct_size`; new members come at its end and are optional. The others never change.
"""


def header_comment(name):
    text = (abi_headers.INCLUDE / "tenon" / "abi" / name).read_text()
    match = re.match(r"\s*(/\*.*?\*/)", text, re.DOTALL)
    return abi_headers.squeeze(abi_headers.comment_text(match.group(1))) if match else ""


def cell(text):
    return abi_headers.squeeze(text).replace("|", "\\|")


def declaration(name, signature):
    """"int32_t (*)(a, b)" -> "int32_t name(a, b)"."""
    return signature.replace(" (*)(", " %s(" % name, 1).replace("*(*)(", "* %s(" % name, 1)


def contract_lines(comment):
    contract = abi_headers.parse_contract(comment)
    lines = [contract[""], ""]
    fields = ["**%s** %s" % (field, contract[field]) for field in abi_headers.CONTRACT_FIELDS if field in contract]
    return lines + ["; ".join(fields) + ".", ""]


def function_lines(level, name, signature, comment):
    lines = ["%s `%s`" % ("#" * level, name), "", "```c", declaration(name, signature) + ";", "```", ""]
    if "@since" in comment:
        return lines + contract_lines(comment)
    return lines + ([abi_headers.squeeze(comment), ""] if comment else [])


def struct_lines(struct):
    kind = "Grows at its end." if struct.growable else "Never changes."
    lines = ["### `%s`" % struct.name, "", ("%s %s" % (abi_headers.squeeze(struct.comment), kind)).strip(), ""]
    fields = [member for member in struct.members if not member.is_slot]
    shown = fields if len(fields) > 2 or not struct.growable or len(fields) == len(struct.members) else []
    if shown:
        lines += ["| member | type | |", "|---|---|---|"]
        lines += ["| `%s` | `%s` | %s |" % (field.name, field.signature, cell(field.comment)) for field in shown]
        lines.append("")
    for member in struct.members:
        if member.is_slot:
            lines += function_lines(4, member.name, member.signature, member.comment)
    return lines


def enum_lines(name, values, notes):
    lines = ["### `enum %s`" % name, ""]
    if notes.comment:
        lines += [abi_headers.squeeze(notes.comment), ""]
    lines += ["| enumerator | value | |", "|---|---|---|"]
    lines += ["| `%s` | %d | %s |" % (key, value, cell(notes.enumerators.get(key, ""))) for key, value in values.items()]
    return lines + [""]


def page(api):
    """The whole reference as Markdown."""
    version = "%s.%s%s" % (api.macros["TENON_ABI_MAJOR"], api.macros["TENON_ABI_MINOR"],
                           " (draft)" if api.macros["TENON_ABI_DRAFT"] == "1" else "")
    known = {header.name for header in abi_headers.headers()}
    if known != set(HEADERS):
        raise SystemExit("reference.py: HEADERS and the folder differ: %s" % sorted(known ^ set(HEADERS)))
    lines = [INTRODUCTION % {"version": version}]
    for header in HEADERS:
        lines += ["## %s" % header, "", header_comment(header), ""]
        for name, values in api.enums.items():
            if api.enum_notes[name].header == header:
                lines += enum_lines(name, values, api.enum_notes[name])
        for function in api.functions.values():
            if function.header == header:
                lines += function_lines(3, function.name, function.signature, function.comment)
        for struct in api.structs.values():
            if struct.header == header:
                lines += struct_lines(struct)
    return re.sub(r"\n{3,}", "\n\n", "\n".join(lines)).rstrip() + "\n"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--check", metavar="FILE", help="compare with this page instead of printing")
    arguments = parser.parse_args()
    text = page(abi_headers.read())
    if not arguments.check:
        sys.stdout.write(text)
        return 0
    if pathlib.Path(arguments.check).read_text() == text:
        print("reference: ok")
        return 0
    print("reference: %s is not what the headers say. Write it again: python3 plugin_api/abi/update.py" % arguments.check)
    return 1


if __name__ == "__main__":
    sys.exit(main())
