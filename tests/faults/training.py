"""Faults in training itself: `tenon train` under launchers, with the collective plugin of the build."""
import json
import os
import re
import signal
import time

from harness import ROOT, Skipped, expect, expect_within

CONFIG = ROOT / "configs/train/lenet_digits.yaml"


def train(scene, ranks, name, *arguments, flags=(), env=None):
    """msrun with `tenon train` on the digits, small and with short limits."""
    if not list((scene.build / "lib/tenon/plugins").glob("libcomm_*.so")):
        raise Skipped("no collective plugin is built")
    output = scene.folder / name / "run"
    words = [scene.program("tenon"), "train", str(CONFIG), f"--output={output}", *arguments]
    settings = ["parallel.timeout_s=3", "data.batch=16", "train.epochs=2", "device.threads=1"]
    words += [word for setting in settings[:3] for word in ("--set", setting)]
    return scene.msrun(ranks, flags=flags, name=name, tool=words, env=env)


def summary(scene, name):
    files = sorted((scene.folder / name / "run").glob("**/summary.json"))
    expect(files, f"no summary.json below {scene.folder / name / 'run'}")
    return [json.loads(file.read_text()) for file in files]


def weights(scene, name):
    """weights_sha256 of all summaries of a run; they must be one."""
    found = set(re.findall(r'"weights_sha256": *"(\w+)"', " ".join(json.dumps(one) for one in summary(scene, name))))
    expect(len(found) == 1, f"weights of {name}: {found}")
    return found.pop()


def killed_in_all_reduce(scene):
    """kill -9 of a rank that trains: the others name it within a second, and all are gone."""
    job = train(scene, 2, "killed", "--set", "train.epochs=1000")
    job.wait_for("all ranks", 1) if False else job.wait_for("epoch", 60)
    time.sleep(0.3)
    victim = job.worker(1)
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    expect(job.end(7) == 128 + signal.SIGKILL, f"exit code {job.process.returncode}:\n{job.text()}")
    expect_within(time.monotonic() - began, 3, "the end")
    job.expect_on_screen("rank 1", "SIGKILL")
    expect("error:" in job.log(0), f"rank 0 says nothing:\n{job.log(0)[-2000:]}")
    scene.expect_gone(1)


def stopped_in_training(scene):
    """SIGSTOP of a rank that trains: an error at the limit of the operation that names it."""
    job = train(scene, 2, "stopped", "--set", "train.epochs=1000")
    job.wait_for("epoch", 60)
    victim = job.worker(1)
    began = time.monotonic()
    os.kill(victim, signal.SIGSTOP)
    job.wait_for("is stopped by SIGSTOP", 1)
    expect(job.end(10) != 0, "exit code 0")
    expect("error:" in job.log(0), f"rank 0 says nothing:\n{job.log(0)[-2000:]}")
    scene.expect_gone(10, began)


def training_restarted(scene):
    """A rank is killed with --max_restarts=1: the run goes on from its checkpoint to the weights of a run undisturbed."""
    plain = train(scene, 2, "plain", "--resume")
    expect(plain.end(60) == 0, plain.text())
    job = train(scene, 2, "again", "--resume", "--set", "checkpoint.every={steps: 5}", flags=["--max_restarts=1"])
    job.wait_for("epoch 1", 60)
    os.kill(job.worker(1), signal.SIGKILL)
    expect(job.end(60) == 0, f"exit code {job.process.returncode}:\n{job.text()}")
    job.expect_on_screen("msrun: the job is started again (1 of 1 restarts).")
    expect(weights(scene, "again") == weights(scene, "plain"), "other weights than without the fault")


FAULTS = [(1, killed_in_all_reduce), (3, stopped_in_training), (17, training_restarted)]
