"""Reads the ABI headers: structs with their members, enumerations, macros, function types, contract blocks.

The headers keep to a narrow style (one declaration after the other, comments before slots, no nesting), so a small
reader is enough; what it does not understand is an error, never skipped in silence.
"""
import dataclasses
import hashlib
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent
INCLUDE = ROOT.parent / "include"

CONTRACT_FIELDS = ("since", "threads", "blocks", "async", "own", "null", "errors", "reentrant", "capture", "shutdown",
                   "fork", "fallback", "idempotent")


class HeaderError(Exception):
    """A header that this reader does not understand."""


@dataclasses.dataclass
class Member:
    """Field or slot of a struct."""
    name: str
    signature: str  # type text with single spaces; of a slot: "int32_t (*)(tenon_plugin*, ...)"
    comment: str
    is_slot: bool


@dataclasses.dataclass
class Struct:
    name: str
    header: str
    comment: str
    members: list

    @property
    def growable(self):
        return self.members[0].name == "struct_size"


@dataclasses.dataclass
class FunctionType:
    name: str
    header: str
    signature: str
    comment: str


@dataclasses.dataclass
class EnumNotes:
    """What is written beside an enumeration."""
    header: str
    comment: str
    enumerators: dict  # enumerator -> comment, those that have one


@dataclasses.dataclass
class Api:
    structs: dict
    enums: dict       # name -> {enumerator: value}
    macros: dict      # name -> text, continuation lines joined
    functions: dict   # name -> FunctionType
    handles: list
    exports: list     # declared functions
    enum_notes: dict  # name -> EnumNotes


def headers(include=INCLUDE):
    return sorted((pathlib.Path(include) / "tenon" / "abi").glob("*.h"))


def header_hash(include=INCLUDE):
    """SHA-1 over all ABI headers but version.h, in name order."""
    digest = hashlib.sha1()
    for header in headers(include):
        if header.name != "version.h":
            digest.update(header.read_bytes())
    return digest.hexdigest()


def squeeze(text):
    return re.sub(r"\s+", " ", text).strip()


def comment_text(raw):
    lines = [re.sub(r"^\s*\*? ?", "", line) for line in raw[2:-2].split("\n")]
    return "\n".join(lines).strip()


def parse_contract(comment):
    """Fields of a contract block as a dict; the leading text stands under ''."""
    parts = re.split(r"@(\w+)\s", squeeze(comment) + " ")
    result = {"": parts[0].strip()}
    for name, value in zip(parts[1::2], parts[2::2]):
        if name in result:
            raise HeaderError("field @%s twice in: %s" % (name, comment))
        result[name] = value.strip()
    return result


_TOKEN = re.compile(r"/\*.*?\*/|//[^\n]*|[{};]|[^{};/]+|/", re.DOTALL)


def _statements(text):
    """Yields (comment before, code) of each declaration; a brace block counts as one piece of code."""
    comment, code, depth = "", "", 0
    for match in _TOKEN.finditer(text):
        token = match.group(0)
        if token.startswith("/*"):
            if depth == 0 and not code.strip():
                comment = comment_text(token)
            elif depth > 0:
                code += token
            continue
        if token.startswith("//"):
            continue
        code += token
        if token == "{":
            depth += 1
        elif token == "}":
            depth -= 1
        elif token == ";" and depth == 0:
            yield comment, code.strip()
            comment, code = "", ""
    if code.strip():
        raise HeaderError("unfinished declaration: " + squeeze(code)[:80])


def _without_preprocessor(text, macros):
    """Takes directives and C++-only parts out; collects object-like and function-like macros."""
    lines, result, index, stack = text.split("\n"), [], 0, []
    while index < len(lines):
        line = lines[index]
        if not line.lstrip().startswith("#"):
            if not any(skip for skip, _ in stack):
                result.append(line)
            index += 1
            continue
        while line.endswith("\\"):
            index += 1
            line = line[:-1] + "\n" + lines[index]
        index += 1
        directive = line.strip()
        if re.match(r"#\s*(if|ifdef|ifndef)\b", directive):
            cxx = bool(re.match(r"#\s*ifdef\s+__cplusplus", directive)) or "__cplusplus >=" in directive
            stack.append([cxx, cxx])
        elif re.match(r"#\s*(else|elif)\b", directive):
            stack[-1][0] = False
        elif re.match(r"#\s*endif\b", directive):
            stack.pop()
        else:
            match = re.match(r"#\s*define\s+(TENON_\w+)(\([^)]*\))?(.*)", directive, re.DOTALL)
            guard = match and re.fullmatch(r"TENON_ABI_\w+_H", match.group(1))
            if match and not guard and not any(skip for skip, _ in stack):
                value = re.sub(r"/\*.*?\*/", "", match.group(3), flags=re.DOTALL)
                macros[match.group(1)] = squeeze((match.group(2) or "") + " " + value)
    return "\n".join(result)


def _members(body, where):
    members, pending = [], ""
    position = 0
    pattern = re.compile(r"\s*(/\*.*?\*/|[^;/]+;)", re.DOTALL)
    while body[position:].strip():
        match = pattern.match(body, position)
        if not match:
            raise HeaderError("%s: cannot read %r" % (where, body[position:position + 60]))
        position = match.end()
        piece = match.group(1)
        if piece.startswith("/*"):
            # A comment behind a member on its line belongs to that member, else to the next one.
            between = body[:match.start(1)].rsplit("\n", 1)[-1]
            if members and between.strip():
                members[-1].comment = comment_text(piece)
            else:
                pending = comment_text(piece)
            continue
        code = squeeze(piece[:-1])
        slot = re.fullmatch(r"(.+?)\(\*(\w+)\)\((.*)\)", code)
        if slot:
            members.append(Member(slot.group(2), "%s (*)(%s)" % (slot.group(1).strip(), slot.group(3)), pending, True))
        else:
            field = re.fullmatch(r"(.+?[\s*])(\w+)((?:\[\w+\])?)", code)
            if not field:
                raise HeaderError("%s: cannot read member %r" % (where, code))
            members.append(Member(field.group(2), squeeze(field.group(1) + field.group(3)), pending, False))
        pending = ""
    return members


def _enumerator_comments(body):
    """Comments behind enumerators, before or after the comma."""
    comments = {}
    for name, comment in re.findall(r"(\w+)\s*=[^,/]*,?[ \t]*(/\*.*?\*/)", body, re.DOTALL):
        comments[name] = squeeze(comment_text(comment))
    return comments


def read(include=INCLUDE):
    """Everything that the headers declare, in order."""
    api = Api({}, {}, {}, {}, [], [], {})
    for header in headers(include):
        text = _without_preprocessor(header.read_text(), api.macros)
        for comment, code in _statements(text):
            where = header.name
            flat = squeeze(re.sub(r"/\*.*?\*/", "", code, flags=re.DOTALL))
            struct = re.match(r"(?:typedef )?struct (\w+)\s*\{(.*)\}\s*\w*;$", code, re.DOTALL)
            enum = re.match(r"enum (\w+)\s*\{(.*)\};$", code, re.DOTALL)
            function = re.fullmatch(r"typedef (.+?)\(\*(\w+)\)\((.*)\);", flat)
            if struct:
                name = struct.group(1)
                api.structs[name] = Struct(name, where, comment, _members(struct.group(2), where + ": " + name))
            elif enum:
                values = {}
                for entry in re.sub(r"/\*.*?\*/", "", enum.group(2), flags=re.DOTALL).split(","):
                    if entry.strip():
                        key, _, value = entry.partition("=")
                        if not value.strip():
                            raise HeaderError("%s: enumerator %s has no explicit value" % (where, key.strip()))
                        values[key.strip()] = int(value.strip(), 0)
                api.enums[enum.group(1)] = values
                api.enum_notes[enum.group(1)] = EnumNotes(where, comment, _enumerator_comments(enum.group(2)))
            elif function:
                api.functions[function.group(2)] = FunctionType(
                    function.group(2), where, "%s (*)(%s)" % (function.group(1).strip(), function.group(3)), comment)
            elif re.fullmatch(r"typedef struct (\w+) \1;", flat):
                api.handles.append(flat.split()[2])
            elif re.match(r"typedef char tenon_assert_\w+\[", flat):
                continue
            elif re.match(r"TENON_EXPORT ", flat):
                api.exports.append(flat[len("TENON_EXPORT "):-1])
            else:
                raise HeaderError("%s: cannot read %r" % (where, flat[:100]))
    return api
