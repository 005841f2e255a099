"""An S3 service for tests: moto's server, with one bucket."""

import subprocess
import sys
import time
import urllib.error
import urllib.request

from tests.running import free_port


class Server:
    """A moto server with a bucket."""

    def __init__(self) -> None:
        self.port = free_port()
        self.process: subprocess.Popen[bytes] | None = None

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def start(self) -> None:
        command = [sys.executable, "-m", "moto.server", "-p", str(self.port)]
        self.process = subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        deadline = time.monotonic() + 60
        while True:
            try:
                urllib.request.urlopen(urllib.request.Request(f"{self.endpoint}/bucket", method="PUT"))
                return
            except urllib.error.URLError:
                assert time.monotonic() < deadline
                time.sleep(0.1)

    @property
    def environment(self) -> dict[str, str]:
        """What a process needs to use it."""
        return {
            "AWS_ENDPOINT_URL": self.endpoint,
            "AWS_ACCESS_KEY_ID": "someone",
            "AWS_SECRET_ACCESS_KEY": "secret",
            "AWS_REGION": "us-east-1",
        }

    def stop(self) -> None:
        if self.process is not None:
            self.process.kill()
            self.process.wait()
