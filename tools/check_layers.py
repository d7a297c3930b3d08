"""Checks every #include against the layer table, and a few rules about which file may see which library.

    python3 tools/check_layers.py [ROOT]

Standard library only. Prints file:line: error: ... and exits 1 when something is wrong.
"""
import pathlib
import re
import sys

# Folder of core/ -> what it may include besides itself. ARCHITECTURE.md has the same table in words: a folder uses lower
# rows only, and `graph`, `passes`, `data` and `convert` do not use all of them.
BELOW_DEVICE = {"base", "platform", "tensor", "config", "plugin", "plugin_api"}
BELOW_PASSES = BELOW_DEVICE | {"device", "ops", "comm", "graph"}
BELOW_TRAIN = BELOW_PASSES | {"passes", "exec", "data", "profile", "debug"}
ALLOWED = {
    "base": set(),
    "platform": {"base"},
    "tensor": {"base"},
    "config": {"base", "platform", "tensor"},
    "plugin": {"base", "platform", "tensor", "config", "plugin_api"},
    "device": BELOW_DEVICE,
    "ops": BELOW_DEVICE,
    "comm": BELOW_DEVICE | {"device"},
    "graph": BELOW_DEVICE | {"ops"},
    "passes": BELOW_DEVICE | {"ops", "graph"},
    "exec": BELOW_PASSES | {"passes"},
    "data": {"base", "platform", "tensor", "config"},
    "profile": BELOW_PASSES | {"passes", "exec"},
    "debug": BELOW_PASSES | {"passes", "exec"},
    "train": BELOW_TRAIN,
    "convert": {"base", "platform", "tensor", "config", "ops", "graph"},
    "launch": BELOW_TRAIN | {"train", "convert"},
    "api": BELOW_TRAIN | {"train", "convert"},
}

C_HEADERS = {"assert.h", "errno.h", "float.h", "inttypes.h", "limits.h", "math.h", "stdalign.h", "stdbool.h",
             "stddef.h", "stdint.h", "stdio.h", "stdlib.h", "string.h"}

INCLUDE = re.compile(r'^\s*#\s*include\s*(["<])([^">]+)[">]')
SUFFIXES = {".h", ".cc", ".c", ".cpp", ".cu", ".inc"}


def room_of(path):
    """'core/graph' style name of the room that an included or including path belongs to, or None."""
    parts = path.split("/")
    if parts[0] == "tenon" and len(parts) > 1 and parts[1] in ("abi", "sdk"):
        return "plugin_api"
    if parts[0] in ("core", "plugins", "tools", "tests") and len(parts) > 2:
        return "/".join(parts[:2])
    return None


def check_core(folder, included):
    if folder not in ALLOWED:
        return f"core/{folder} has no row in the layer table of tools/check_layers.py"
    room = room_of(included)
    if room is None or room == f"core/{folder}":
        return None
    if room == "plugin_api":
        target = "plugin_api"
    elif room.startswith("core/"):
        target = room[len("core/"):]
    else:
        return f"core/{folder} includes '{included}'; core uses nothing of {room.split('/')[0]}/"
    if target not in ALLOWED[folder]:
        return (f"core/{folder} includes '{included}'; {target} is not below {folder} "
                f"(allowed: {', '.join(sorted(ALLOWED[folder])) or 'nothing'})")
    return None


def check_plugin(folder, included):
    room = room_of(included)
    if room not in (None, "plugin_api", f"plugins/{folder}"):
        return f"plugins/{folder} includes '{included}'; a plugin uses plugin_api and itself, nothing else"
    return None


def check_plugin_api(part, quote, included):
    if room_of(included) not in (None, "plugin_api"):
        return f"plugin_api includes '{included}'; it stands alone"
    if part == "abi":
        if included.startswith("tenon/sdk/"):
            return f"an ABI header includes '{included}'; the sdk is above the ABI"
        if quote == "<" and included not in C_HEADERS:
            return f"an ABI header includes <{included}>; C standard headers are the only ones allowed"
    return None


def check_library(path, included):
    """Libraries that are slow to compile, or that belong to one room, stay there."""
    text = path.as_posix()
    if included.startswith("spdlog/") and text != "core/base/log.cc":
        return "spdlog belongs in core/base/log.cc alone; log with TENON_LOG"
    if included.startswith("yaml-cpp/") and text.startswith("core/") and not text.startswith("core/config/"):
        return "yaml-cpp belongs in core/config"
    if included == "nlohmann/json.hpp" and path.suffix == ".h":
        return "include <nlohmann/json_fwd.hpp> in headers, json.hpp in .cc files"
    if included.startswith("CLI/") and text.startswith("core/"):
        return "command lines belong in tools/"
    if included == "regex":
        return "<regex> costs 3 s a file and is slow at run time; write the scan out"
    return None


def room_error(path, quote, included):
    parts = path.parts
    if parts[0] == "core" and len(parts) > 2:
        return check_core(parts[1], included)
    if parts[0] == "plugins" and len(parts) > 2:
        return check_plugin(parts[1], included)
    if parts[:3] == ("plugin_api", "include", "tenon"):
        return check_plugin_api(parts[3], quote, included)
    return None


def check_file(root, path, errors):
    for number, line in enumerate((root / path).read_text(errors="replace").splitlines(), 1):
        found = INCLUDE.match(line)
        if found:
            for error in (room_error(path, *found.groups()), check_library(path, found.group(2))):
                if error:
                    errors.append(f"{path}:{number}: error: {error}")
        elif re.search(r"\bgetenv\s*\(", line) and path.parts[0] == "core" and path.as_posix() != "core/base/env.cc":
            errors.append(f"{path}:{number}: error: getenv belongs in core/base/env.cc; a number that users change is a "
                          "config field")


def check_command_lines(root, errors):
    """CLI11 costs 5 s a file: one file of each program sees it."""
    users = {}
    for path in sorted((root / "tools").rglob("*.cc")):
        if re.search(r'^\s*#\s*include\s*[<"]CLI/', path.read_text(errors="replace"), re.M):
            users.setdefault(path.relative_to(root).parts[1], []).append(path.relative_to(root).as_posix())
    for tool, files in users.items():
        if len(files) > 1:
            errors.append(f"tools/{tool}: error: CLI11 is included by {len(files)} files ({', '.join(files)}); one is the rule")


def main():
    root = pathlib.Path(sys.argv[1] if len(sys.argv) > 1 else pathlib.Path(__file__).parent.parent).resolve()
    errors = []
    count = 0
    for top in ("core", "plugins", "plugin_api", "tools"):
        for file in sorted((root / top).rglob("*")):
            if file.suffix in SUFFIXES and file.is_file():
                check_file(root, file.relative_to(root), errors)
                count += 1
    check_command_lines(root, errors)
    for error in errors:
        print(error)
    print(f"check_layers: {count} files, {len(errors)} errors")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main())
