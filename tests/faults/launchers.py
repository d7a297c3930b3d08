"""The same program under every launcher: the same ranks in the same places, and the same result."""
import os
import re
import shutil
import signal
import time

from harness import Skipped, expect, expect_within
from slurm import Cluster

RANKS = 4


def result_of(job, seconds=30):
    """Sorted lines "rank R of N (local L of M, node K" and the set of final states."""
    code = job.end(seconds)
    expect(code == 0, f"exit code {code}:\n{job.text()}")
    places = sorted(set(re.findall(r"rank \d+ of \d+ \(local \d+ of \d+, node \d+", job.text())))
    return places, set(re.findall(r"final state (\w+)", job.text()))


def expect_same(results):
    first = results["msrun"]
    expect(len(first[0]) == RANKS and len(first[1]) == 1, f"msrun: {first}")
    for name, (places, states) in results.items():
        expect(places == first[0], f"{name} has the ranks {places}, msrun {first[0]}")
        expect(states == first[1], f"{name} ends with {states}, msrun with {first[1]}")


def torchrun_style(scene, worker):
    """RANK, WORLD_SIZE, LOCAL_RANK and MASTER_* by hand, as torchrun and others set them."""
    from launcher import free_port
    port = free_port()
    jobs = []
    for rank in range(RANKS):
        env = {"RANK": rank, "WORLD_SIZE": RANKS, "LOCAL_RANK": rank, "LOCAL_WORLD_SIZE": RANKS, "MASTER_ADDR": "127.0.0.1",
               "MASTER_PORT": port}
        jobs.append(scene.start(worker, f"torchrun{rank}", {name: str(value) for name, value in env.items()}))
    places, states = [], set()
    for job in jobs:
        one_place, one_state = result_of(job)
        places += one_place
        states |= one_state
    return sorted(places), states


def one_node(scene):
    """msrun, torchrun's variables, mpirun of OpenMPI, mpiexec of MPICH: ranks, places and result are the same."""
    worker = [scene.program("rank_worker"), "--steps", "5"]
    results = {"msrun": result_of(scene.msrun(RANKS, "--steps", 5)), "torchrun": torchrun_style(scene, worker)}
    missing = []
    for name, command in {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe", "-np", str(RANKS)],
                          "mpiexec.mpich": ["-n", str(RANKS)]}.items():
        if not shutil.which(name):
            missing.append(name)
            continue
        results[name] = result_of(scene.start([name, *command, *worker], name))
    expect_same(results)
    if missing:
        raise Skipped(f"the part of {' and '.join(missing)}: not installed; the others agree")


def two_mpich_jobs(scene):
    """Two jobs of a launcher that does not name its jobs do not meet each other."""
    if not shutil.which("mpiexec.mpich"):
        raise Skipped("needs the package mpich")
    command = ["mpiexec.mpich", "-n", "2", scene.program("rank_worker"), "--steps", "20"]
    jobs = [scene.start(command, f"job{number}") for number in range(2)]
    for job in jobs:
        places, _ = result_of(job)
        expect(len(places) == 2, job.text())


def slurm(scene):
    """srun over two nodes: ranks by its variables, an address from its own records, and the result of msrun."""
    cluster = Cluster(scene.folder / "slurm")
    try:
        worker = [scene.program("rank_worker"), "--steps", "5"]
        env = {"SLURM_CONF": str(cluster.config)}
        job = scene.start(["srun", "-N2", f"-n{RANKS}", "--kill-on-bad-exit=1", *worker], "srun", env)
        places, states = result_of(job)
        expect(places == [f"rank {r} of 4 (local {r % 2} of 2, node {r // 2}" for r in range(4)], f"ranks {places}")
        expect(states == result_of(scene.msrun(RANKS, "--steps", 5))[1], "another result than under msrun")
        # One msrun per node.
        from launcher import free_port
        words = [scene.program("msrun"), "--worker_num=4", "--local_worker_num=2", "--node_rank=$SLURM_NODEID",
                 f"--master_port={free_port()}", "--master_addr=$(hostname -I | cut -d' ' -f1)",
                 f"--log_dir={scene.folder}/inner", *worker]
        job = scene.start(["srun", "-N2", "-n2", "sh", "-c", " ".join(words)], "inner", env)
        expect(result_of(job)[1] == states, job.text())
        # A rank that is killed ends the step, and its others say why.
        job = scene.start(["srun", "-N2", "-n4", "--kill-on-bad-exit=1", worker[0], "--steps", "1000"], "killed", env)
        job.wait_for("step 3")
        began = time.monotonic()
        os.kill(next(pid for pid in scene.pids() if "rank_worker" in open(f"/proc/{pid}/cmdline", encoding="ascii").read()
                     and "SLURM_PROCID=3" in open(f"/proc/{pid}/environ", encoding="utf-8").read().split("\0")), signal.SIGKILL)
        expect(job.end(10) != 0, "exit code 0")
        expect_within(time.monotonic() - began, 7, "the end of the step")
    finally:
        cluster.stop()


FAULTS = [(18, one_node), (18, two_mpich_jobs), (18, slurm)]
