"""The conformance suite: whether an interpreter gives what it must, and refuses what it says that it lacks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor

from attrs import field, frozen

from flowalg import Mode, UnsupportedError
from flowalg.analysis.capabilities import Capabilities
from flowalg.analysis.features import Feature
from flowalg.data.errors import ArgumentError
from flowalg_laws.conformance.generated import check_generated
from flowalg_laws.conformance.jobs import JOBS
from flowalg_laws.conformance.jobs.job import Job
from flowalg_laws.conformance.judges import Engine, faults_of_job
from flowalg_laws.conformance.outcome import Runner


@frozen
class Report:
    """What became of each job: it ran and was right, was refused as declared, or failed, with the reasons.

    ``unexercised`` are declared features that no job uses, so that nothing holds the interpreter to them. ``generated``
    is how many generated pipelines it ran.
    """

    interpreter: str
    ran: tuple[str, ...]
    refused: Mapping[str, tuple[Feature, ...]]
    failed: Mapping[str, str]
    unexercised: tuple[Feature, ...] = ()
    generated: int = field(default=0)

    @property
    def passed(self) -> bool:
        """Whether nothing failed."""
        return not self.failed and not self.unexercised

    def __str__(self) -> str:
        lines = [
            f"{self.interpreter}: {len(self.ran)} jobs ran, {len(self.refused)} were refused as declared, "
            f"{len(self.failed)} failed; {self.generated} generated pipelines ran"
        ]
        lines += [f"{name}: {_indented(why)}" for name, why in self.failed.items()]
        lines += [
            f"{one.name} is declared missing, and no job uses it: {one.words}" for one in self.unexercised
        ]
        return "\n".join(lines)


def examine_interpreter(
    run: Runner,
    capabilities: Capabilities,
    *,
    mode: Mode = Mode.MICRO_BATCH,
    ordered: bool = False,
    jobs: Sequence[Job] = JOBS,
    generated: int = 0,
    at_once: int = 1,
) -> Report:
    """What ``check_interpreter`` finds, as a report, whether it passes or not."""
    if not isinstance(capabilities, Capabilities):
        raise ArgumentError("capabilities", capabilities, "the Capabilities that the interpreter publishes")
    for name, count, least in (("generated", generated, 0), ("at_once", at_once, 1)):
        if isinstance(count, bool) or not isinstance(count, int) or count < least:
            raise ArgumentError(name, count, f"an int of {('zero', 'one')[least]} or more")
    engine = Engine(capabilities.streams, mode, ordered)
    ran: list[str] = []
    refused: dict[str, tuple[Feature, ...]] = {}
    failed: dict[str, str] = {}
    missing = [capabilities.lacking(job.features) for job in jobs]
    with ThreadPoolExecutor(at_once) as pool:
        outcomes = pool.map(lambda job, lacking: _found(run, job, lacking, engine), jobs, missing)
    for job, lacking, found in zip(jobs, missing, outcomes, strict=True):
        if found:
            failed[job.name] = found
        elif lacking:
            refused[job.name] = tuple(lacking)
        else:
            ran.append(job.name)
    used = {feature for job in jobs for feature in job.features}
    unexercised = tuple(one for one in Feature if one in capabilities.missing and one not in used)
    if generated:
        wrong = check_generated(run, capabilities, engine, generated)
        if wrong:
            failed["a generated pipeline"] = wrong
    return Report(capabilities.interpreter, tuple(ran), refused, failed, unexercised, generated)


def check_interpreter(
    run: Runner,
    capabilities: Capabilities,
    *,
    mode: Mode = Mode.MICRO_BATCH,
    ordered: bool = False,
    jobs: Sequence[Job] = JOBS,
    generated: int = 0,
    at_once: int = 1,
) -> Report:
    """Hold an interpreter to the semantics and to its own declarations, over every job of the suite.

    A job that uses nothing that ``capabilities`` declares missing must give the panes and drops of the reference over
    the same replay, those of its transcript, and what its oracle says: in the end, or as a batch where streams are
    declared missing. Any other job must raise ``UnsupportedError``: a declaration that is stale fails, and so does one
    that no job exercises. ``mode`` says when the interpreter looks at its clocks, and ``ordered`` that its panes come
    in the order of SEMANTICS section 7. ``generated`` is how many generated pipelines that it supports are tried too.
    With ``at_once`` above 1 so many jobs run at a time, each in a thread, for an engine that has to wait.

    Raises ``AssertionError`` with the report unless everything is right.
    """
    report = examine_interpreter(
        run,
        capabilities,
        mode=mode,
        ordered=ordered,
        jobs=jobs,
        generated=generated,
        at_once=at_once,
    )
    if not report.passed:
        raise AssertionError(str(report))
    return report


def _found(run: Runner, job: Job, lacking: Mapping[Feature, str], engine: Engine) -> str:
    """What is wrong with a job's run, or nothing."""
    uses = ", ".join(f"{one.words} ({reason})" for one, reason in lacking.items())
    try:
        outcome = run(job.pipeline, job.replay)
    except UnsupportedError as refusal:
        return "" if lacking else f"was refused, though nothing that it uses is declared missing: {refusal}"
    except Exception as error:
        raised = f"raised {type(error).__name__}: {error}"
        return f"uses {uses}, and must be refused; it {raised}" if lacking else raised
    if lacking:
        return f"ran, though it uses what is declared missing: {uses}; the declaration is stale"
    return "\n".join(faults_of_job(job, outcome, engine))


def _indented(text: str) -> str:
    return text.replace("\n", "\n  ")


__all__ = ["Report", "check_interpreter", "examine_interpreter"]
