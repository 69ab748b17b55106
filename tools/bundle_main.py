"""Runs numascope out of one file: unpacks itself once into the user's cache, then starts from there.

This file is the `__main__.py` of the bundle. It has to compile on every Python 3, to tell old ones what is wanted.
"""
# ruff: noqa: ANN001, ANN201, D103, INP001, UP031 - a script; annotations and f-strings are not for every Python 3

import contextlib
import os
import shutil
import stat
import sys
import tempfile
import zipfile

NAME = "@NAME@"
ARCHITECTURE = "@ARCHITECTURE@"
TAGS = "@TAGS@".split()  # noqa: SIM905 - the bundler fills it in


def main():
    tag = "cp%d%d" % sys.version_info[:2]
    if sys.version_info < (3, 11) or tag not in TAGS:
        found = "%d.%d" % sys.version_info[:2]
        wanted = ", ".join("3." + one[3:] for one in TAGS)
        fail("needs one of Python " + wanted + ", this is " + found + ": run `python3.11 " + sys.argv[0] + "`")
    if os.uname().machine != ARCHITECTURE:
        fail("is for " + ARCHITECTURE + ", this machine is " + os.uname().machine + ": make the bundle for it")
    if "CS_GNU_LIBC_VERSION" not in os.confstr_names or not os.confstr("CS_GNU_LIBC_VERSION"):
        fail("is for Linux with glibc: on this machine install numascope with pip")
    with contextlib.ExitStack() as at_end:
        home = unpacked(at_end)
        sys.path[0:1] = [os.path.join(home, "common"), os.path.join(home, tag)]
        from numascope.cli import main as run  # noqa: PLC0415

        run()


def unpacked(at_end):
    """The directory that the bundle is unpacked in: kept in the cache; of this run only, where the cache cannot be used."""
    bundle = os.path.dirname(os.path.abspath(__file__))
    before = os.umask(0o077)
    try:
        home = kept(bundle)
        if home is None:
            home = at_end.enter_context(tempfile.TemporaryDirectory(prefix="numascope-"))
            unpack_into(bundle, home)
    finally:
        os.umask(before)
    return home


def kept(bundle):
    """The directory in the user's cache; None where it cannot be written, or where others could write to it."""
    cache = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    root = os.path.join(cache, "numascope")
    home = os.path.join(root, NAME)
    try:
        os.makedirs(root, mode=0o700, exist_ok=True)
        if is_ours(root) and not os.path.isdir(home):
            unpack(bundle, root, home)
        return home if is_ours(root) and is_ours(home) else None
    except OSError:
        return None


def unpack(bundle, root, home):
    """Unpacks beside the place and renames: nobody ever sees half of it, and of two at once the first wins."""
    new = tempfile.mkdtemp(prefix=".new-", dir=root)
    try:
        unpack_into(bundle, new)
        os.rename(new, home)
    except OSError:
        if not os.path.isdir(home):
            raise
    finally:
        shutil.rmtree(new, ignore_errors=True)


def unpack_into(bundle, directory):
    with zipfile.ZipFile(bundle) as packed:
        packed.extractall(directory, [name for name in packed.namelist() if name != "__main__.py"])


def is_ours(directory):
    """Whether the directory is a real one, belongs to this user, and nobody else can write to it."""
    found = os.lstat(directory)
    return stat.S_ISDIR(found.st_mode) and found.st_uid == os.geteuid() and not found.st_mode & 0o022


def fail(problem):
    sys.stderr.write("numascope: this file " + problem + "\n")
    raise SystemExit(2)


if __name__ == "__main__":
    main()
