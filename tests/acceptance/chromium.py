"""A page in headless Chromium, driven over its debugging pipe: what it says, asks for, looks like."""

import base64
import json
import os
import pathlib
import select
import shutil
import subprocess
import time

import lib

FLAGS = [
    "--headless", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--remote-debugging-pipe",
    "--no-first-run", "--disable-background-networking", "--disable-component-update", "--disable-sync",
    "--disable-extensions", "--disable-default-apps", "--window-size=1200,1000",
]  # fmt: skip


class Browser:
    """Chromium with one page; its commands and events are JSON texts that end with a zero byte."""

    def __init__(self, folder: pathlib.Path):
        program = shutil.which("chromium")
        if not program:
            raise lib.Unmeasurable("no chromium: scripts/setup --peers")
        to_browser, self.write_end = os.pipe()
        self.read_end, from_browser = os.pipe()
        self.process = subprocess.Popen(
            ["bash", "-c", f'exec "$@" 3<&{to_browser} 4>&{from_browser}', "bash", program, *FLAGS,
             f"--user-data-dir={folder / 'profile'}", "about:blank"],
            env=lib.environment({"HOME": str(folder)}),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            pass_fds=(to_browser, from_browser),
            start_new_session=True,
        )  # fmt: skip
        os.close(to_browser)
        os.close(from_browser)
        self.events: list[dict] = []
        self.rest = b""
        self.number = 0
        targets = self.call("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        self.session = self.call("Target.attachToTarget", targetId=page, flatten=True)["sessionId"]
        for domain in ("Page", "Network", "Log", "Runtime"):
            self.call(f"{domain}.enable")

    def read(self, timeout_s: float) -> dict | None:
        """The next text from the browser, or nothing in that time."""
        end = time.monotonic() + timeout_s
        while b"\0" not in self.rest:
            if not select.select([self.read_end], [], [], max(0.0, end - time.monotonic()))[0]:
                return None
            part = os.read(self.read_end, 1 << 20)
            if not part:
                raise RuntimeError("chromium ended")
            self.rest += part
        text, _, self.rest = self.rest.partition(b"\0")
        return json.loads(text)

    def call(self, method: str, **parameters) -> dict:
        self.number += 1
        message = {"id": self.number, "method": method, "params": parameters}
        if hasattr(self, "session"):
            message["sessionId"] = self.session
        os.write(self.write_end, json.dumps(message).encode() + b"\0")
        while True:
            answer = self.read(60)
            if answer is None:
                raise RuntimeError(f"chromium does not answer {method}")
            if answer.get("id") == self.number:
                if "error" in answer:
                    raise RuntimeError(f"chromium: {method}: {answer['error']}")
                return answer["result"]
            self.events.append(answer)

    def show(self, page: pathlib.Path) -> None:
        """Loads a file and hears what follows for a second."""
        self.events.clear()
        self.call("Page.navigate", url=page.resolve().as_uri())
        end = time.monotonic() + 30
        while not any(event["method"] == "Page.loadEventFired" for event in self.events):
            event = self.read(max(0.0, end - time.monotonic()))
            if event is None:
                raise RuntimeError(f"{page} is not loaded after 30 s")
            self.events.append(event)
        while (event := self.read(1)) is not None:
            self.events.append(event)

    def value(self, script: str):
        return self.call("Runtime.evaluate", expression=script, returnByValue=True)["result"].get("value")

    def complaints(self) -> list[str]:
        """What the console showed, and exceptions."""
        methods = ("Log.entryAdded", "Runtime.consoleAPICalled", "Runtime.exceptionThrown")
        return [json.dumps(event["params"])[:300] for event in self.events if event["method"] in methods]

    def requests(self) -> list[str]:
        """Addresses the page asked for."""
        return [
            event["params"]["request"]["url"]
            for event in self.events
            if event["method"] == "Network.requestWillBeSent"
        ]

    def screenshot(self, path: pathlib.Path) -> None:
        image = self.call("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        path.write_bytes(base64.b64decode(image["data"]))

    def close(self) -> None:
        self.process.kill()
        self.process.wait()
        os.close(self.write_end)
        os.close(self.read_end)
