"""The peers: the columns of the table, in its order."""

from __future__ import annotations

from typing import Final

from tests.peers.claims.beam import BEAM
from tests.peers.claims.bytewax import BYTEWAX
from tests.peers.claims.flink import FLINK
from tests.peers.claims.pathway import PATHWAY
from tests.peers.claims.project import PROJECT
from tests.peers.claims.quix import QUIX
from tests.peers.claims.spark import SPARK

PEERS: Final = (PROJECT, BEAM, FLINK, SPARK, BYTEWAX, PATHWAY, QUIX)
"""All peers; the first is flowalg itself."""
