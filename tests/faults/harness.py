"""What fault tests share: jobs of real processes, a clock, and the proof that nothing is left of them."""
import os
import pathlib
import shutil
import signal
import subprocess
import tempfile
import time
import uuid

ROOT = pathlib.Path(__file__).resolve().parents[2]
# Bounds are for a machine that is not overloaded; a sanitizer build needs more.
SCALE = float(os.environ.get("TENON_FAULT_TIME_SCALE", "1"))


class Failed(Exception):
    """An expectation that does not hold."""


class Skipped(Exception):
    """The machine lacks something; the text says what."""


def expect(condition, text):
    if not condition:
        raise Failed(text)


def expect_within(seconds, bound, what):
    expect(seconds <= bound * SCALE, f"{what} took {seconds:.2f} s, the bound is {bound * SCALE:.2f} s")


def environment_of(pid):
    try:
        data = pathlib.Path(f"/proc/{pid}/environ").read_bytes()
    except OSError:
        return {}
    return dict(item.split("=", 1) for item in data.decode(errors="replace").split("\0") if "=" in item)


def is_zombie(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] == "Z"
    except OSError:
        return True


class Scene:
    """The processes, folders and port of one fault test. Everything that carries its tag must be gone at the end."""

    def __init__(self, build):
        self.build = pathlib.Path(build)
        self.tag = uuid.uuid4().hex
        self.folder = pathlib.Path(tempfile.mkdtemp(prefix="tenon_fault_"))
        self.jobs = []

    def program(self, name):
        folder = "tests" if name == "rank_worker" else "bin"
        path = self.build / folder / name
        expect(path.exists(), f"{path} is not built")
        return str(path)

    def start(self, command, name="job", env=None, before=()):
        job = Job(self, list(before) + command, self.folder / name, env or {})
        self.jobs.append(job)
        return job

    def msrun(self, workers, *worker_arguments, flags=(), name="job", env=None, before=(), local=None, tool=None):
        """msrun with rank_worker, short limits and a port of its own."""
        folder = self.folder / name
        command = [self.program("msrun"), f"--worker_num={workers}", f"--local_worker_num={local or workers}",
                   f"--log_dir={folder}", "--grace_time=5"]
        if not any(flag.startswith("--master_port") for flag in flags):
            command.append("--master_port=0")
        command += [*flags, *(tool or [self.program("rank_worker")]), *map(str, worker_arguments)]
        return self.start(command, name, env, before)

    def pids(self):
        """Processes that carry the tag, by now."""
        return [int(entry.name) for entry in pathlib.Path("/proc").iterdir() if entry.name.isdigit()
                and environment_of(entry.name).get("TENON_FAULT_TAG") == self.tag and not is_zombie(entry.name)]

    def expect_gone(self, bound, since=None):
        """All processes are gone `bound` seconds after `since` (or from now)."""
        since = since or time.monotonic()
        while self.pids() and time.monotonic() - since < bound * SCALE:
            time.sleep(0.01)
        left = [f"{pid} ({pathlib.Path(f'/proc/{pid}/cmdline').read_text()[:80]!r})" for pid in self.pids()]
        expect(not left, f"after {bound * SCALE:.1f} s these are left: {', '.join(left)}")

    def close(self):
        for pid in self.pids():
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        for job in self.jobs:
            job.process.wait()
        shutil.rmtree(self.folder, ignore_errors=True)


class Job:
    def __init__(self, scene, command, folder, env):
        self.scene, self.folder = scene, folder
        folder.mkdir(parents=True, exist_ok=True)
        self.screen = folder / "screen"
        limits = {"MS_NODE_TIMEOUT": "5", "MS_HEARTBEAT_RETRY_TIMEOUT": "4"}
        clean = {name: value for name, value in os.environ.items() if not name.startswith(("MS_", "TENON_"))}
        self.process = subprocess.Popen(command, stdout=self.screen.open("wb"), stderr=subprocess.STDOUT,
                                        stdin=subprocess.DEVNULL, start_new_session=True,
                                        env={**clean, **limits, **env, "TENON_FAULT_TAG": scene.tag})
        self.started = time.monotonic()

    def text(self):
        return self.screen.read_text(errors="replace")

    def log(self, rank):
        path = self.folder / f"worker_{rank}.log"
        return path.read_text(errors="replace") if path.exists() else ""

    def wait_for(self, what, seconds=10, where=None):
        """Until `what` is in the text that `where` gives (by default the screen); the time that it took."""
        where = where or self.text
        began = time.monotonic()
        while what not in where():
            ended = self.process.poll() is not None and what not in where()
            if ended or time.monotonic() - began > seconds * SCALE:
                raise Failed(f"'{what}' did not appear within {seconds * SCALE:.1f} s; the screen says:\n{self.text()}")
            time.sleep(0.005)
        return time.monotonic() - began

    def wait_for_log(self, rank, what, seconds):
        """As wait_for, in the log of a worker whose launcher may have ended."""
        began = time.monotonic()
        while what not in self.log(rank):
            expect(time.monotonic() - began < seconds * SCALE, f"'{what}' did not appear in the log:\n{self.log(rank)}")
            time.sleep(0.01)

    def end(self, seconds):
        """Exit code; an error when it takes longer."""
        try:
            return self.process.wait(seconds * SCALE)
        except subprocess.TimeoutExpired:
            raise Failed(f"the launcher did not end within {seconds * SCALE:.1f} s; the screen says:\n{self.text()}") from None

    def _pid_where(self, wanted):
        began = time.monotonic()
        while time.monotonic() - began < 5 * SCALE:
            for pid in self.scene.pids():
                if wanted(pid):
                    return pid
            time.sleep(0.01)
        raise Failed(f"the process was not found; the screen says:\n{self.text()}")

    def worker(self, rank):
        def wanted(pid):
            comm = pathlib.Path(f"/proc/{pid}/comm")
            return environment_of(pid).get("RANK_ID") == str(rank) and comm.exists() and \
                comm.read_text().strip() != "msrun" and os.getpgid(pid) == pid
        return self._pid_where(wanted)

    def scheduler(self):
        return self._pid_where(lambda pid: pathlib.Path(f"/proc/{pid}/comm").read_text().strip() == "msrun-scheduler")

    def expect_on_screen(self, *texts):
        for text in texts:
            expect(text in self.text(), f"'{text}' is not on the screen:\n{self.text()}")
