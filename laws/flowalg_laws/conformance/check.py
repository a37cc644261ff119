"""The conformance suite: tests whether an interpreter emits the right results and rejects what it does not support."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import field, frozen

from flowalg import Interpreter, Outputs, Run, load_interpreter
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import AREA_OF, AnyFeature, describe_feature
from flowalg.data.errors import ArgumentError
from flowalg.errors import UnsupportedError
from flowalg_laws.conformance.generated import check_generated
from flowalg_laws.conformance.jobs import JOBS
from flowalg_laws.conformance.jobs.job import Job
from flowalg_laws.conformance.judges import Engine, failures_of_job
from flowalg_laws.kit.interpreters import with_dead_letters, with_late_data


@frozen
class Report:
    """The outcome of each job: it passed, was rejected as declared, or failed, with the reasons.

    ``unexercised`` are the features that are declared missing but that no job uses. ``generated`` is the number of
    generated pipelines that ran.
    """

    interpreter: str
    ran: tuple[str, ...]
    rejected: Mapping[str, tuple[AnyFeature, ...]]
    failed: Mapping[str, str]
    unexercised: tuple[AnyFeature, ...] = ()
    generated: int = field(default=0)

    @property
    def passed(self) -> bool:
        """Whether no job failed and no declaration is unexercised."""
        return not self.failed and not self.unexercised

    def __str__(self) -> str:
        lines = [
            f"{self.interpreter}: {len(self.ran)} jobs ran, {len(self.rejected)} were rejected as declared, "
            f"{len(self.failed)} failed; {self.generated} generated pipelines ran"
        ]
        lines += [f"{name}: {_indent(reason)}" for name, reason in self.failed.items()]
        lines += [
            f"{describe_feature(feature)} is declared missing, but no job uses it"
            for feature in self.unexercised
        ]
        return "\n".join(lines)


def examine_interpreter(
    interpreter: Interpreter | str,
    *,
    ordered: bool = False,
    drops: bool = True,
    late_data: bool = False,
    jobs: Sequence[Job] = JOBS,
    generated: int = 0,
    at_once: int = 1,
) -> Report:
    """Returns the report of ``check_interpreter``, whether the interpreter passes or not."""
    if isinstance(interpreter, str):
        interpreter = load_interpreter(interpreter)
    capabilities = getattr(interpreter, "capabilities", None)
    if not isinstance(capabilities, Capabilities):
        valid = "an Interpreter, a value with capabilities and run(...), or the name of an installed one"
        raise ArgumentError("interpreter", interpreter, valid)
    for name, count, least in (("generated", generated, 0), ("at_once", at_once, 1)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise ArgumentError(name, count, f"an int of {('zero', 'one')[least]} or more")
    if late_data:
        interpreter = with_late_data(interpreter)
    engine = Engine(capabilities, ordered=ordered, drops=drops, late_data=late_data)
    ran: list[str] = []
    rejected: dict[str, tuple[AnyFeature, ...]] = {}
    failed: dict[str, str] = {}
    missing = [capabilities.lacking(job.features) for job in jobs]
    with ThreadPoolExecutor(at_once) as pool:
        outcomes = pool.map(
            lambda job, lacking: _job_failure(interpreter, job, lacking, engine), jobs, missing
        )
    for job, lacking, outcome in zip(jobs, missing, outcomes, strict=True):
        if outcome:
            failed[job.name] = outcome
        elif lacking:
            rejected[job.name] = tuple(lacking)
        else:
            ran.append(job.name)
    used = {feature for job in jobs for feature in job.features}
    unexercised = tuple(
        feature for feature in AREA_OF if feature in capabilities.missing and feature not in used
    )
    if generated:
        failure = check_generated(interpreter, engine, generated)
        if failure:
            failed["a generated pipeline"] = failure
    return Report(capabilities.interpreter, tuple(ran), rejected, failed, unexercised, generated)


def check_interpreter(
    interpreter: Interpreter | str,
    *,
    ordered: bool = False,
    drops: bool = True,
    late_data: bool = False,
    jobs: Sequence[Job] = JOBS,
    generated: int = 0,
    at_once: int = 1,
) -> Report:
    """Tests an interpreter against the semantics and its own declared capabilities, over all jobs of the suite.

    A text is the name of an installed interpreter, as ``flowalg.load_interpreter`` takes it.

    A job that uses only supported features must emit the panes or elements, and the drops, of the reference
    interpreter over the same timelines, and those of its transcript. Its final result must be that of its oracle; if
    streaming is declared missing, the job runs as a batch. Any other job must raise ``UnsupportedError``: a stale
    declaration fails, and so does one that no job uses. For jobs with dead letters, the suite sets the interpreter's
    field ``dead_letters``.

    With ``ordered`` the panes must be in the order of SEMANTICS section 7; without it their order does not matter.
    With ``drops=False`` drops are not compared, for an interpreter that does not report them. With ``late_data`` the
    suite sets the interpreter's field ``late_data``, and each dropped element must equal that of the reference in all
    of its fields. ``generated`` is the number of supported generated pipelines to test as well. With ``at_once`` above
    1, this number of jobs runs concurrently in threads, for engines that wait for input and output.

    Raises ``AssertionError`` with the report unless all tests pass.

    Example:

    >>> from flowalg_laws import check_interpreter
    >>> from flowalg_laws.conformance import JOBS
    >>> print(check_interpreter(reference.Reference(), jobs=JOBS[:2]))
    reference: 2 jobs ran, 0 were rejected as declared, 0 failed; 0 generated pipelines ran
    """
    report = examine_interpreter(
        interpreter,
        ordered=ordered,
        drops=drops,
        late_data=late_data,
        jobs=jobs,
        generated=generated,
        at_once=at_once,
    )
    if not report.passed:
        raise AssertionError(str(report))
    return report


def _job_failure(
    interpreter: Interpreter, job: Job, lacking: Mapping[AnyFeature, str], engine: Engine
) -> str:
    """Returns the failures of a job as text, or an empty string."""
    uses = ", ".join(f"{describe_feature(feature)} ({reason})" for feature, reason in lacking.items())
    try:
        run: Run[object] | Outputs
        running = with_dead_letters(interpreter) if job.dead_letters else interpreter
        if job.others:
            run = running.run(job.outputs, job.replay.timelines)
        else:
            run = running.run(job.pipeline, job.replay.timelines)
    except UnsupportedError as rejection:
        return "" if lacking else f"was rejected, but all features that it uses are supported: {rejection}"
    except Exception as error:
        raised = f"raised {type(error).__name__}: {error}"
        return f"uses {uses}, so it must raise UnsupportedError, but it {raised}" if lacking else raised
    if lacking:
        return f"ran, but uses features that are declared missing: {uses}; the declaration is stale"
    return "\n".join(failures_of_job(job, run, engine))


def _indent(text: str) -> str:
    return text.replace("\n", "\n  ")
