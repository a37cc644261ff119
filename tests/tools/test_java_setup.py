"""The set-up uses the machine's Java, or installs Java, or prints one line that names what to install."""

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import Final

import pytest

SCRIPT: Final = Path(__file__).resolve().parents[2] / "tests" / "components" / "java.py"
OLD: Final = 'openjdk version "11.0.26" 2025-01-21'
GOOD: Final = 'openjdk version "17.0.15" 2025-04-15'


class Machine:
    """A machine that has only the programs that a test installs, and no network."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.bin = root / "bin"
        self.bin.mkdir()
        # They hide the real downloader and the real pip, which would use the network.
        self.write("modules/pip.py", "raise SystemExit('ERROR: no network')")
        self.write("modules/jdk.py", "raise ImportError('jdk')")
        self.program("env", 'shift\nexec "$@"')

    def write(self, name: str, text: str) -> Path:
        """Writes a file under the machine's root."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text + "\n", encoding="utf-8")
        return path

    def program(self, name: str, body: str, folder: str = "bin") -> None:
        """Installs a shell script, which may use only builtins of the shell."""
        self.write(f"{folder}/{name}", f"#!/bin/sh\n{body}").chmod(0o755)

    def java(self, banner: str, folder: str = "bin") -> None:
        """Installs a Java that prints a banner as its version, on stderr like a real one."""
        self.program("java", f"echo '{banner}' >&2", folder)

    def apt_get(self, package: str) -> None:
        """Installs a package manager with one package, which replaces the Java on the PATH by a newer version.

        It logs its calls; a user who is not root can run it with sudo.
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
        """Returns the commands of the package manager, without options."""
        log = self.root / "apt.log"
        calls = log.read_text(encoding="utf-8").splitlines() if log.exists() else []
        return [re.sub(r"-o \S+ |-\S+ ", "", call) for call in calls]

    def set_up(self, java_home: Path | None = None) -> subprocess.CompletedProcess[str]:
        """Runs the script on this machine."""
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
def test_java_17_or_newer_on_the_path_is_used(machine: Machine, banner: str) -> None:
    """Java 17 or newer on the PATH is used without a message, whatever the format of its version."""
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
def test_a_package_is_installed_in_place_of_an_old_java(machine: Machine, banner: str) -> None:
    """If Java is older than 17, the package lists are updated and Debian's package is installed."""
    machine.java(banner)
    machine.apt_get("openjdk-17-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, "\n")
    assert machine.apt_calls() == ["update", "install openjdk-17-jre-headless"]


def test_a_later_java_is_installed_where_java_17_has_no_package(machine: Machine) -> None:
    """If a release has no package of Java 17, the package of a later Java is installed."""
    machine.java(OLD)
    machine.apt_get("openjdk-21-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, "\n")
    assert machine.apt_calls()[1:] == ["install openjdk-17-jre-headless", "install openjdk-21-jre-headless"]


def test_an_installed_java_hidden_by_an_old_one_is_used(machine: Machine) -> None:
    """If an older Java on the PATH hides an installed Java 17, JAVA_HOME is that Java 17, and nothing is installed."""
    machine.java(OLD)
    machine.java(OLD, "jvm/java-11/bin")
    machine.java('openjdk version "25.0.1"', "jvm/java-25/bin")
    machine.java(GOOD, "jvm/java-17/bin")
    machine.apt_get("openjdk-17-jre-headless")
    result = machine.set_up()
    assert (result.returncode, result.stdout) == (0, f"{machine.root}/jvm/java-17\n")
    assert machine.apt_calls() == []


def test_a_usable_java_home_has_precedence(machine: Machine) -> None:
    """A JAVA_HOME of Java 17 or newer is used, whatever Java is on the PATH."""
    machine.java(GOOD)
    machine.java('openjdk version "21.0.7"', "mine/bin")
    result = machine.set_up(machine.root / "mine")
    assert (result.returncode, result.stdout, result.stderr) == (0, f"{machine.root}/mine\n", "")


@pytest.mark.parametrize("folder", ["mine/bin", "elsewhere/bin"])
def test_an_unusable_java_home_is_replaced(machine: Machine, folder: str) -> None:
    """If JAVA_HOME is too old or has no Java, the Java on the PATH is used, and a message names JAVA_HOME."""
    machine.java(GOOD)
    machine.java(OLD, folder)
    result = machine.set_up(machine.root / "mine")
    assert (result.returncode, result.stdout) == (0, "\n")
    assert f"JAVA_HOME={machine.root}/mine is not Java 17" in result.stderr


def test_a_runtime_is_downloaded_where_no_package_can_be_installed(machine: Machine) -> None:
    """Without a package manager a runtime is downloaded to the project's folder, once."""
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
def test_the_last_line_names_what_to_install_if_java_cannot_be_installed(
    machine: Machine, downloader: str, has_apt_get: bool
) -> None:
    """If Java cannot be installed, the set-up fails without a traceback, and its last line names what to install."""
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


@pytest.mark.skipif(os.geteuid() == 0, reason="root needs no permission")
def test_the_package_manager_is_not_called_without_permission(machine: Machine) -> None:
    """A user who is not root and cannot use sudo without a password does not call the package manager."""
    machine.apt_get("openjdk-17-jre-headless")
    machine.program("sudo", "exit 1")
    result = machine.set_up()
    assert result.returncode != 0
    assert machine.apt_calls() == []
    assert "apt-get needs root" in result.stderr.splitlines()[-1]
