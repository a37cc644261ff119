"""The progress of a table in Kafka, as a message.

These tests catch a part of the identity of a micro-batch that a message does not keep.
"""

from __future__ import annotations

from flowalg_kafka.progress import Progress, WrittenTopic
from flowalg_sinks import WrittenBatch
from hypothesis import given
from hypothesis import strategies as st

BATCHES = st.builds(
    WrittenBatch,
    st.text(),
    st.integers(0, 2**40),
    st.none() | st.integers(1, 2**40),
    st.none() | st.text(),
    st.booleans(),
)
TOPICS = st.builds(
    WrittenTopic, st.text(), st.integers(1, 9), st.dictionaries(st.text(), st.text(), max_size=2)
)


@given(BATCHES, st.dictionaries(st.text(), TOPICS, max_size=2))
def test_a_message_keeps_all_that_identifies_a_batch(
    batch: WrittenBatch, topics: dict[str, WrittenTopic]
) -> None:
    """The progress that is read from a message is the one that was written."""
    progress = Progress(batch, topics)
    assert Progress.decode(progress.encode()) == progress
