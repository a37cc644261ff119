"""The peers: the columns of the table, in its order."""

from __future__ import annotations

from typing import Final

from flowalg_development.peers.claims.beam import BEAM
from flowalg_development.peers.claims.bytewax import BYTEWAX
from flowalg_development.peers.claims.flink import FLINK
from flowalg_development.peers.claims.pathway import PATHWAY
from flowalg_development.peers.claims.project import PROJECT
from flowalg_development.peers.claims.quix import QUIX
from flowalg_development.peers.claims.spark import SPARK

PEERS: Final = (PROJECT, BEAM, FLINK, SPARK, BYTEWAX, PATHWAY, QUIX)
"""All peers; the first is flowalg itself."""
