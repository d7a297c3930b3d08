"""Layout and constants of the ABI as text: what the goldens of this folder hold, and the rule between two of them."""
import pathlib
import shlex
import subprocess
import tempfile

import abi_headers


def measure(api, include, compiler="cc"):
    """{struct: (size, align, [(member, offset, size, signature)])}, asked from a compiler."""
    lines = ['#include "tenon/abi/%s"' % header.name for header in abi_headers.headers(include)]
    lines += ["#include <stdio.h>", "#define ALIGN(T) offsetof(struct { char c; T t; }, t)", "int main(void) {"]
    for struct in api.structs.values():
        lines.append('  printf("%s %%zu %%zu\\n", sizeof(%s), ALIGN(%s));' % ((struct.name,) * 3))
        for member in struct.members:
            lines.append('  printf("  %s %%zu %%zu\\n", offsetof(%s, %s), sizeof(((%s*)0)->%s));'
                         % (member.name, struct.name, member.name, struct.name, member.name))
    lines += ["  return 0;", "}", ""]
    with tempfile.TemporaryDirectory() as folder:
        source, program = pathlib.Path(folder, "layout.c"), pathlib.Path(folder, "layout")
        source.write_text("\n".join(lines))
        subprocess.run(shlex.split(compiler) + ["-std=c11", "-w", "-I", str(include), str(source), "-o", str(program)],
                       check=True)
        output = subprocess.run([str(program)], check=True, capture_output=True, text=True).stdout
    result, current = {}, None
    for line in output.splitlines():
        name, first, second = line.split()
        if not line.startswith(" "):
            current = api.structs[name]
            result[name] = (int(first), int(second), [])
        else:
            signature = next(m.signature for m in current.members if m.name == name)
            result[current.name][2].append((name, int(first), int(second), signature))
    return result


def layout_text(layout, api):
    out = ["# Layout of the public structs; written by update.py. struct: size align; member: offset size type"]
    for name, (size, align, members) in layout.items():
        kind = "grows" if api.structs[name].growable else "frozen"
        out.append("%s %d %d %s" % (name, size, align, kind))
        out += ["  %d %d %s: %s" % (offset, width, member, signature) for member, offset, width, signature in members]
    return "\n".join(out) + "\n"


def parse_layout(text):
    """Inverse of layout_text; adds the kind."""
    result, current = {}, None
    for line in text.splitlines():
        if not line or line.startswith("#"):
            continue
        if line.startswith("  "):
            head, _, signature = line.strip().partition(": ")
            offset, width, member = head.split()
            result[current][3].append((member, int(offset), int(width), signature))
        else:
            current, size, align, kind = line.split()
            result[current] = (int(size), int(align), kind, [])
    return result


def constants_text(api):
    out = ["# Constants and function types; written by update.py."]
    for name, values in api.enums.items():
        out += ["enum %s %s = %d" % (name, key, value) for key, value in values.items()]
    for name, value in api.macros.items():
        if not name.startswith("TENON_ABI_HEADER_HASH"):
            out.append("macro %s = %s" % (name, value))
    out += ["function %s: %s" % (f.name, f.signature) for f in api.functions.values()]
    out += ["export %s" % text for text in api.exports]
    return "\n".join(out) + "\n"


# Macros that say which version this is; they differ between minors by design.
VERSION_MACROS = ("TENON_ABI_MINOR", "TENON_ABI_DRAFT", "TENON_ABI_MINOR_FLOOR")


def prefix_problems(old, new):
    """Why layout new (parsed) is not a continuation of layout old; empty when it is."""
    problems = []
    for name, (size, align, kind, members) in old.items():
        if name not in new:
            problems.append("%s is gone" % name)
            continue
        new_size, new_align, new_kind, new_members = new[name]
        if kind == "frozen" and (size, members) != (new_size, new_members):
            problems.append("%s is frozen and changed" % name)
            continue
        if (align, kind) != (new_align, new_kind):
            problems.append("%s changed its alignment or kind" % name)
        for index, member in enumerate(members):
            if index >= len(new_members):
                problems.append("%s.%s is gone" % (name, member[0]))
            elif new_members[index] != member:
                problems.append("%s.%s was %s, is %s" % (name, member[0], member[1:], new_members[index]))
    return problems


def constant_problems(old, new):
    """Lines of constants golden old that golden new does not have; empty when all are there."""
    have = set(new.splitlines())
    return [line + " is gone or changed" for line in old.splitlines()
            if line and not line.startswith("#") and line not in have
            and not any(line.startswith("macro %s =" % macro) for macro in VERSION_MACROS)]


def ledger_entries(api):
    """Names of everything that the ledger lists, in order."""
    out = []
    for struct in api.structs.values():
        out += ["%s %s.%s" % ("slot" if m.is_slot else "field", struct.name, m.name) for m in struct.members]
    for name, values in api.enums.items():
        out += ["enumerator %s.%s" % (name, key) for key in values]
    return out


def parse_ledger(text):
    """{entry: minor text such as 1.0}"""
    result = {}
    for line in text.splitlines():
        if line and not line.startswith("#"):
            minor, _, entry = line.partition(" ")
            result[entry] = minor
    return result


def ledger_text(api, old, minor):
    """The ledger with new entries at this minor; old entries keep theirs."""
    lines = ["# First minor of every slot, field and enumerator; written by update.py, checked by tools/check_abi.py."]
    lines += ["%s %s" % (old.get(entry, minor), entry) for entry in ledger_entries(api)]
    return "\n".join(lines) + "\n"
