"""Notes of lifted steps with the SQL of what they compute, which ``explain`` shows."""

from __future__ import annotations

from attrs import field, frozen
from flowalg_columns.layout import flatten_columns, layout_of
from flowalg_columns.notes import LiftingNote

from flowalg.elementwise.steps import Filter, FlatMap, Map
from flowalg.lifting.analysis import StepAnalysis
from flowalg.lifting.comprehensions import as_comprehension
from flowalg_spark.encoding import sql
from flowalg_spark.encoding.columns import columns_of
from flowalg_spark.expressions import compile_expression, compile_scalar


@frozen
class LiftedNote(LiftingNote):
    """The note of a lifted step."""

    analysis: StepAnalysis = field(eq=False, kw_only=True)

    @property
    def sql(self) -> str:
        """What the step computes of the columns of an element."""
        before, expression, after = self.analysis.before, self.analysis.expression, self.analysis.after
        assert before is not None, "the elements of a lifted step have columns"
        element = columns_of(layout_of(before))
        match self.analysis.step:
            case Filter():
                return f"WHERE {compile_scalar(expression, element)}"
            case Map() if after is not None:
                columns = flatten_columns(compile_expression(expression, element), after)
                return f"SELECT {', '.join(map(str, columns))}"
            case FlatMap():
                items = compile_scalar(as_comprehension(expression).of, element)
                return f"SELECT {sql.explode(items)}"
            case _:
                return f"SELECT {compile_scalar(expression, element).alias('event_time')}"


def note_lifted(analysis: StepAnalysis) -> LiftingNote:
    """Returns the note of a lifted step."""
    return LiftedNote(analysis.step.label, None, None, analysis=analysis)
