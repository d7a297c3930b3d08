"""A Slurm cluster of two nodes on this machine, as root, for the time of a test."""
import os
import pathlib
import shutil
import signal
import socket
import subprocess
import time

from harness import Failed, Skipped

PROGRAMS = ("slurmctld", "slurmd", "srun", "sinfo", "scontrol", "munged")


def free_ports(count):
    sockets = [socket.socket() for _ in range(count)]
    for one in sockets:
        one.bind(("127.0.0.1", 0))
    ports = [one.getsockname()[1] for one in sockets]
    for one in sockets:
        one.close()
    return ports


class Cluster:
    def __init__(self, folder):
        missing = [name for name in PROGRAMS if not shutil.which(name, path="/usr/sbin:/usr/bin:/sbin:/bin")]
        if missing or os.geteuid() != 0:
            raise Skipped(f"a Slurm cluster needs root and the packages slurm-wlm and munge (missing: {', '.join(missing)})")
        self.folder = pathlib.Path(folder)
        for name in ("state", "spool.n1", "spool.n2"):
            (self.folder / name).mkdir(parents=True)
        self.host = socket.gethostname().split(".")[0]
        self.daemons = []
        self.config = self.folder / "slurm.conf"
        self.config.write_text(self._config(), encoding="ascii")
        self.env = {**os.environ, "SLURM_CONF": str(self.config)}
        self._start()

    def _config(self):
        control, first, second = free_ports(3)
        node = f"NodeHostname={self.host} NodeAddr=127.0.0.1 CPUs=2"
        return "\n".join([
            "ClusterName=test", f"SlurmctldHost={self.host}(127.0.0.1)", f"SlurmctldPort={control}",
            "AuthType=auth/munge", "SlurmUser=root", "SlurmdUser=root",
            f"StateSaveLocation={self.folder}/state", f"SlurmdSpoolDir={self.folder}/spool.%n",
            f"SlurmctldPidFile={self.folder}/slurmctld.pid", f"SlurmdPidFile={self.folder}/slurmd.%n.pid",
            f"SlurmctldLogFile={self.folder}/slurmctld.log", f"SlurmdLogFile={self.folder}/slurmd.%n.log",
            "ProctrackType=proctrack/linuxproc", "TaskPlugin=task/none", "JobAcctGatherType=jobacct_gather/none",
            "AccountingStorageType=accounting_storage/none", "SelectType=select/cons_tres",
            "SelectTypeParameters=CR_Core", "SwitchType=switch/none", "MpiDefault=none", "ReturnToService=2", "KillWait=5",
            f"NodeName=n1 {node} Port={first}", f"NodeName=n2 {node} Port={second}",
            "PartitionName=debug Nodes=ALL Default=YES MaxTime=10 State=UP OverSubscribe=FORCE:4", ""])

    def _start(self):
        if not pathlib.Path("/run/munge/munge.socket.2").exists():
            pathlib.Path("/run/munge").mkdir(exist_ok=True)
            shutil.chown("/run/munge", "munge", "munge")
            os.chmod("/run/munge", 0o755)
            self._daemon("runuser", "-u", "munge", "--", "munged", "-F")
            self._await(lambda: pathlib.Path("/run/munge/munge.socket.2").exists(), "munged")
        self._daemon("slurmctld", "-D")
        self._daemon("slurmd", "-D", "-N", "n1")
        self._daemon("slurmd", "-D", "-N", "n2")
        self._await(lambda: self._states().count("idle") == 2, "both nodes")

    def _daemon(self, *words):
        log = (self.folder / f"{words[0]}{len(self.daemons)}.out").open("wb")
        env = {**self.env, "PATH": "/usr/sbin:/usr/bin:/sbin:/bin"}
        self.daemons.append(subprocess.Popen(words, env=env, stdout=log, stderr=log, stdin=subprocess.DEVNULL,
                                             start_new_session=True))

    def _states(self):
        result = subprocess.run(["sinfo", "-h", "-N", "-o", "%T"], env=self.env, capture_output=True, text=True, check=False)
        return result.stdout.split()

    def _await(self, ready, what):
        for _ in range(100):
            if ready():
                return
            time.sleep(0.1)
        raise Failed(f"{what} did not come up; see {self.folder}")

    def stop(self):
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(5)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
