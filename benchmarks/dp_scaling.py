"""Data-parallel training with two processes against one: interleaved pairs, median of the ratios. Started by dp_scaling.sh.

Scaling: 2 * (step of one process) / (step of two), both with the same batch a process; 2 is perfect. One thread a process.
Overlap: two processes in network namespaces with a link of 1 Gbit/s between them, 8 MiB of gradients: the step with buckets of
1/2 MiB, which are summed while the backward pass goes on, against one bucket, which is summed after it. Needs root, ip and tc. Here two
cores compute and carry the messages, so both sides run with TENON_HCCL_PRIORITY=realtime unless --priority normal is given.
"""
import argparse
import datetime
import json
import os
import shutil
import socket
import statistics
import subprocess
import tempfile

CASES = {  # data, network, batch, steps, target
    "lenet5": ("image: {shape: [1, 28, 28]}, classes: 10", "network: {zoo: lenet5}\noptimizer: {type: sgd, momentum: 0.9, lr: 0.01}", 32, 600, 1.75),
    "mlp": ("image: {shape: [1, 28, 28]}, classes: 10", "network: {zoo: mlp}\noptimizer: {type: adam, lr: 0.001}", 128, 300, 1.8),
    "resnet18": ("image: {shape: [3, 32, 32]}, classes: 10",
                 "network: {zoo: resnet18, args: {num_classes: 10, stem: cifar}}\noptimizer: {type: sgd, momentum: 0.9, lr: 0.01}", 32, 8, 1.88),
    "encoder": ("tokens: {vocab: 1000, length: 128}, classes: 10",
                "network: {zoo: transformer_encoder, args: {vocab: 1000}}\noptimizer: {type: adamw, lr: 0.001}", 16, 20, 1.88),
}
OVERLAP = ("image: {shape: [1, 16, 16]}, classes: 10",
           "network: {zoo: mlp, args: {hidden: [512, 512, 512, 512, 512, 512, 512, 512, 512], num_classes: 10}}\noptimizer: {type: sgd, lr: 0.01}", 1536, 10)


def config_of(folder, name, data, network, batch, steps):
    path = os.path.join(folder, name + ".yaml")
    samples = 8 * batch
    with open(path, "w") as out:
        out.write(f"name: {name}\ndata: {{type: synthetic, samples: {samples}, {data}, batch: {batch}, workers: 0}}\n{network}\n"
                  f"train: {{epochs: 100000, steps: {steps}}}\ncheckpoint: {{every: 0}}\neval: {{every: 0}}\nlog: {{every: 1000000}}\n")
    return path


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def run_ranks(binary, config, folder, ranks, data_batch, settings=(), wrap=lambda rank: [], address="127.0.0.1", per_node=None):
    """Milliseconds of the median step, of the slowest rank."""
    output = os.path.join(folder, "out")
    shutil.rmtree(output, ignore_errors=True)
    port, children = free_port(), []
    for rank in range(ranks):
        env = dict(os.environ)
        if ranks > 1:
            local = rank if per_node is None else 0
            env.update(RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(local), LOCAL_WORLD_SIZE=str(per_node or ranks), GROUP_RANK=str(rank if per_node else 0),
                       MASTER_ADDR=address, MASTER_PORT=str(port))
        command = wrap(rank) + [os.path.join(binary, "tenon"), "train", config, "--output", output]
        for setting in settings:
            command += ["--set", setting]
        children.append(subprocess.Popen(command, env=env, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True))
    texts = [child.communicate()[0] for child in children]
    for child, text in zip(children, texts):
        if child.returncode != 0:
            raise SystemExit(f"a rank ended with {child.returncode}:\n{text}")
    steps = []
    for rank in range(ranks):
        with open(os.path.join(output, f"rank_{rank}" if rank else "", "summary.json")) as file:
            steps.append(json.load(file)["step_ms"]["p50"])
    return max(steps)


def version(binary):
    return subprocess.run([os.path.join(binary, "tenon"), "--version"], capture_output=True, text=True, check=True).stdout.strip()


def scaling(args, name, folder):
    data, network, batch, steps, target = CASES[name]
    config = config_of(folder, name, data, network, batch, steps)
    pairs = []
    for _ in range(args.pairs):
        one = run_ranks(args.bin, config, folder, 1, batch)
        two = run_ranks(args.bin, config, folder, 2, batch)
        pairs.append((one, two))
    ratios = [2 * one / two for one, two in pairs]
    return {"case": name, "batch": batch, "tenon_ms": statistics.median(two for _, two in pairs), "peer_ms": statistics.median(one for one, _ in pairs),
            "ratio": statistics.median(ratios), "ratios": [round(ratio, 3) for ratio in ratios], "target": target, "peer": "one process, same batch a process"}


class Link:
    """Two network namespaces with host names of their own and a link of 1 Gbit/s."""

    def __init__(self):
        self.names = [f"tenon-dp-{os.getpid()}-{side}" for side in "ab"]

    def __enter__(self):
        run = lambda *words: subprocess.run(words, check=True)
        a, b = self.names
        for name in self.names:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", "tdpa", "netns", a, "type", "veth", "peer", "name", "tdpb", "netns", b)
        for name, device, address in ((a, "tdpa", "10.77.0.1/24"), (b, "tdpb", "10.77.0.2/24")):
            run("ip", "-n", name, "addr", "add", address, "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("ip", "netns", "exec", name, "tc", "qdisc", "add", "dev", device, "root", "tbf", "rate", "1000mbit", "burst", "256k", "latency", "50ms")
        return self

    def __exit__(self, *_):
        for name in self.names:
            subprocess.run(["ip", "netns", "del", name], check=False)

    def wrap(self, rank):
        return ["ip", "netns", "exec", self.names[rank], "unshare", "--uts", "sh", "-c", f'echo node-{rank} > /proc/sys/kernel/hostname; exec "$@"', "sh"]


def overlap(args, folder):
    data, network, batch, steps = OVERLAP
    config = config_of(folder, "overlap", data, network, batch, steps)
    pairs = []
    os.environ["TENON_HCCL_PRIORITY"] = args.priority
    with Link() as link:
        for _ in range(args.pairs):
            run = lambda *settings: run_ranks(args.bin, config, folder, 2, batch, settings, link.wrap, "10.77.0.1", per_node=1)
            after = run("parallel.first_bucket_mb=64", "parallel.bucket_mb=64")
            overlapped = run("parallel.first_bucket_mb=0.5", "parallel.bucket_mb=0.5")
            pairs.append((after, overlapped))
    ratios = [after / overlapped for after, overlapped in pairs]
    return {"case": "overlap", "batch": batch, "tenon_ms": statistics.median(over for _, over in pairs), "peer_ms": statistics.median(after for after, _ in pairs),
            "ratio": statistics.median(ratios), "ratios": [round(ratio, 3) for ratio in ratios], "target": 1 / 0.7, "peer": f"one bucket, summed after the backward pass; priority {args.priority}"}


def main():
    parser = argparse.ArgumentParser(prog="dp_scaling.sh", description="Two processes against one, and overlap against none; interleaved pairs, medians.")
    parser.add_argument("--case", choices=sorted(CASES) + ["overlap"], help="default: all")
    parser.add_argument("--pairs", type=int, default=9)
    parser.add_argument("--priority", choices=["realtime", "normal"], default="realtime", help="TENON_HCCL_PRIORITY of the overlap")
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--bin", required=True, help=argparse.SUPPRESS)
    args = parser.parse_args()
    rows = []
    for name in [args.case] if args.case else sorted(CASES) + ["overlap"]:
        with tempfile.TemporaryDirectory() as folder:
            row = overlap(args, folder) if name == "overlap" else scaling(args, name, folder)
        rows.append(dict(row, versions={"tenon": version(args.bin)}, date=datetime.date.today().isoformat()))
    if args.json:
        print(json.dumps(rows, indent=1))
        return
    for row in rows:
        print(f"{row['case']} batch {row['batch']}: {row['tenon_ms']:.3f} ms against {row['peer_ms']:.3f} ms ({row['peer']}), ratio {row['ratio']:.2f}, target {row['target']:.2f}")


main()
