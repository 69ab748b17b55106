"""Makes dist/numascope-VERSION-linux-ARCHITECTURE.pyz: numascope and all that it needs, in one file for a host without internet.

A compiled extension cannot be imported from a zip, and msgspec has one for each Python: the file carries all of them and unpacks
itself at its first run (bundle_main.py). Standard library and pip only; the wheels come from the package index that pip knows.
"""
# ruff: noqa: INP001, S603, T201 - a script that runs pip and says what it did

from __future__ import annotations

import argparse
import hashlib
import re
import subprocess
import sys
import tempfile
import tomllib
import zipfile
from pathlib import Path
from typing import Final

REPOSITORY: Final = Path(__file__).resolve().parent.parent
PYTHONS: Final = ("3.11", "3.12", "3.13", "3.14")
GLIBC: Final = ("2_28", "2_17", "2_12", "2_5")
SHEBANG: Final = b"#!/usr/bin/env python3\n"
EPOCH: Final = (1980, 1, 1, 0, 0, 0)

Files = dict[str, bytes]


def main() -> None:
    """`tools/bundle.py [x86_64|aarch64]`; prints the path of what it made."""
    parser = argparse.ArgumentParser(description="one file that runs numascope on a host without internet")
    parser.add_argument("architecture", nargs="?", default="x86_64", choices=["x86_64", "aarch64"])
    architecture = parser.parse_args().architecture
    with tempfile.TemporaryDirectory(prefix="numascope-bundle-") as scratch:
        own = wheel_of_numascope(Path(scratch) / "own")
        needed = {python: wheels_for(python, architecture, Path(scratch) / python) for python in PYTHONS}
        files = contents(own, needed)
    version = own.name.split("-")[1]
    made = REPOSITORY / "dist" / f"numascope-{version}-linux-{architecture}.pyz"
    made.parent.mkdir(exist_ok=True)
    write(made, files, version, architecture)
    print(f"{made.relative_to(REPOSITORY)}: {made.stat().st_size / 2**20:.1f} MiB, for Python {', '.join(PYTHONS)}")


def pip(*arguments: str) -> None:
    """Runs pip quietly; an error of its goes to the terminal."""
    command = [sys.executable, "-m", "pip", "-qq", "--disable-pip-version-check", *arguments]
    if subprocess.run(command, check=False).returncode:
        raise SystemExit("tools/bundle.py: pip failed; it needs a Python package index (PyPI or a mirror of it)")


def wheel_of_numascope(directory: Path) -> Path:
    """The wheel of this checkout."""
    pip("wheel", "--no-deps", "--wheel-dir", str(directory), str(REPOSITORY))
    return next(directory.glob("numascope-*.whl"))


def wheels_for(python: str, architecture: str, directory: Path) -> dict[str, Path]:
    """File name → wheel of all that numascope needs at run time on that Python."""
    project = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    platforms = [f"--platform=manylinux_{glibc}_{architecture}" for glibc in GLIBC]
    platforms.append(f"--platform=manylinux2014_{architecture}")
    where = ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", *platforms]
    pip("download", *where, "--dest", str(directory), *project["dependencies"])
    return {wheel.name: wheel for wheel in sorted(directory.glob("*.whl"))}


def contents(own: Path, needed: dict[str, dict[str, Path]]) -> Files:
    """Path in the bundle → bytes: `common/` for every Python, `cp311/` … for what only one of them takes."""
    everywhere = set.intersection(*(set(wheels) for wheels in needed.values()))
    some = next(iter(needed.values()))
    files = unpacked(own, "common") | unpacked_all([some[name] for name in everywhere], "common")
    for python, wheels in needed.items():
        folder = "cp" + python.replace(".", "")
        files |= unpacked_all([wheel for name, wheel in wheels.items() if name not in everywhere], folder)
    return files


def unpacked_all(wheels: list[Path], folder: str) -> Files:
    """The files of several wheels below one folder."""
    files: Files = {}
    for wheel in wheels:
        files |= unpacked(wheel, folder)
    return files


def unpacked(wheel: Path, folder: str) -> Files:
    """The files of one wheel; what pip would install elsewhere (`*.data`) has no place in a bundle."""
    with zipfile.ZipFile(wheel) as packed:
        names = [name for name in packed.namelist() if not name.endswith("/") and ".data/" not in name]
        return {f"{folder}/{name}": packed.read(name) for name in names}


def write(made: Path, files: Files, version: str, architecture: str) -> None:
    """Writes the bundle: the same files give the same bytes, and the name that it unpacks under holds their hash."""
    digest = hashlib.sha256()
    for name in sorted(files):
        digest.update(f"{name}\0{len(files[name])}\0".encode() + files[name])
    filled = {
        "NAME": f"{version}-{digest.hexdigest()[:16]}",
        "ARCHITECTURE": architecture,
        "TAGS": " ".join("cp" + python.replace(".", "") for python in PYTHONS),
    }
    template = (REPOSITORY / "tools" / "bundle_main.py").read_text(encoding="utf-8")
    starter = re.sub(r"@([A-Z]+)@", lambda found: filled[found[1]], template)
    unfinished = made.with_suffix(".new")
    with unfinished.open("wb") as out:
        out.write(SHEBANG)
        with zipfile.ZipFile(out, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as packed:
            for name, data in [("__main__.py", starter.encode()), *sorted(files.items())]:
                entry = zipfile.ZipInfo(name, EPOCH)
                entry.external_attr = 0o644 << 16
                packed.writestr(entry, data, zipfile.ZIP_DEFLATED)
    unfinished.chmod(0o755)
    unfinished.replace(made)


if __name__ == "__main__":
    main()
