"""Finds the Java that Spark needs, or installs it if the machine has none.

Prints the JAVA_HOME to run Spark with. An empty line means that ``java`` on the PATH is usable and that JAVA_HOME must
be unset. Messages go to stderr. Run it with the project's own interpreter, since it may install a downloader there.
"""

import argparse
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

NEEDED = 17
APT_PACKAGES = ("openjdk-17-jre-headless", "openjdk-21-jre-headless", "default-jre-headless")
VERSION = re.compile(
    r"""
      version\ "(?:1\.)?(\d+)               # openjdk version "17.0.15"; "1.8.0_402" is 8
    | ^(?:openjdk|java)\ (?:1\.)?(\d+)\b    # openjdk 21 2023-09-19
    """,
    re.MULTILINE | re.VERBOSE,
)


def print_message(message: str) -> None:
    """Prints a message to the error output, since the standard output is the result."""
    print(f"java: {message}", file=sys.stderr, flush=True)


def run(*command: str | Path) -> subprocess.CompletedProcess[str]:
    """Runs a command and captures its output."""
    return subprocess.run(command, capture_output=True, text=True, errors="replace", check=False)


def run_visibly(*command: str | Path) -> bool:
    """Runs a command with its output on stderr, and returns whether it succeeded."""
    return subprocess.run(command, stdout=sys.stderr, check=False).returncode == 0


def major_version(java: Path) -> int:
    """Returns the major version, such as 17; 0 if the executable does not run."""
    try:
        answer = run(java, "-version")
    except OSError:
        return 0
    if answer.returncode != 0:
        return 0
    match = VERSION.search(answer.stderr + answer.stdout)
    return int(match[1] or match[2]) if match else 0


def usable(java: Path) -> bool:
    """Whether Spark can run on this executable."""
    return major_version(java) >= NEEDED


def find(private: Path, system: Path) -> str | None:
    """Returns the JAVA_HOME to use: empty for the ``java`` of the PATH, or ``None`` if no Java is usable."""
    home = os.environ.get("JAVA_HOME")
    if home and usable(Path(home, "bin", "java")):
        return home
    on_path = shutil.which("java")
    if on_path and usable(Path(on_path)):
        return ""
    # An installed package may be hidden by an older `java` on the PATH.
    # The oldest usable version has been tested with Spark for longest.
    places = ((private, "*/bin/java"), (private, "*/Contents/Home/bin/java"), (system, "*/bin/java"))
    candidates = [java for place, pattern in places for java in place.glob(pattern) if usable(java)]
    return str(min(candidates, key=major_version).parent.parent) if candidates else None


def install_package() -> str | None:
    """Installs Debian's package; returns the reason if that fails."""
    if not shutil.which("apt-get"):
        return "there is no apt-get"
    root: tuple[str, ...] = ()
    if os.geteuid() != 0:
        if not shutil.which("sudo") or run("sudo", "-n", "true").returncode:
            return "apt-get needs root"
        root = ("sudo", "-n")
    print_message(f"no Java {NEEDED} or newer found; installing Debian's package")
    # A machine that has just started may still be upgrading itself and hold the lock.
    apt = (*root, "env", "DEBIAN_FRONTEND=noninteractive", "apt-get", "-q", "-o", "DPkg::Lock::Timeout=300")
    run_visibly(*apt, "update")  # a failure is ignored: old package lists may suffice
    for package in APT_PACKAGES:
        if run_visibly(*apt, "install", "-y", "--no-install-recommends", package):
            return None
    return "apt-get installed no package"


def fetch(private: Path) -> str | None:
    """Downloads a runtime into the project's folder; returns the reason if that fails."""
    print_message(f"no Java {NEEDED} or newer found; downloading a runtime into {private}")
    python = sys.executable
    result = run(python, "-c", "import jdk")
    if result.returncode:
        result = run(python, "-m", "pip", "install", "--quiet", "install-jdk>=1.1,<2")
    if not result.returncode:
        install = "import sys, jdk; jdk.install(sys.argv[1], jre=True, path=sys.argv[2])"
        result = run(python, "-c", install, str(NEEDED), private)
    if not result.returncode:
        return None
    lines = result.stderr.strip().splitlines()
    return f"the download failed ({lines[-1] if lines else 'no reason given'})"


def main() -> None:
    """Prints the JAVA_HOME, or exits with one line that says what to install."""
    project = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument(
        "--private", type=Path, default=project / ".java", help="folder of a downloaded runtime"
    )
    parser.add_argument(
        "--system", type=Path, default=Path("/usr/lib/jvm"), help="folder of packaged runtimes"
    )
    options = parser.parse_args()

    home = find(options.private, options.system)
    reasons: list[str] = []
    for attempt in (install_package, lambda: fetch(options.private)):
        if home is None:
            reason = attempt()
            home = find(options.private, options.system)
            reasons.append(reason or "the installed Java does not run")
    if home is None:
        sys.exit(
            f"java: Spark needs Java {NEEDED} or newer: install {APT_PACKAGES[0]} or set JAVA_HOME; "
            + "the automatic installation failed: "
            + "; ".join(reasons)
        )
    previous_home = os.environ.get("JAVA_HOME")
    if previous_home and previous_home != home:
        print_message(
            f"JAVA_HOME={previous_home} is not Java {NEEDED} or newer; using {home or shutil.which('java')}"
        )
    print(home)


if __name__ == "__main__":
    main()
