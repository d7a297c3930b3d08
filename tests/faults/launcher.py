"""Faults of launcher and rendezvous, on real processes."""
import os
import pathlib
import re
import shutil
import signal
import socket
import time

from harness import Skipped, expect, expect_within
from network import TwoHosts


def killed_between_steps(scene):
    """kill -9 of a rank: the others hear of it at once, the launcher ends all and names it."""
    job = scene.msrun(4, "--steps", 1000)
    job.wait_for("[rank 0] step 3")
    victim = job.worker(2)
    began = time.monotonic()
    os.kill(victim, signal.SIGKILL)
    for rank in (0, 1, 3):
        job.wait_for("rank 2 on", 1, lambda rank=rank: job.log(rank))
    expect_within(time.monotonic() - began, 1, "the error on the other ranks")
    expect(job.end(7) == 128 + signal.SIGKILL, f"exit code {job.process.returncode}, not 137")
    scene.expect_gone(7, began)
    job.expect_on_screen("error: The job failed: rank 2", "SIGKILL", "worker_2.log", f"Worker process {victim} exit with")


def stopped(scene):
    """SIGSTOP of a rank: seen at once; an error at the limit; the stopped process is ended too."""
    job = scene.msrun(3, "--steps", 1000)
    job.wait_for("[rank 0] step 3")
    victim = job.worker(1)
    began = time.monotonic()
    os.kill(victim, signal.SIGSTOP)
    expect_within(job.wait_for(f"worker 1 (process {victim}) is stopped by SIGSTOP", 1), 0.5, "seeing the stop")
    job.wait_for("was not reached by rank 1 within 3 s", 5)
    expect_within(time.monotonic() - began, 4, "the error")
    expect(job.end(10) != 0, "exit code 0")
    scene.expect_gone(10, began)


def stopped_and_continued(scene):
    """SIGSTOP, then SIGCONT before the limit: the run goes on."""
    job = scene.msrun(3, "--steps", 40)
    job.wait_for("[rank 0] step 3")
    victim = job.worker(1)
    os.kill(victim, signal.SIGSTOP)
    job.wait_for("is stopped by SIGSTOP", 1)
    time.sleep(1)
    os.kill(victim, signal.SIGCONT)
    job.wait_for(f"worker 1 (process {victim}) goes on", 1)
    expect(job.end(20) == 0, f"exit code {job.process.returncode}:\n{job.text()}")
    # Longer than a rank waits for the rendezvous, which those that were stopped must not blame.
    limits = {"MS_NODE_TIMEOUT": "30", "MS_HEARTBEAT_RETRY_TIMEOUT": "1"}
    job = scene.msrun(6, "--steps", 40, "--exec-timeout", 20, name="long", env=limits)
    job.wait_for("[rank 0] step 3")
    victims = [job.worker(rank) for rank in range(6)]
    for number in (signal.SIGSTOP, signal.SIGCONT):
        for victim in victims:
            os.kill(victim, number)
        time.sleep(5)
    expect(job.end(20) == 0, f"exit code {job.process.returncode}:\n{job.text()}")


def scheduler_killed(scene):
    """kill -9 of the scheduler: said at once; the ranks end at the limit of their heartbeat with a clear message."""
    job = scene.msrun(2, "--steps", 1000, "--step-ms", 100)
    job.wait_for("[rank 0] step 3")
    began = time.monotonic()
    os.kill(job.scheduler(), signal.SIGKILL)
    job.wait_for("the scheduler was ended by SIGKILL", 1)
    expect(job.end(6) != 0, "exit code 0")
    expect_within(time.monotonic() - began, 6, "the end")
    expect("does not answer" in job.log(0) + job.log(1), f"no clear message:\n{job.log(0)}\n{job.log(1)}")
    scene.expect_gone(1)
    # Before all ranks have met nobody has anything to go on with.
    job = scene.msrun(2, flags=["--master_port=0"], tool=["/bin/sleep", "100"], name="early")
    job.wait_for("rank id:1")
    os.kill(job.scheduler(), signal.SIGKILL)
    expect(job.end(2) != 0, "exit code 0")
    job.expect_on_screen("before all ranks had met")


def launcher_killed(scene):
    """kill -9 of msrun, of each of its processes: no orphan, also no child of a worker."""
    for which in ("front", "supervisor"):
        job = scene.msrun(3, "--steps", 1000, "--child", name=which)
        job.wait_for("[rank 0] step 3")
        pid = job.process.pid
        if which == "supervisor":
            pid = next(other for other in scene.pids() if parent_of(other) == job.process.pid)
        os.kill(pid, signal.SIGKILL)
        scene.expect_gone(1)


def parent_of(pid):
    return int(pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[1])


def port_taken(scene):
    """The scheduler's port is taken, by a program or by another job: no worker is started."""
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        job = scene.msrun(2, flags=[f"--master_port={port}"], name="taken")
        expect(job.end(1) != 0, "exit code 0")
        job.expect_on_screen(f"Port {port} of --master_port is taken by another program. No worker was started.")
        expect("Start worker process" not in job.text(), "a worker was started")
        # A second node on the same machine that does not say that it is the second.
        job = scene.msrun(4, flags=[f"--master_port={port}"], local=2, name="unnumbered", env=ONE_MACHINE)
        expect(job.end(1) == 3, f"exit code {job.process.returncode}")
        job.expect_on_screen("If the scheduler of this job has it, give each call its --node_rank.")
    first = scene.msrun(2, "--steps", 1000, name="first")
    first.wait_for("[rank 0] step 1")
    port = re.search(r"scheduler's port is (\d+)", first.text()).group(1)
    second = scene.msrun(2, flags=[f"--master_port={port}"], name="second")
    expect(second.end(1) != 0, "exit code 0")
    second.expect_on_screen(f"Port {port} of --master_port is taken")
    first.wait_for("[rank 0] step 8")
    # Right after a job that ended the hard way its port is free again.
    os.kill(first.process.pid, signal.SIGKILL)
    scene.expect_gone(1)
    third = scene.msrun(2, "--steps", 3, flags=[f"--master_port={port}"], name="third")
    expect(third.end(10) == 0, f"exit code {third.process.returncode}:\n{third.text()}")


ONE_MACHINE = {"TENON_ONE_MACHINE": "1"}


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def node(scene, number, port, workers=4, local=2, time_out=10, *arguments, name=None, env=None):
    """One of several launchers of a job that stand for nodes, all on this machine."""
    flags = [f"--node_rank={number}", f"--master_port={port}", f"--cluster_time_out={time_out}"]
    return scene.msrun(workers, *arguments, flags=flags, local=local, name=name or f"node{number}",
                       env={**ONE_MACHINE, **(env or {})})


def late_joiner(scene):
    """A node that comes late but in time takes part; after the limit all have ended and named the missing ranks."""
    port = free_port()
    first = node(scene, 0, port, 4, 2, 10, "--steps", 3)
    time.sleep(1.5)
    second = node(scene, 1, port, 4, 2, 10, "--steps", 3)
    expect(first.end(10) == 0 and second.end(10) == 0, f"{first.text()}\n{second.text()}")

    port = free_port()
    began = time.monotonic()
    first = node(scene, 0, port, 4, 2, 2, name="alone")
    expect(first.end(4) != 0, "exit code 0")
    expect_within(time.monotonic() - began, 2 + 1 + 1, "the end")
    first.expect_on_screen("ranks 2 and 3 did not come (2 of 4 are here)")
    scene.expect_gone(1)
    # The next start of the job is served: a leftover of the former start is refused.
    serving = node(scene, 0, port, 4, 2, 10, name="serving", env={"TENON_JOB_ID": "night"})
    time.sleep(0.5)
    stale = node(scene, 1, port, 4, 2, 10, name="stale", env={"TENON_JOB_ID": "morning"})
    expect(stale.end(2) != 0, "exit code 0")
    expect("belongs to job 'morning', and job 'night' is served here" in stale.text(), stale.text())
    expect(serving.process.poll() is None, "the stale one ended the run")
    serving.process.send_signal(signal.SIGTERM)
    expect(serving.end(7) == 128 + signal.SIGTERM, f"exit code {serving.process.returncode}")


def contradictions(scene):
    """Another world size, the same node twice, another config: refused, with both values, within a second."""
    port = free_port()
    four = node(scene, 0, port, 4, 2, 20, name="four")
    time.sleep(0.5)
    began = time.monotonic()
    eight = node(scene, 1, port, 8, 4, 20, name="eight")
    expect(eight.end(7) != 0 and four.end(7) != 0, "exit code 0")
    text = eight.text() + four.text()
    expect("says that the run has 8 ranks, and the rendezvous of this run waits for 4" in text, text)
    expect_within(time.monotonic() - began, 7, "the end of both")

    port = free_port()
    first = node(scene, 0, port, 4, 2, 20, "--steps", 100, name="first")
    second = node(scene, 1, port, 4, 2, 20, "--steps", 100, name="second")
    first.wait_for("all are here")
    again = node(scene, 1, port, 4, 2, 20, name="again")
    expect(again.end(7) != 0, "exit code 0")
    again.expect_on_screen("Repeated registration node: rank")
    expect(first.process.poll() is None and second.process.poll() is None, "the duplicate ended the run")
    expect(first.end(30) == 0 and second.end(30) == 0, first.text() + second.text())

    port = free_port()
    one = node(scene, 0, port, 4, 2, 20, "--config", "optimizer.lr: 0.1", name="one")
    two = node(scene, 1, port, 4, 2, 20, "--config", "optimizer.lr: 0.2", name="two")
    expect(one.end(7) != 0 and two.end(7) != 0, "exit code 0")
    text = one.text() + two.text()
    expect("'optimizer.lr' is 0." in text and "0.1 on rank" in text and "0.2 on rank" in text, text)


def too_many(scene):
    """Workers beyond the size of the run are refused and the others run."""
    port = free_port()
    job = node(scene, 0, port, 2, 2, 10, "--steps", 60, name="right")
    time.sleep(0.3)
    extra = {"MS_ROLE": "MS_WORKER", "RANK_ID": "1", "RANK_SIZE": "2", "DEVICE_ID": "1", "MS_SCHED_HOST": "127.0.0.1",
             "MS_SCHED_PORT": str(port)}
    began = time.monotonic()
    more = scene.start([scene.program("rank_worker")], "more", extra)
    expect(more.end(2) != 0, "exit code 0")
    expect_within(time.monotonic() - began, 1, "the refusal")
    more.expect_on_screen("Repeated registration node: rank 1")
    expect(job.end(20) == 0, job.text())
    beyond = node(scene, 1, free_port(), 4, 3, 10, name="beyond")
    expect(beyond.end(2) == 2, f"exit code {beyond.process.returncode}")
    beyond.expect_on_screen("--node_rank 1 with 3 local workers leads to rank 5, and the job has 4 workers")


def name_not_resolved(scene):
    """The master's name appears after a while, or never."""
    hosts = TwoHosts(scene)
    port = 8118
    hosts.write_names("b", {})  # node b does not know where a is
    flags = [f"--master_port={port}", "--master_addr=node-a"]
    first = scene.msrun(2, "--steps", 3, flags=[*flags, "--node_rank=0", "--cluster_time_out=10"], local=1, name="a",
                        before=hosts.inside("a"))
    second = scene.msrun(2, "--steps", 3, flags=[*flags, "--node_rank=1", "--cluster_time_out=10"], local=1, name="b",
                         before=hosts.inside("b"))
    time.sleep(3)
    hosts.write_names("b", hosts.names)
    expect(first.end(10) == 0 and second.end(10) == 0, first.text() + second.text())

    hosts.write_names("b", {})
    began = time.monotonic()
    never = scene.msrun(2, flags=[*flags, "--node_rank=1", "--cluster_time_out=2"], local=1, name="never",
                        before=hosts.inside("b"))
    expect(never.end(5) != 0, "exit code 0")
    expect_within(time.monotonic() - began, 2 + 1 + 1, "the end")
    never.expect_on_screen("The name 'node-a' is not resolved (DNS or hosts file)")


def nodes_without_numbers(scene):
    """Launchers without --node_rank: the scheduler numbers their workers, and refuses a node too many."""
    hosts = TwoHosts(scene)
    flags = ["--master_port=8118", "--master_addr=10.77.1.1", "--cluster_time_out=10"]
    second = scene.msrun(4, "--steps", 60, flags=flags, local=2, name="b", before=hosts.inside("b"))
    time.sleep(0.5)  # it asks before anybody answers
    first = scene.msrun(4, "--steps", 60, flags=flags, local=2, name="a", before=hosts.inside("a"))
    first.wait_for("all are here")
    third = scene.msrun(4, "--steps", 60, flags=flags, local=2, name="c", before=hosts.inside("b"))
    expect(third.end(3) != 0, "exit code 0")
    third.expect_on_screen("This node is extra or rank id exceeds")
    expect(first.end(20) == 0 and second.end(20) == 0, first.text() + second.text())
    ranks = sorted(re.findall(r"rank (\d) of 4", first.text() + second.text()))
    expect(ranks == ["0", "1", "2", "3"], f"ranks {ranks}")


def partition(scene, cut):
    hosts = TwoHosts(scene)
    save = scene.folder / "saved.state"
    flags = ["--master_port=8118", "--master_addr=10.77.1.1", "--cluster_time_out=10"]
    first = scene.msrun(2, "--steps", 1000, "--save", save, flags=[*flags, "--node_rank=0"], local=1, name="a",
                        before=hosts.inside("a"))
    second = scene.msrun(2, "--steps", 1000, flags=[*flags, "--node_rank=1"], local=1, name="b", before=hosts.inside("b"))
    first.wait_for("] step 5")
    began = time.monotonic()
    cut(hosts)
    # Rank 0 is beside the scheduler and sees the limit of the operation; rank 1 sees that of its connection.
    expect(first.end(10) != 0 and second.end(10) != 0, "exit code 0")
    scene.expect_gone(10, began)
    first.expect_on_screen("was not reached by rank 1 within 3 s")
    expect("does not answer" in second.text(), second.text())
    steps = [int(step) for step in re.findall(r"\] step (\d+)", first.text())]
    saved = int(save.read_text().split()[0])
    expect(saved == max(steps) + 1, f"saved {saved} after step {max(steps)}: a side went on alone")


def link_down(scene):
    """The link goes down: both sides end in error, and neither goes on alone."""
    partition(scene, lambda hosts: hosts.link_down())


def packets_dropped(scene):
    """All packets are dropped: the same."""
    partition(scene, lambda hosts: hosts.drop("1"))


def lossy_link(scene):
    """2 % of the packets lost at 100 Mbit/s: slower, and right."""
    hosts = TwoHosts(scene)
    hosts.rate("100mbit")
    hosts.drop("numgen random mod 100 < 2")
    flags = ["--master_port=8118", "--master_addr=10.77.1.1", "--cluster_time_out=30"]
    first = scene.msrun(2, "--steps", 20, "--exec-timeout", 20, flags=[*flags, "--node_rank=0"], local=1, name="a",
                        before=hosts.inside("a"))
    second = scene.msrun(2, "--steps", 20, "--exec-timeout", 20, flags=[*flags, "--node_rank=1"], local=1, name="b",
                         before=hosts.inside("b"))
    expect(first.end(60) == 0 and second.end(60) == 0, first.text() + second.text())
    states = re.findall(r"final state (\w+)", first.text() + second.text())
    expect(len(states) == 2 and len(set(states)) == 1, f"states {states}")


def counts_differ(scene):
    """Ranks that sum different numbers of elements: EI0005 with both numbers on every rank, within a second."""
    if not (scene.build / "lib/tenon/plugins/comm_hccl_sim.so").exists():
        raise Skipped("the plugin comm_hccl_sim is not built")
    job = scene.msrun(2, "--sum", "1:1025:1024")
    for rank in (0, 1):
        job.wait_for("sums", 10, lambda: job.log(rank))
    began = time.monotonic()
    for rank in (0, 1):
        job.wait_for("EI0005", 1, lambda: job.log(rank))
        expect("1024" in job.log(rank) and "1025" in job.log(rank), f"not both counts on rank {rank}:\n{job.log(rank)}")
    expect_within(time.monotonic() - began, 1, "the error")
    expect(job.end(7) == 1, f"exit code {job.process.returncode}:\n{job.text()}")
    scene.expect_gone(7, began)


def exits_early(scene):
    """A rank ends with code 0 and without leaving: the others get an error and do not hang."""
    job = scene.msrun(3, "--steps", 1000, "--quit", "1:5")
    job.wait_for("[rank 0] step 4")
    began = time.monotonic()
    expect(job.end(3) != 0, "exit code 0")
    expect_within(time.monotonic() - began, 1.5, "the error")
    job.expect_on_screen("rank 1 on", "ended without leaving the run")
    # Before it has met the others: they need not wait for the limit.
    script = f"[ $RANK_ID = 1 ] || exec {scene.program('rank_worker')}"
    job = scene.msrun(3, name="absent", tool=["/bin/sh", "-c", script])
    expect(job.end(3) == 1, f"exit code {job.process.returncode}:\n{job.text()}")
    job.expect_on_screen("rank 1 ended with exit code 0 before all ranks had met")
    # Where nobody meets, that is no failure.
    job = scene.msrun(3, name="strangers", tool=["/bin/sh", "-c", "[ $RANK_ID = 1 ] || sleep 0.5"])
    expect(job.end(3) == 0, f"exit code {job.process.returncode}:\n{job.text()}")


def restarted(scene):
    """A rank is killed with --max_restarts=1: all start again at the last save and come to the same end."""
    plain = scene.msrun(3, "--steps", 30, "--save", scene.folder / "plain.state", name="plain")
    expect(plain.end(20) == 0, plain.text())
    wanted = set(re.findall(r"final state (\w+)", plain.text()))
    job = scene.msrun(3, "--steps", 30, "--save", scene.folder / "again.state", flags=["--max_restarts=1"], name="again")
    job.wait_for("[rank 0] step 10")
    began = time.monotonic()
    os.kill(job.worker(1), signal.SIGKILL)
    expect(job.end(20) == 0, f"exit code {job.process.returncode}:\n{job.text()}")
    expect_within(time.monotonic() - began, 20, "the whole")
    job.expect_on_screen("msrun: the job is started again (1 of 1 restarts).")
    starts = [int(step) for step in re.findall(r"starts at step (\d+)", job.text())]
    expect(len(starts) == 6 and min(starts[3:]) >= 10, f"starts at {starts}")
    expect(set(re.findall(r"final state (\w+)", job.text())) == wanted and len(wanted) == 1, "another end")
    # Once too often.
    job = scene.msrun(2, "--steps", 30, "--exit", "1:5:9", flags=["--max_restarts=1"], name="often")
    expect(job.end(20) == 9, f"exit code {job.process.returncode}:\n{job.text()}")


def not_joined(scene):
    """--join=False returns at once; the workers go on, and the scheduler ends after the last of them."""
    job = scene.msrun(2, "--steps", 20, flags=["--join=False"])
    expect(job.end(2) == 0, f"exit code {job.process.returncode}")
    expect(scene.pids(), "nothing goes on")
    job.wait_for_log(0, "final state", 10)
    scene.expect_gone(5)
    # Of a program that never meets, or of which only some would have.
    for name, script in (("strangers", "sleep 0.5"), ("some", f"[ $RANK_ID = 1 ] || exec {scene.program('rank_worker')}")):
        job = scene.msrun(2, flags=["--join=False", "--cluster_time_out=2"], name=name, tool=["/bin/sh", "-c", script])
        expect(job.end(2) == 0, f"exit code {job.process.returncode}")
        scene.expect_gone(1 if name == "strangers" else 4)


def output_not_read(scene):
    """Nobody reads what the launcher writes: a signal ends it and the workers all the same."""
    screen = scene.folder / "unread"
    os.mkfifo(screen)
    reader = os.open(screen, os.O_RDONLY | os.O_NONBLOCK)
    shell = ("/bin/sh", "-c", f'exec "$@" >{screen} 2>&1', "sh")
    tool = ["/bin/sh", "-c", "yes | head -c 300000; echo all; sleep 100"]
    job = scene.msrun(2, flags=["--grace_time=0.5"], before=shell, tool=tool)
    job.wait_for_log(1, "all", 5)
    time.sleep(0.5)
    job.process.send_signal(signal.SIGTERM)
    expect(job.end(5) == 128 + signal.SIGTERM, f"exit code {job.process.returncode}")
    scene.expect_gone(1)
    os.close(reader)


def logs_in_use(scene):
    """A job whose logs another one writes is refused, also where a worker of that one has started it."""
    job = scene.msrun(2, "--steps", 40)
    job.wait_for("[rank 0] step 3")
    other = scene.msrun(2, "--steps", 40, flags=[f"--log_dir={job.folder}"], name="other")
    expect(other.end(2) == 2, f"exit code {other.process.returncode}")
    other.expect_on_screen(f"The log '{job.folder}/worker_0.log' is being written by a worker of another job")
    expect(job.end(10) == 0, f"exit code {job.process.returncode}:\n{job.text()}")
    inner = scene.program("msrun") + f" --worker_num=1 --local_worker_num=1 --master_port=0 --log_dir={scene.folder}/nested"
    nested = scene.msrun(2, name="nested", tool=["/bin/sh", "-c", f"[ $RANK = 1 ] && exec {inner} /bin/true; sleep 100"])
    expect(nested.end(5) == 2, f"exit code {nested.process.returncode}:\n{nested.text()[-2000:]}")


def library_missing(scene):
    """An installation without the rendezvous library: no worker runs long, and the file is named."""
    folder = scene.folder / "half" / "bin"
    folder.mkdir(parents=True)
    shutil.copy(scene.program("msrun"), folder)
    job = scene.start([str(folder / "msrun"), "--worker_num=2", "--local_worker_num=2", "--master_port=0",
                       f"--log_dir={scene.folder}", "sleep", "100"])
    expect(job.end(3) == 3, f"exit code {job.process.returncode}")
    job.expect_on_screen(f"is neither {scene.folder}/half/lib/tenon/libtenon_rendezvous.so nor ")


def who_is_missing(scene):
    """While a rank does not come, the screen says which."""
    script = f"[ $RANK_ID = 1 ] && sleep 100; exec {scene.program('rank_worker')}"
    job = scene.msrun(3, tool=["/bin/sh", "-c", script])
    job.wait_for("msrun: The cluster topology is in the process of constructing, current alive node num: (2/3). "
                 "Waiting for workers: rank 1 did not come yet.", 12)
    job.process.send_signal(signal.SIGTERM)
    expect(job.end(3) == 128 + signal.SIGTERM, f"exit code {job.process.returncode}")


def exit_codes(scene):
    """The exit code is that of the first failure, and the last screen names rank, reason and log."""
    job = scene.msrun(4, "--steps", 1000, "--exit", "2:4:3", "--child")
    expect(job.end(7) == 3, f"exit code {job.process.returncode}:\n{job.text()}")
    job.expect_on_screen("error: The job failed: rank 2 on", "failed first: The batch of step 4 cannot be read",
                         "  rank 2: exit code 3", "worker_2.log", "    | ", "Distributed job exited with exception.")
    scene.expect_gone(1)
    # Failed after all have left the run, when no scheduler listens any more.
    script = f"{scene.program('rank_worker')} --steps 2; sleep 0.7; exit 3"
    job = scene.msrun(2, name="afterwards", tool=["/bin/sh", "-c", script])
    expect(job.end(5) == 3, f"exit code {job.process.returncode}:\n{job.text()}")
    job.expect_on_screen("failed first: exit code 3", "Distributed job exited with exception.")
    scene.expect_gone(1)
    # Nothing that could be started.
    script = scene.folder / "script"
    for first_line, why in (("#!/no/such/shell", "the interpreter that its first line names is not"),
                            ("exit 0", "its first line names no interpreter")):
        script.write_text(first_line + "\n")
        script.chmod(0o755)
        job = scene.msrun(2, name="unstartable", tool=[str(script)])
        expect(job.end(2) == 2, f"exit code {job.process.returncode}")
        job.expect_on_screen(f"error: '{script}' cannot be started: ", why)
    job = scene.msrun(2, name="nowhere", flags=["--log_dir=/proc/nowhere"])
    expect(job.end(2) == 2, f"exit code {job.process.returncode}")
    job.expect_on_screen("error: --log_dir: The folder /proc/nowhere cannot be made")
    # Interrupted, with workers that do not listen: the hard signal after the grace time.
    job = scene.msrun(2, "--steps", 1000, "--deaf", "--child", flags=["--grace_time=1"], name="deaf")
    job.wait_for("[rank 0] step 2")
    began = time.monotonic()
    job.process.send_signal(signal.SIGINT)
    expect(job.end(3) == 130, f"exit code {job.process.returncode}")
    expect(0.9 < time.monotonic() - began, "the grace time was not kept")
    scene.expect_gone(1)


FAULTS = [
    (2, killed_between_steps), (3, stopped), (4, stopped_and_continued), (5, scheduler_killed),
    (6, launcher_killed), (7, port_taken), (8, late_joiner), (9, contradictions), (10, too_many), (10, nodes_without_numbers), (11, name_not_resolved),
    (12, link_down), (12, packets_dropped), (13, lossy_link), (15, counts_differ), (16, exits_early), (17, restarted), (0, exit_codes), (0, not_joined),
    (0, output_not_read), (0, library_missing), (0, logs_in_use), (0, who_is_missing),
]

__all__ = ["FAULTS", "Skipped"]
