"""Faults in training itself: `tenon train` of several ranks with the collective plugin of the build."""
import json
import os
import re
import shutil
import signal
import time

from harness import ROOT, Skipped, expect, expect_within
from slurm import Cluster

CONFIG = ROOT / "configs/train/lenet_digits_dp.yaml"
RANKS = 2


def command(scene, name, *settings, arguments=()):
    """`tenon train` on the digits, with short limits."""
    plugins = scene.build / "lib/tenon/plugins"
    if not (list(plugins.glob("comm_*.so")) and (plugins / "device_cpu.so").exists()):
        raise Skipped("the plugins device_cpu and a collective one are not built")
    words = [scene.program("tenon"), "train", str(CONFIG), f"--output={scene.folder / name / 'run'}", *arguments]
    for setting in ("parallel.timeout_s=3", *settings):
        words += ["--set", setting]
    return words


def train(scene, name, *settings, arguments=(), flags=()):
    return scene.msrun(RANKS, flags=flags, name=name, tool=command(scene, name, *settings, arguments=arguments))


def weights(scene, name):
    """The hash of the final weights, which must be the same on all ranks."""
    found = []
    for file in (scene.folder / name / "run").rglob("summary.json"):
        found += re.findall(r'"weights_sha256": "(\w+)"', file.read_text())
    expect(len(found) == RANKS and len(set(found)) == 1, f"weights of {name}: {found}")
    return found[0]


def killed_in_training(scene):
    """kill -9 of a rank that trains: the other one says who is missing, and all are gone."""
    job = train(scene, "killed", "train.epochs=1000")
    job.wait_for("epoch 3/", 60)
    victim = job.worker(1)
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    job.wait_for("error:", 1, lambda: job.log(0))
    expect_within(time.monotonic() - began, 1, "the error")
    expect(job.end(7) == 128 + signal.SIGKILL, f"exit code {job.process.returncode}:\n{job.text()}")
    expect("rank 1" in job.log(0), f"rank 0 names nobody:\n{job.log(0)[-1000:]}")
    job.expect_on_screen("error: The job failed: rank 1", "SIGKILL")
    scene.expect_gone(7, began)


def stopped_in_training(scene):
    """SIGSTOP of a rank that trains: an error at the limit of the operation, and the stopped one is ended too."""
    job = train(scene, "stopped", "train.epochs=1000")
    job.wait_for("epoch 3/", 60)
    victim = job.worker(1)
    began = time.monotonic()
    os.kill(victim, signal.SIGSTOP)
    job.wait_for("is stopped by SIGSTOP", 1)
    job.wait_for("error:", 4, lambda: job.log(0))
    expect_within(time.monotonic() - began, 4, "the error")
    expect(job.end(10) != 0, "exit code 0")
    scene.expect_gone(10, began)


def training_restarted(scene):
    """A rank is killed with --max_restarts=1: the run goes on from its checkpoint to the weights of a run undisturbed."""
    settings = ["train.epochs=8", "checkpoint.every={steps: 5}"]
    plain = train(scene, "plain", *settings)
    expect(plain.end(60) == 0, plain.text())
    job = train(scene, "again", *settings, flags=["--max_restarts=1"])
    job.wait_for("epoch 2/", 60)
    os.kill(job.worker(1), signal.SIGKILL)
    expect(job.end(60) == 0, f"exit code {job.process.returncode}:\n{job.text()}")
    job.expect_on_screen("msrun: the job is started again (1 of 1 restarts).")
    expect(weights(scene, "again") == weights(scene, "plain"), "other weights than without the fault")


def trained_everywhere(scene):
    """The same training under every launcher: the same weights."""
    settings = ["train.epochs=2"]
    job = train(scene, "msrun", *settings)
    expect(job.end(60) == 0, job.text())
    wanted = weights(scene, "msrun")
    missing = []
    for name, words in {"mpirun.openmpi": ["--allow-run-as-root", "--oversubscribe", "-np"], "mpiexec.mpich": ["-n"]}.items():
        if not shutil.which(name):
            missing.append(name)
            continue
        job = scene.start([name, *words, str(RANKS), *command(scene, name, *settings)], name)
        expect(job.end(60) == 0, job.text())
        expect(weights(scene, name) == wanted, f"other weights under {name}")
    cluster = Cluster(scene.folder / "cluster")
    try:
        job = scene.start(["srun", "-N2", "-n2", "--kill-on-bad-exit=1", *command(scene, "srun", *settings)], "srun",
                          {"SLURM_CONF": str(cluster.config)})
        expect(job.end(60) == 0, job.text())
        expect(weights(scene, "srun") == wanted, "other weights under srun")
    finally:
        cluster.stop()
    if missing:
        raise Skipped(f"the part of {' and '.join(missing)}: not installed; the others agree")


def table(ranks, status="completed", devices=None):
    """A rank table of one server, all values texts as the format wants."""
    devices = devices or [str(number) for number in range(len(ranks))]
    entries = [{"device_id": device, "device_ip": f"192.168.1.{number}", "rank_id": str(rank)}
               for number, (rank, device) in enumerate(zip(ranks, devices))]
    return json.dumps({"version": "1.0", "server_count": "1", "status": status,
                       "server_list": [{"server_id": "127.0.0.1", "device": entries}]})


def bad_rank_table(scene):
    """A rank table that lacks a rank or names a device twice is EI0004; one that is being made is read again."""
    command(scene, "table")  # skips where no collective plugin is built

    def start(name, text):
        file = scene.folder / f"{name}.json"
        file.write_text(text, encoding="ascii")
        job = scene.msrun(RANKS, flags=[f"--rank_table_file={file}"], name=name, tool=[scene.program("tenon"), "doctor", "net"],
                          env={"HCCL_SIM_TIMEOUT_SCALE": "0.1"})
        return job, file

    for name, text in {"lacking": table([0, 2]), "twice": table([0, 1], devices=["0", "0"])}.items():
        job, _ = start(name, text)
        expect(job.end(5) != 0, f"exit code 0 with {name}:\n{job.text()}")
        expect("EI0004" in job.text(), f"no EI0004 with {name}:\n{job.text()}")
    job, file = start("early", table([0, 1], status="initializing"))
    time.sleep(1.5)
    expect(job.process.poll() is None, f"it did not wait:\n{job.text()}")
    whole = scene.folder / "whole.json"
    whole.write_text(table([0, 1]), encoding="ascii")
    whole.rename(file)
    expect(job.end(15) == 0, f"exit code {job.process.returncode}:\n{job.text()}")


FAULTS = [(1, killed_in_training), (3, stopped_in_training), (14, bad_rank_table), (17, training_restarted), (18, trained_everywhere)]
