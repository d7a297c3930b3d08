"""Operators of plugins/ops_custom against compositions of standard ones, and against PyTorch; called by ops_custom.sh."""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
CASES = ["swi_glu", "rotary", "focal_loss", "softmax_cross_entropy", "softmax_cross_entropy_one", "embedding_bag", "attention", "attention_causal",
         "ctc_loss", "deform_conv"]
WITH_PEER = {"ctc_loss": "torch.nn.functional.ctc_loss", "deform_conv": "torchvision.ops.deform_conv2d"}


def run(*command):
    return json.loads(subprocess.run([str(part) for part in command], check=True, capture_output=True, text=True).stdout)


def measure(options, case):
    """Several processes of each side, in turn; the median of their medians."""
    ours, theirs = [], []
    for _ in range(options.repeats):
        ours.append(run(f"{options.bin}/ops_custom_speed", "--case", case, "--rounds", options.rounds)[0])
        if case in WITH_PEER:
            theirs.append(run(options.python, HERE / "peers" / "ops_torch.py", case, options.rounds))
    middle = lambda rows, key: statistics.median(row[key] for row in rows)
    row = {"case": case, "tenon_forward_ms": middle(ours, "forward_ms"), "tenon_ms": middle(ours, "ms")}
    if theirs:
        row["peer"] = WITH_PEER[case]
        row["peer_forward_ms"], row["peer_ms"] = middle(theirs, "forward_ms"), middle(theirs, "ms")
    else:
        row["peer"] = "standard operators"
        row["peer_forward_ms"], row["peer_ms"] = middle(ours, "composed_forward_ms"), middle(ours, "composed_ms")
    row["forward_ratio"] = row["peer_forward_ms"] / row["tenon_forward_ms"]
    row["ratio"] = row["peer_ms"] / row["tenon_ms"]
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--bin", required=True)
    parser.add_argument("--python", help="an interpreter that imports torch and torchvision, for ctc_loss and deform_conv")
    parser.add_argument("--case", choices=CASES)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--repeats", type=int, default=3)
    parser.add_argument("--json", action="store_true")
    options = parser.parse_args()
    if options.case in WITH_PEER and not options.python:
        parser.error(f"{options.case} is measured against {WITH_PEER[options.case]}: --python is missing")
    cases = [options.case] if options.case else [c for c in CASES if options.python or c not in WITH_PEER]
    rows = [measure(options, case) for case in cases]
    if options.json:
        json.dump(rows, sys.stdout, indent=1)
        print()
        return
    for row in rows:
        print(f"{row['case']:22} forward {row['tenon_forward_ms']:8.3f} ms against {row['peer_forward_ms']:8.3f} "
              f"({row['forward_ratio']:.2f}), with backward {row['tenon_ms']:8.3f} against {row['peer_ms']:8.3f} "
              f"({row['ratio']:.2f})  {row['peer']}")


if __name__ == "__main__":
    main()
