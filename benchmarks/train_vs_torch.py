"""Trains the same network in Tenon and in PyTorch, interleaved, and prints times, ratios and memory. Called by
train_vs_torch.sh; needs only the standard library here, and torch in the Python that measures the peer."""
import argparse
import datetime
import json
import os
import statistics
import subprocess
import sys

HERE = os.path.dirname(os.path.abspath(__file__))
BATCH = {"lenet5": 32, "resnet18_cifar": 32, "mobilenet_v2": 16, "mlp": 128, "encoder": 16, "gpt": 16}
# Settings of the peer that `best` chooses from: memory format x form of the optimiser, or form of the attention x the same.
SETTINGS = {"default": [], "fused": ["--fused"], "channels_last": ["--channels-last"], "channels_last+fused": ["--channels-last", "--fused"],
            "sdpa": ["--sdpa"], "sdpa+fused": ["--sdpa", "--fused"]}
SETTINGS_OF = {"images": ["default", "fused", "channels_last", "channels_last+fused"], "rows": ["default", "fused"],
               "sequences": ["default", "fused", "sdpa", "sdpa+fused"]}
KIND = {"mlp": "rows", "encoder": "sequences", "gpt": "sequences"}  # the others: images


def measure(command, env):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, env=env)
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode != 0 or not lines:
        sys.exit(f"error: {' '.join(command)} exited with {done.returncode}:\n{done.stderr}")
    return json.loads(lines[-1])


def peer_command(args, case, batch, setting, seconds):
    command = [args.python, os.path.join(HERE, "peers", "train_torch.py"), "--case", case, "--batch", str(batch), "--threads", str(args.threads),
               "--seconds", str(seconds)] + SETTINGS[setting]
    return command + (["--bf16"] if args.dtype == "bf16" else [])


def settings_of(args, case):
    if args.peer == "default":
        return ["default"]
    return SETTINGS_OF[KIND.get(case, "images")]


def run_case(args, case, env):
    batch = args.batch or BATCH[case]
    ours = [os.path.join(args.bin, "train_step"), case, str(batch), str(args.threads), str(args.seconds), args.dtype]
    tenon, peers = [], {name: [] for name in settings_of(args, case)}
    for _ in range(args.rounds):
        tenon.append(measure(ours, env))
        for name in peers:
            peers[name].append(measure(peer_command(args, case, batch, name, args.seconds), env))
    median = lambda rows, key: statistics.median(row[key] for row in rows)
    times = {name: median(rows, "step_ms") for name, rows in peers.items()}
    best = min(times, key=times.get)
    rows = peers[best]
    tenon_ms = median(tenon, "step_ms")
    return {
        "case": case, "dtype": args.dtype, "batch": batch, "threads": args.threads,
        "tenon_ms": round(tenon_ms, 5), "peer_ms": round(times[best], 5), "ratio": round(times[best] / tenon_ms, 3),
        "tenon_peak_mb": round(median(tenon, "peak_mb"), 1), "peer_peak_mb": round(median(rows, "peak_mb"), 1),
        "tenon_extra_mb": round(median(tenon, "peak_mb") - median(tenon, "idle_mb"), 1),
        "peer_extra_mb": round(median(rows, "peak_mb") - median(rows, "idle_mb"), 1),
        "peer": f"torch {best}", "peer_settings_ms": {name: round(value, 5) for name, value in times.items()},
        "versions": {"tenon": tenon[0]["version"], "torch": rows[0]["version"]}, "date": datetime.date.today().isoformat(),
    }


def main():
    parser = argparse.ArgumentParser(prog="train_vs_torch.sh", description="Training step of Tenon against PyTorch, interleaved medians.")
    parser.add_argument("--python", required=True, help="the Python that has torch")
    parser.add_argument("--case", choices=sorted(BATCH), help="one network; default: all")
    parser.add_argument("--dtype", choices=["fp32", "bf16", "high"], default="fp32", help="high: fp32 with math: high; the peer runs fp32")
    parser.add_argument("--batch", type=int, help="default: " + ", ".join(f"{size} for {case}" for case, size in BATCH.items()))
    parser.add_argument("--threads", type=int, default=1)
    parser.add_argument("--peer", choices=["best", "default"], default="best")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=float, default=1.0, help="timed seconds of each run")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    env = dict(os.environ, OMP_NUM_THREADS=str(args.threads), MKL_NUM_THREADS=str(args.threads))
    rows = [run_case(args, case, env) for case in ([args.case] if args.case else sorted(BATCH))]
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['case']} batch {row['batch']}, {row['threads']} thread(s): Tenon {row['tenon_ms']:.3f} ms, {row['peer']} {row['peer_ms']:.3f} ms, "
              f"ratio {row['ratio']:.2f}; peak {row['tenon_peak_mb']:.0f} against {row['peer_peak_mb']:.0f} MB, "
              f"beyond idle {row['tenon_extra_mb']:.1f} against {row['peer_extra_mb']:.1f} MB")


main()
