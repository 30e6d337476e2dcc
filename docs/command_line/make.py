"""Writes docs/command_line.md: every command of the template is run, and what it prints goes to the page.

    FRUGALFOREST_DATA=folder python docs/command_line/make.py [--keep folder] [--picture]

Needs heart_cleveland in the folder, and pexpect for the talk in a terminal. `--keep` leaves the files that the commands
write in a folder, instead of a temporary one. `--picture` also draws docs/images/report.png, the upper part of the
report, with chromium and selenium.
"""

from __future__ import annotations

import argparse
import csv
import os
import re
import resource
import shutil
import subprocess
import sys
import tempfile
from pathlib import Path

import pexpect

HERE = Path(__file__).parent
PAGE = HERE.parent / "command_line.md"
MEASURED = HERE.parents[1] / "benchmarks" / "results" / "predict_file.csv"
COMMAND = re.compile(r"^```console\n\$ (frugalforest .*?)\n(?:> (.*?)\n)?```$", re.MULTILINE)
CODE = "from frugalforest.cli import main; main()"
WIDTH = 96


def environment() -> dict[str, str]:
    """The same for everyone who makes the page."""
    return {**os.environ, "COLUMNS": str(WIDTH), "PYTHONPATH": os.pathsep.join(filter(None, sys.path)), "TERM": "dumb"}


def run(command: str, folder: Path) -> str:
    """What a command prints."""
    arguments = command.replace("\\\n", " ").split()[1:]
    result = subprocess.run(
        [sys.executable, "-c", CODE, *arguments],
        cwd=folder,
        env=environment(),
        text=True,
        check=False,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    if result.returncode not in (0, 2):  # 2: a mistake that the page shows on purpose
        raise RuntimeError(f"{command} ended with {result.returncode}: {result.stdout}")
    return result.stdout


def talk(command: str, values: dict[str, str], folder: Path) -> str:
    """What stands in a terminal after a talk: `values` says what is typed when a feature is asked for."""
    arguments = ["-c", CODE, *command.split()[1:]]
    terminal = pexpect.spawn(
        sys.executable,
        arguments,
        cwd=str(folder),
        env=environment(),
        encoding="utf-8",
        timeout=120,
        dimensions=(60, WIDTH),
    )
    shown = ""
    while terminal.expect([r"(\w+) \([\d.,]+\): ", pexpect.EOF]) == 0:
        shown += terminal.before + terminal.after
        terminal.sendline(values[terminal.match[1]])
    return (shown + terminal.before).replace("\r\n", "\n")


def fill(match: re.Match[str], folder: Path) -> str:
    """A block of the template with what its command prints."""
    command, typed = match.groups()
    if typed is None:
        printed = run(command, folder)
    else:
        printed = talk(command, dict(pair.split("=") for pair in typed.split()), folder)
    lines = "\n".join(line.rstrip() for line in printed.strip("\n").splitlines())
    return f"```console\n$ {command}\n{lines}\n```"


def make(folder: Path) -> str:
    """The page, with what the commands print now."""
    template = (HERE / "template.md").read_text(encoding="utf-8")
    template = template.replace("PREDICT_ROWS", predict_rows()).replace("HELP_SECONDS", f"{help_seconds():.2f}")
    return COMMAND.sub(lambda match: fill(match, folder), template)


def predict_rows() -> str:
    """What benchmarks/speed/predict_file.py has measured, as lines of a table; the last of each file counts."""
    with MEASURED.open(newline="") as file:
        rows = {(row["format"], int(row["n_rows"])): row for row in csv.DictReader(file)}
    return "\n".join(
        f"| {kind}, {float(row['file_mb']):,.0f} MB | {n:,} | {int(row['rows_per_second']):,} | {row['peak_mb']} MB |"
        for (kind, n), row in rows.items()
    )


def help_seconds(repeats: int = 7) -> float:
    """Processor time of `frugalforest --help`: that of the quickest of several."""
    times = []
    for _ in range(repeats):
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        subprocess.run([sys.executable, "-c", CODE, "--help"], env=environment(), check=True, stdout=subprocess.DEVNULL)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        times.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    return min(times)


def take_picture(page: Path, picture: Path, width: int = 820, height: int = 1680) -> None:
    """The upper part of a page, as a browser shows it."""
    from selenium import webdriver

    options = webdriver.ChromeOptions()
    for argument in ("--headless=new", "--no-sandbox", "--disable-gpu", "--hide-scrollbars"):
        options.add_argument(argument)
    browser = webdriver.Chrome(options=options, service=webdriver.ChromeService(shutil.which("chromedriver")))
    size = {"width": width, "height": height, "deviceScaleFactor": 1.25, "mobile": False}
    browser.execute_cdp_cmd("Emulation.setDeviceMetricsOverride", size)
    browser.get(page.as_uri())
    browser.save_screenshot(str(picture))
    browser.quit()


def main() -> None:
    """Write the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--keep", type=Path)
    parser.add_argument("--picture", action="store_true")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.keep or Path(temporary)
        folder.mkdir(exist_ok=True)
        PAGE.write_text(make(folder), encoding="utf-8")
        if options.picture:
            take_picture(folder.resolve() / "heart.html", HERE.parent / "images" / "report.png")


if __name__ == "__main__":
    main()
