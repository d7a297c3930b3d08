"""Runs `clang++ -fsyntax-only` over the files of core/, tools/ and plugins/ that a build folder compiles.

Called by check_clang.sh. Standard library only.
"""
import concurrent.futures
import hashlib
import json
import os
import pathlib
import shlex
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
FOLDERS = ("core", "tools", "plugins")


def arguments_of(entry):
    """Include paths, definitions, instruction sets and the language level of one entry of compile_commands.json."""
    words = shlex.split(entry["command"]) if "command" in entry else entry["arguments"]
    kept = []
    index = 0
    while index < len(words):
        word = words[index]
        if word in ("-isystem", "-I", "-D", "-include"):
            kept += words[index:index + 2]
            index += 1
        elif word.startswith(("-I", "-D", "-std=", "-m")) or word == "-fopenmp":
            kept.append(word)
        index += 1
    return kept


def fingerprint(clang, arguments, source, directory):
    """Hash of the command and of every file that it reads, or None when the file does not preprocess."""
    listing = subprocess.run([clang, *arguments, "-MM", source], cwd=directory, capture_output=True, text=True)
    if listing.returncode != 0:
        return None
    digest = hashlib.sha256(" ".join([clang, *arguments, source]).encode())
    for name in sorted(listing.stdout.replace("\\\n", " ").split(":", 1)[1].split()):
        digest.update(pathlib.Path(directory, name).read_bytes())
    return digest.hexdigest()


def check(clang, entry, passed):
    source, directory = entry["file"], entry["directory"]
    arguments = arguments_of(entry)
    mark = fingerprint(clang, arguments, source, directory)
    if mark is not None and (passed / mark).exists():
        return source, True, ""
    result = subprocess.run([clang, *arguments, "-w", "-fsyntax-only", source], cwd=directory,
                            capture_output=True, text=True)
    if result.returncode == 0 and mark is not None:
        (passed / mark).touch()
    return source, result.returncode == 0, result.stderr


def main():
    clang, build = sys.argv[1], pathlib.Path(sys.argv[2]).resolve()
    passed = build / "check_clang"
    passed.mkdir(exist_ok=True)
    entries = []
    for entry in json.loads((build / "compile_commands.json").read_text()):
        path = pathlib.Path(entry["file"]).resolve()
        if path.is_relative_to(ROOT) and path.relative_to(ROOT).parts[0] in FOLDERS and path.suffix == ".cc":
            entries.append(entry)
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(os.cpu_count()) as pool:
        for source, good, text in pool.map(lambda e: check(clang, e, passed), entries):
            if not good:
                failed += 1
                print(f"FAILED {source}\n{text}")
    print(f"check_clang: {len(entries)} files, {failed} do not compile with clang")
    return 1 if failed or not entries else 0


if __name__ == "__main__":
    sys.exit(main())
