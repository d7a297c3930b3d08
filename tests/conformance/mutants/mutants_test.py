"""Runs the kit against every mutant of mutants.txt: the sound ones must pass, each other one must fail, or with a + pass, the case of its line.

    python3 mutants_test.py KIT FOLDER MUTANTS_TXT [NAME...]

Standard library only. Prints a line per mutant and exits 1 when one was not caught.
"""
import concurrent.futures
import json
import pathlib
import subprocess
import sys


def read_table(path):
    rows = []
    for line in pathlib.Path(path).read_text(encoding="utf-8").splitlines():
        if line and not line.startswith("#"):
            name, base, case, *words = line.split(maxsplit=3)
            rows.append((name, base, case, words[0] if words else ""))
    return rows


def run_kit(kit, plugin, arguments):
    result = subprocess.run([kit, plugin, "--json", *arguments], capture_output=True, text=True, timeout=500)
    return result.returncode, json.loads(result.stdout), result.stderr


def check(kit, folder, row):
    name, base, case, words = row
    plugin = str(pathlib.Path(folder) / f"{name}_{base}.so")
    code, results, errors = run_kit(kit, plugin, [] if case == "-" else ["--only", case.lstrip("+")])
    failed = [result for result in results if result["result"] == "failed"]
    if case == "-":
        # The exceptions of the sound plugin lie beside it, not beside the mutant.
        passed = sum(result["result"] == "passed" for result in results)
        names = ", ".join(f"{result['id']}: {result['message']}" for result in failed)
        return code == 0 and passed > 25, f"{passed} cases pass" + (f", but {names}" if failed else "") + errors
    if case.startswith("+"):
        # What was added is sound.
        return code == 0 and [result["result"] for result in results] == ["passed"], f"case {case}: {results}"
    number = [result["id"].split(".")[1].split("_")[0] for result in failed]
    message = failed[0]["message"] if failed else "; ".join(result["result"] + " " + result["message"] for result in results)
    # 3: an ordinary host would not load it, for the same reason.
    return code in (1, 3) and number == [case] and words in message, f"case {case}: {message}{errors}"


def main():
    kit, folder, table, *names = sys.argv[1:]
    rows = [row for row in read_table(table) if not names or row[0] in names]
    if len(rows) < (1 if names else 20):
        print(f"{table} lists {len(rows)} mutants")
        return 1
    escaped = 0
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        for row, (caught, text) in zip(rows, pool.map(lambda row: check(kit, folder, row), rows)):
            print(f"{'ok    ' if caught else 'ESCAPED'} {row[0]} of {row[1]}: {text[:220]}")
            escaped += not caught
    print(f"{len(rows)} mutants, {escaped} escaped")
    return 1 if escaped else 0


if __name__ == "__main__":
    sys.exit(main())
