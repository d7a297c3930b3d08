"""Trains with `plugins: {check: true}`: a sound plugin passes, a broken one ends the run with its code, plugin and slot.

    python3 check_test.py TENON RUN_FILE MUTANT_FOLDER
"""
import pathlib
import subprocess
import sys
import tempfile

ID = "org.tenon.device_cpu"
# Mutant, code, slot that the message names.
BROKEN = (("writes_past_workspace_cpu", "TN-PLG-103", "tenon.op.kernel.execute"),
          ("changes_input_cpu", "TN-PLG-106", "tenon.op.kernel.execute"),
          ("stream_create_writes_nothing_cpu", "TN-PLG-104", "tenon.stream.stream_create"),
          ("alloc_misaligned_cpu", "TN-PLG-104", "tenon.memory.alloc"))


def train(tenon, run, *settings):
    with tempfile.TemporaryDirectory() as folder:
        command = [tenon, "train", run, "--output", folder, "--set", "train.epochs=1", "--set", "plugins.check=true"]
        for setting in settings:
            command += ["--set", setting]
        return subprocess.run(command, capture_output=True, text=True, timeout=300)


def main():
    tenon, run, mutants = sys.argv[1:]
    for mode in ("graph", "pynative"):
        result = train(tenon, run, f"mode={mode}")
        if result.returncode != 0:
            print(f"a sound plugin under checks, mode {mode}: {result.returncode}\n{result.stderr}")
            return 1
    for name, code, slot in BROKEN:
        path = pathlib.Path(mutants) / f"{name}.so"
        result = train(tenon, run, f"plugins.pin={{{ID}: {path}}}")
        expected = (code, f"plugin {ID}", slot)
        if result.returncode != 1 or not all(text in result.stderr for text in expected):
            print(f"{name} under checks ends with {result.returncode}, without {expected}:\n{result.stderr}")
            return 1
        print(f"{name}: {[line for line in result.stderr.splitlines() if code in line][0]}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
