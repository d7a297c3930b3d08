"""All-reduce of 2 ranks: ours and the peer's runs in turn, medians of their medians. benchmarks/comm.sh calls this.

    comm.py FOLDER [--json] [--case NAME] [--rounds N]
"""
import argparse
import json
import pathlib
import statistics
import subprocess
import sys

# name -> (what of comm_bench, bytes, how many times faster than the peer at least)
CASES = {
    "hook_1mb": ("hook", 1 << 20, 3.0),
    "hook_64mb": ("hook", 64 << 20, 3.0),
    "private_1mb": ("private", 1 << 20, 1.0),
    "private_64mb": ("private", 64 << 20, 1.2),
    "latency_4kb": ("private", 4096, 1.0),
}
HOSTS = "hosts_1gbit"
HOSTS_BYTES, HOSTS_ROUNDS, HOSTS_AT_LEAST = 64 << 20, 7, 0.9
BITS_PER_SECOND = 1e9
NAMES = ("tenon_bench_a", "tenon_bench_b")


def run(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True).stdout


def measure(folder, what, size, rounds):
    """Medians in microseconds of our runs and of the peer's (none without OpenMPI)."""
    ours, peers = [], []
    mpi = folder / "comm_mpi"
    for _ in range(rounds):
        ours.append(float(run(str(folder / "comm_bench"), what, str(size))))
        if mpi.exists():
            peers.append(float(run("mpirun.openmpi", "--allow-run-as-root", "--oversubscribe", "-np", "2", str(mpi), str(size))))
    return statistics.median(ours), statistics.median(peers) if peers else None


class Hosts:
    """Two network namespaces with a link of 1 Gbit/s."""

    def __enter__(self):
        self.remove()
        ends = [(NAMES[0], "tba", "10.78.0.1"), (NAMES[1], "tbb", "10.78.0.2")]
        for name, _, _ in ends:
            run("ip", "netns", "add", name)
        run("ip", "link", "add", "tba", "netns", NAMES[0], "type", "veth", "peer", "name", "tbb", "netns", NAMES[1])
        for name, device, address in ends:
            run("ip", "-n", name, "addr", "add", f"{address}/24", "dev", device)
            run("ip", "-n", name, "link", "set", device, "up")
            run("ip", "-n", name, "link", "set", "lo", "up")
            run("tc", "-n", name, "qdisc", "replace", "dev", device, "root", "tbf", "rate", "1gbit", "burst", "256kb",
                "latency", "50ms")
        return self

    def __exit__(self, *_):
        self.remove()

    def remove(self):
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], capture_output=True, check=False)


def measure_hosts(folder):
    """Share of the wire that an all-reduce uses: each host sends and receives as many bytes as there are."""
    with Hosts():
        before = [f"ip netns exec {name}" for name in NAMES]
        us = float(run(str(folder / "comm_bench"), "private", str(HOSTS_BYTES), str(HOSTS_ROUNDS), *before))
    return us, HOSTS_BYTES * 8 / (us * 1e-6) / BITS_PER_SECOND


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--json", action="store_true")
    parser.add_argument("--case", choices=[*CASES, HOSTS])
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    rows = []
    for name, (what, size, least) in CASES.items():
        if arguments.case in (None, name):
            ours, peer = measure(arguments.folder, what, size, arguments.rounds)
            rows.append({"case": name, "us": ours, "openmpi_us": peer, "ratio": peer / ours if peer else None, "at_least": least})
    if arguments.case in (None, HOSTS):
        try:
            us, share = measure_hosts(arguments.folder)
            rows.append({"case": HOSTS, "us": us, "openmpi_us": None, "ratio": share, "at_least": HOSTS_AT_LEAST})
        except (subprocess.CalledProcessError, FileNotFoundError) as error:
            print(f"comm.py: {HOSTS} is skipped, no network namespaces can be made: {error}", file=sys.stderr)
    if arguments.json:
        print(json.dumps(rows, indent=2))
        return
    print(f"{'case':14} {'us':>12} {'OpenMPI us':>12} {'ratio':>7} {'at least':>9}")
    for row in rows:
        peer = f"{row['openmpi_us']:12.2f}" if row["openmpi_us"] else f"{'-':>12}"
        ratio = f"{row['ratio']:7.2f}" if row["ratio"] else f"{'-':>7}"
        print(f"{row['case']:14} {row['us']:12.2f} {peer} {ratio} {row['at_least']:9.2f}")


if __name__ == "__main__":
    main()
