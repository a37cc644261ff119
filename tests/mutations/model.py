"""Faults of what a pipeline is made of: windows, triggers' forms, watermarks and combiners."""

from __future__ import annotations

from typing import Final

from tests.mutations.mutant import Area, Mutant

MODEL: Final = (
    Area(
        "windows",
        ("laws", "windows"),
        (
            Mutant(
                "a window contains its end",
                "a window is a half-open interval, so that adjacent windows share no instant",
                "Window.__contains__",
                "self.start <= point < self.end",
                "self.start <= point <= self.end",
            ),
            Mutant(
                "the earliest sliding window is missing",
                "an element is in each of the size / period windows that contain it: `fixed_is_sliding_by_its_size`",
                "SlidingWindows.assign",
                "point - size",
                "point - size + period",
            ),
            Mutant(
                "adjacent sessions do not merge",
                "sessions that touch are one: `merging_is_incremental`, `merging_does_not_depend_on_order`",
                "Sessions.merge",
                "window.start <= end",
                "window.start < end",
            ),
            Mutant(
                "a session inside another session shortens it",
                "`a_merged_window_spans_its_parts`",
                "Sessions.merge",
                "max(end, window.end)",
                "window.end",
            ),
        ),
    ),
    Area(
        "triggers",
        ("laws", "normal_forms", "reference", "signals"),
        (
            Mutant(
                "a merged summary keeps the later of two arrival times",
                "summaries are a monoid: a delay counts from the first element, whichever way they are bundled",
                "TriggerSummary.merge",
                "min(firsts, default=None)",
                "max(firsts, default=None)",
            ),
            Mutant(
                "a merged summary has the maximum of two measures instead of their sum",
                "summaries are a monoid, and `a_measure_is_a_value`",
                "MeasureLeaf.merge_kept",
                "left + right",
                "max(left, right)",
            ),
            Mutant(
                "a repeated sequence with equal ends is simplified to one period",
                "`repeat_of_twice`: only a whole number of periods is one",
                "_repeat",
                "parts == parts[:period] * (len(parts) // period)",
                "parts[:period] == parts[-period:]",
            ),
        ),
    ),
    Area(
        "watermarks",
        ("watermarks", "watermark_examples", "laws"),
        (
            Mutant(
                "the watermark moves back with its candidate",
                "`a_watermark_never_moves_back`",
                "WatermarkPolicy.advance",
                "max(clock.watermark, clamp(candidate))",
                "clamp(candidate)",
            ),
            Mutant(
                "a candidate replaces the final watermark of an ended source",
                "`an_ended_source_stays_at_the_end`",
                "WatermarkPolicy.advance",
                "MAX_TIME if ended else self.candidate(observed) if believed else None",
                "self.candidate(observed)",
            ),
            Mutant(
                "the watermark is believed before the declared partitions have sent something",
                "`no_watermark_before_declared_partitions`",
                "WatermarkPolicy.advance",
                "MAX_TIME if ended else self.candidate(observed) if believed else None",
                "MAX_TIME if ended else self.candidate(observed)",
            ),
            Mutant(
                "the watermark follows the fastest partition",
                "the watermark of a source is the minimum over its active partitions",
                "SourceClock._least_active",
                "(min if active else max)(points, default=None)",
                "max(points, default=None)",
            ),
            Mutant(
                "a perfect watermark waits for the elements of its own instant",
                "a perfect watermark is the least event time that is still to come",
                "least_event_times_after",
                "backwards.append(least)",
                "backwards.append(min([each.event_time for each in instant.observations], default=least))",
            ),
        ),
    ),
    Area(
        "combiners",
        ("combiners", "functional_combiners", "transforms", "laws"),
        (
            Mutant(
                "a sum adds retracted values",
                "`merge_has_an_inverse`",
                "Sum.subtract",
                "exact(_number(value, 'Sum'), -1)",
                "exact(_number(value, 'Sum'))",
            ),
            Mutant(
                "Over.merge returns its first accumulator",
                "a function of an input is a homomorphism: `adding_merges_a_single_value`",
                "Over.merge",
                "self.combiner.merge(left, right)",
                "left",
            ),
            Mutant(
                "lists merge in reverse order",
                "`adding_merges_a_single_value`, of a monoid that does not commute",
                "ToList.merge",
                "(*left, *right)",
                "(*right, *left)",
            ),
        ),
    ),
    Area(
        "transforms",
        ("laws", "products", "operations", "ptransform"),
        (
            Mutant(
                "both parts of a product begin with input 1",
                "two inputs of one shape are distinct, also after composition",
                "PTransform.__and__",
                "len(_holes(self.inputs)) + 1",
                "1",
            ),
            Mutant(
                "a chain keeps its analyses over elements of another shape",
                "a shape that becomes known when a transform is applied is checked then",
                "_Analyses.of",
                "last is None or last.step is not step or last.before != before",
                "last is None or last.step is not step",
            ),
        ),
    ),
    Area(
        "sums",
        ("laws", "sums", "containers", "lifted_expressions"),
        (
            Mutant(
                "columns have the members of a sum in the order of their tags",
                "values of several types are ordered alike in columns, nulls first, and in Python",
                "sum_of",
                "sorted(named, key=_rank, reverse=True)",
                "sorted(named, key=_rank)",
            ),
            Mutant(
                "a test of several types is one of the first of them",
                "`a_function_of_a_sum_is_one_of_each_member`: columns test what the function tests",
                "is_instance",
                "reduce(disjunction, tests)",
                "tests[0]",
            ),
            Mutant(
                "a method of a conditional container is that of its first side",
                "methods of containers that were just made are conditionals of their results",
                "lift_method",
                "sides[1]",
                "sides[0]",
            ),
            Mutant(
                "a Nothing is read from columns as None",
                "values come back from columns in type too",
                "flowalg_columns:decode",
                "Nothing if value is None else Some(decode(value, inner))",
                "None if value is None else Some(decode(value, inner))",
            ),
        ),
    ),
)
