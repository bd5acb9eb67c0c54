from __future__ import annotations

import importlib.util
import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

DEMO = Path(__file__).resolve().parents[2] / "examples" / "demo.py"


@pytest.mark.slow
def test_the_demo_ends_with_a_verdict_although_its_port_is_taken(tmp_path):
    with socket.socket() as taken:
        taken.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            taken.bind(("127.0.0.1", 8321))
            taken.listen()
        except OSError:
            pass  # somebody else has it, which is the case to test
        bundle = tmp_path / "bundle.zip"
        command = [
            sys.executable,
            str(DEMO),
            "--once",
            "--data",
            str(tmp_path / "data"),
            "--bundle",
            str(bundle),
        ]
        scratch = tmp_path / "tmp"
        scratch.mkdir()
        environment = {**os.environ, "TMPDIR": str(scratch)}
        done = subprocess.run(command, capture_output=True, text=True, timeout=240, env=environment)
    assert done.returncode == 0, done.stdout + done.stderr
    assert ":8321" not in done.stdout.split("\n", 1)[0]
    assert "13736 of 13736 results are in" in done.stdout
    assert "The job asks for the verdict: 403 forbidden" in done.stdout
    assert re.search(r"^H1a: char_ngrams did not beat words", done.stdout, re.MULTILINE)
    assert re.search(r"^H1b: ", done.stdout, re.MULTILINE)
    assert "\r" not in done.stdout
    assert re.search(r"pass  recomputed: judged again from the rows", done.stdout)
    checked = [sys.executable, "-m", "forelock.cli", "verify", str(bundle), "--json"]
    kept = ["--checkpoint", f"{bundle}.checkpoint"]
    assert subprocess.run([*checked, *kept], capture_output=True, timeout=120).returncode in (10, 12)
    assert not list(scratch.iterdir()), "files are left in the place for temporary ones"


@pytest.mark.slow
def test_the_demo_keeps_serving_until_it_is_interrupted(tmp_path):
    process = subprocess.Popen(
        [sys.executable, str(DEMO)], stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True
    )
    try:
        said = []
        for line in process.stdout:
            said.append(line)
            if "keeps running" in line:
                break
        text = "".join(said)
        page = re.search(r"^The page: (\S+)$", text, re.MULTILINE)[1]
        key = Path(re.search(r"the first one is in (\S+)", text)[1])
        with httpx.Client(follow_redirects=True) as browser:
            form = {"key": key.read_text(), "next": httpx.URL(page).path}
            shown = browser.post(str(httpx.URL(page).join("/login")), data=form)
        assert str(shown.url) == page
        assert "Not supported" in shown.text
        readme = DEMO.parents[1] / "README.md"
        (pictured,) = re.findall(r"!\[([^\]]+)\]\(docs/pictures/verdict\.png\)", readme.read_text("utf-8"))
        assert pictured in re.sub(r"<[^>]+>", "", shown.text), "draw the picture again: ./do picture"
        process.send_signal(signal.SIGINT)
        assert process.stdout.read().strip().endswith("Stopped.")
        assert process.wait(60) == 0
    finally:
        process.kill()
        process.wait()
        process.stdout.close()
    assert not key.exists()
    with pytest.raises(httpx.ConnectError):
        httpx.get(page)


def test_a_long_computation_is_said_once(capsys):
    specification = importlib.util.spec_from_file_location("demo", DEMO)
    demo = importlib.util.module_from_spec(specification)
    specification.loader.exec_module(demo)
    times = iter([0.0, 1.0, 25.0])
    wait = demo.patience(lambda: next(times))
    wait("verdict", None)
    assert not capsys.readouterr().out
    for _ in range(3):
        wait("verdict", None)
    assert capsys.readouterr().out.count("Still computing") == 1
