"""Windows on this machine: a Wine prefix of the tests' own."""
import os
import pathlib
import shutil
import subprocess


class Wine:
    def __init__(self, directory: pathlib.Path):
        self.prefix = directory / "prefix"
        self.available = shutil.which("wine") is not None
        self.env = dict(os.environ, WINEPREFIX=str(self.prefix), WINEDEBUG="-all",
                        WINEDLLOVERRIDES="mscoree,mshtml=", LC_ALL="C.UTF-8")

    def create(self):
        quiet = {"env": self.env, "check": True, "timeout": 300, "stdin": subprocess.DEVNULL,
                 "stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        subprocess.run(["wineboot", "-i"], **quiet)
        subprocess.run(["wineserver", "-w"], **quiet)
        # Wine ends its services when the last program that a person started has ended, unless its
        # server was told to stay; 15 minutes after the last one it goes in any case.
        subprocess.run(["wineserver", "-p900"], **quiet)
        # The services inherit the output of the first program: let that be nobody's pipe.
        subprocess.run(["wine", "cmd", "/c", "exit"], **quiet)

    def end(self):
        """Ends every program of this prefix, and of no other."""
        subprocess.run(["wineserver", "-k"], env=self.env, check=False, timeout=60)
        subprocess.run(["wineserver", "-w"], env=self.env, check=False, timeout=60)

    def path(self, windows_path: str) -> pathlib.Path:
        """Where C:\\... lies for Linux."""
        drive, rest = windows_path[0].lower(), windows_path[3:]
        return self.prefix / f"drive_{drive}" / pathlib.PurePosixPath(rest.replace("\\", "/"))

    def run(self, *command: str, timeout=180, env=None):
        """A Windows command to its end; (exit status, stdout, stderr)."""
        done = subprocess.run(["wine", *command], env=dict(self.env, **(env or {})),
                              capture_output=True, timeout=timeout, stdin=subprocess.DEVNULL)
        decode = lambda data: data.decode("utf-8", "replace").replace("\r\n", "\n")  # noqa: E731
        return done.returncode, decode(done.stdout), decode(done.stderr)

    def registry(self, key: str, name: str, value: str | None):
        """Sets a text, or deletes it with None."""
        verb = ["delete", key, "/v", name, "/f"] if value is None else \
            ["add", key, "/v", name, "/t", "REG_SZ", "/d", value, "/f"]
        self.run("reg", *verb)
