"""The set-up uses the machine's Java, or installs one, or says in one line what to install."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

SCRIPT: Final = Path(__file__).resolve().parents[2] / "tools" / "flowalg_development" / "java.py"
OLD: Final = 'openjdk version "11.0.26" 2025-01-21'
GOOD: Final = 'openjdk version "17.0.15" 2025-04-15'


class Machine:
    """A machine whose programs are only those a test puts there, and which reaches no network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        # They hide the real downloader and the real pip, which would reach for the network.
        self.write("modules/pip.py", "raise SystemExit('ERROR: no network')")
        self.write("modules/jdk.py", "raise ImportError('jdk')")
        self.program("env", 'shift\nexec "$@"')

    def write(self, name: str, text: str) -> Path:
        """Write a file under the machine's root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        return path

    def program(self, name: str, body: str, folder: str = "bin") -> None:
        """Install a shell script; it may use the shell's own commands only."""
        self.write(f"{folder}/{name}", f"#!/bin/sh\n{body}").chmod(0o755)

    def java(self, banner: str, folder: str = "bin") -> None:
        """Install a Java that introduces itself with the banner, on stderr as a Java does."""
        self.program("java", f"echo '{banner}' >&2", folder)

    def apt_get(self, package: str) -> None:
        """Install a package manager that has one package, which replaces the PATH's Java by a good one.

        It logs its calls, and sudo permits them to a user who is not root.
        """
        java = self.bin / "java"
        self.program(
            "apt-get",
            f"""echo "$*" >> '{self.root}/apt.log'
            echo 'Reading package lists...'
            case "$*" in
                *update) ;;
                *" {package}") printf '%s\\n' '#!/bin/sh' 'echo openjdk 21 2023-09-19 >&2' > '{java}' ;;
                *) exit 100 ;;
            esac""",
        )
        self.program("sudo", '[ "$1" = -n ] || exit 1\nshift\n[ "$1" = true ] || exec "$@"')

    def apt_calls(self) -> list[str]:
        """Return what the package manager was asked to do, without options."""
        log = self.root / "apt.log"
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [re.sub(r"-o \S+ |-\S+ ", "", call) for call in calls]

    def set_up(self, java_home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Run the script on this machine."""
        environment = {"PATH": str(self.bin), "PYTHONPATH": str(self.root / "modules")}
        if java_home is not None:
            environment["JAVA_HOME"] = str(java_home)
        places = ["--private", str(self.root / ".java"), "--system", str(self.root / "jvm")]
        return subprocess.run(
            [sys.executable, str(SCRIPT), *places],
            env=environment,
            capture_output=True,
            text=True,
            check=False,
        )


@pytest.fixture
def machine(tmp_path: Path) -> Machine:
    """A machine without Java, without a package manager and without a network."""
    return Machine(tmp_path)


@pytest.mark.parametrize(
    "banner",
    [
        GOOD,
        'java version "17" 2021-09-14 LTS',
        'openjdk version "22-ea" 2024-03-19',
        "openjdk 21 2023-09-19",
        f"Picked up JAVA_TOOL_OPTIONS: -Xmx1g\n{GOOD}",
    ],
)
def test_good_java_on_the_path_is_used(machine: Machine, banner: str) -> None:
    """A Java 17 or newer on the PATH is used as it is, however it prints its version, and nothing is said."""
    machine.java(banner)
    machine.apt_get("openjdk-17-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout, result.stderr) == (0, "\n", "")
    assert machine.apt_calls() == []


@pytest.mark.parametrize(
    "banner",
    [
        OLD,
        'java version "1.8.0_402"',
        "openjdk 16 2021-03-16",
        f"OpenJDK 64-Bit Server VM warning: an option was ignored\n{OLD}",
        "no version at all",
    ],
)
def test_old_java_is_rejected_and_a_package_installed(machine: Machine, banner: str) -> None:
    """A Java older than 17 does not count: the package lists are updated and Debian's package installed."""
    machine.java(banner)
    machine.apt_get("openjdk-17-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, "\n")
    assert machine.apt_calls() == ["update", "install openjdk-17-jre-headless"]


def test_next_package_where_a_release_lacks_the_first(machine: Machine) -> None:
    """Where there is no package of Java 17, one of a later Java is installed."""
    machine.java(OLD)
    machine.apt_get("openjdk-21-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, "\n")
    assert machine.apt_calls()[1:] == ["install openjdk-17-jre-headless", "install openjdk-21-jre-headless"]


def test_installed_java_behind_an_old_one_is_used(machine: Machine) -> None:
    """An installed Java that the PATH's older one hides is used through JAVA_HOME, without installing any."""
    machine.java(OLD)
    machine.java(OLD, "jvm/java-11/bin")
    machine.java('openjdk version "25.0.1"', "jvm/java-25/bin")
    machine.java(GOOD, "jvm/java-17/bin")
    machine.apt_get("openjdk-17-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, f"{machine.root}/jvm/java-17\n")
    assert machine.apt_calls() == []


def test_good_java_home_comes_first(machine: Machine) -> None:
    """A JAVA_HOME of a Java 17 or newer is kept, whatever is on the PATH."""
    machine.java(GOOD)
    machine.java('openjdk version "21.0.7"', "mine/bin")
    result = machine.set_up(machine.root / "mine")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{machine.root}/mine\n", "")


@pytest.mark.parametrize("folder", ["mine/bin", "elsewhere/bin"])
def test_unusable_java_home_is_not_passed_on(machine: Machine, folder: str) -> None:
    """A JAVA_HOME that is too old or holds no Java gives way to the PATH's Java, and the user is told."""
    machine.java(GOOD)
    machine.java(OLD, folder)
    result = machine.set_up(machine.root / "mine")
    assert (result.returncode, result.stdout) == (0, "\n")
    assert f"JAVA_HOME={machine.root}/mine is no Java 17" in result.stderr


def test_runtime_is_fetched_where_no_package_can_be_installed(machine: Machine) -> None:
    """Without a package manager a runtime comes into the project's own folder, once."""
    machine.java(GOOD, "archive/bin")
    machine.write(
        "modules/jdk.py",
        f"""
import shutil
def install(version: str, *, jre: bool, path: str) -> None:
    assert (version, jre) == ("17", True)
    shutil.copytree({str(machine.root / "archive")!r}, path + "/jdk-17-jre")
""",
    )
    first, second = machine.set_up(), machine.set_up()
    assert (first.returncode, first.stdout) == (0, f"{machine.root}/.java/jdk-17-jre\n")
    assert (second.returncode, second.stdout, second.stderr) == (0, first.stdout, "")


@pytest.mark.parametrize(
    "downloader",
    ["raise ImportError('jdk')", "def install(*_: str, **__: object) -> None: raise OSError('unreachable')"],
)
@pytest.mark.parametrize("has_apt_get", [False, True])
def test_where_nothing_is_possible_one_line_says_what_to_install(
    machine: Machine, downloader: str, has_apt_get: bool
) -> None:
    """Where no Java can be had, the last line names what to install, no traceback is seen, and it fails."""
    machine.java(OLD)
    machine.write("modules/jdk.py", downloader)
    if has_apt_get:
        machine.apt_get("another-package")
    result = machine.set_up()
    last = result.stderr.splitlines()[-1]
    assert result.returncode != 0
    assert result.stdout == ""
    assert "Spark needs Java 17 or newer: install openjdk-17-jre-headless" in last
    assert "Traceback" not in result.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs nobody's permission")
def test_package_is_not_tried_without_permission(machine: Machine) -> None:
    """Where neither root nor sudo without a password is to be had, the package manager is left alone."""
    machine.apt_get("openjdk-17-jre-headless")
    machine.program("sudo", "exit 1")
    result = machine.set_up()
    assert result.returncode != 0
    assert machine.apt_calls() == []
    assert "apt-get needs root" in result.stderr.splitlines()[-1]
