"""Two hosts on one machine: network namespaces joined by a pair of interfaces."""
import atexit
import os
import pathlib
import shutil
import subprocess

from harness import Skipped


def run(*words):
    result = subprocess.run(words, capture_output=True, text=True, check=False)
    if result.returncode != 0:
        raise Skipped(f"`{' '.join(words)}` does not work here: {result.stderr.strip()}")


class TwoHosts:
    """Hosts "a" and "b", addresses 10.77.1.1 and 10.77.1.2, names node-a and node-b. Gone with the object's scene."""

    names = {"node-a": "10.77.1.1", "node-b": "10.77.1.2"}

    def __init__(self, scene):
        if os.geteuid() != 0 or not shutil.which("ip"):
            raise Skipped("two hosts need root and the package iproute2")
        self.scene = scene
        self.spaces = {host: f"tn{scene.tag[:8]}{host}" for host in "ab"}
        atexit.register(self.remove)
        scene.close = self._closing(scene.close)
        for host, space in self.spaces.items():
            run("ip", "netns", "add", space)
            run("ip", "-n", space, "link", "set", "lo", "up")
            self.write_names(host, self.names)
        ends = {host: f"v{scene.tag[:8]}{host}" for host in "ab"}
        run("ip", "link", "add", ends["a"], "type", "veth", "peer", "name", ends["b"])
        for number, host in enumerate("ab", 1):
            run("ip", "link", "set", ends[host], "netns", self.spaces[host])
            run("ip", "-n", self.spaces[host], "link", "set", ends[host], "name", "eth0")
            run("ip", "-n", self.spaces[host], "addr", "add", f"10.77.1.{number}/24", "dev", "eth0")
            run("ip", "-n", self.spaces[host], "link", "set", "eth0", "up")

    def _closing(self, close):
        def closing():
            close()
            self.remove()
        return closing

    def remove(self):
        for space in self.spaces.values():
            subprocess.run(["ip", "netns", "delete", space], capture_output=True, check=False)
            shutil.rmtree(f"/etc/netns/{space}", ignore_errors=True)

    def inside(self, host):
        return ["ip", "netns", "exec", self.spaces[host]]

    def write_names(self, host, names):
        """In place: the file is bind-mounted where processes run already."""
        path = pathlib.Path("/etc/netns") / self.spaces[host] / "hosts"
        path.parent.mkdir(parents=True, exist_ok=True)
        lines = ["127.0.0.1 localhost", *(f"{address} {name}" for name, address in names.items())]
        with path.open("w", encoding="ascii") as file:
            file.write("\n".join(lines) + "\n")

    def link_down(self):
        run("ip", "-n", self.spaces["b"], "link", "set", "eth0", "down")

    def rate(self, rate):
        for space in self.spaces.values():
            run("ip", "netns", "exec", space, "tc", "qdisc", "replace", "dev", "eth0", "root", "tbf", "rate", rate,
                "burst", "64kb", "latency", "50ms")

    def drop(self, condition):
        """Drops what comes in on host b where an nftables condition holds; "1": everything."""
        if not shutil.which("nft"):
            raise Skipped("dropping packets needs the package nftables")
        rule = ["drop"] if condition == "1" else [*condition.split(), "drop"]
        inside = ["ip", "netns", "exec", self.spaces["b"], "nft"]
        run(*inside, "add", "table", "inet", "t")
        run(*inside, "add", "chain", "inet", "t", "in", "{ type filter hook input priority 0 ; }")
        run(*inside, "add", "rule", "inet", "t", "in", "iifname", "eth0", *rule)
