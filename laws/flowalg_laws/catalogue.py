"""All laws by subject."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from flowalg_laws.kit.law import Law
from flowalg_laws.laws.chains import CHAIN_LAWS
from flowalg_laws.laws.clocks import CLOCK_LAWS
from flowalg_laws.laws.combiners import COMBINER_LAWS
from flowalg_laws.laws.composition import TRANSFORM_LAWS
from flowalg_laws.laws.computations import COMPUTATION_LAWS
from flowalg_laws.laws.dead_letters import DEAD_LETTER_LAWS
from flowalg_laws.laws.joins import JOIN_LAWS
from flowalg_laws.laws.loops import LOOP_LAWS
from flowalg_laws.laws.panes import PANE_LAWS
from flowalg_laws.laws.serialization import SERIALIZATION_LAWS
from flowalg_laws.laws.side_inputs import SIDE_INPUT_LAWS
from flowalg_laws.laws.transforms import COLLECTION_LAWS
from flowalg_laws.laws.triggers import COMPOSITION_LAWS, LATTICE_LAWS
from flowalg_laws.laws.watermarks import WATERMARK_LAWS
from flowalg_laws.laws.windows import SIZE_LAWS, WINDOW_LAWS

CATALOGUE: Final[Mapping[str, tuple[Law[..., object], ...]]] = {
    "Once-triggers": LATTICE_LAWS,
    "Composite triggers": COMPOSITION_LAWS,
    "Windows": (*WINDOW_LAWS, *SIZE_LAWS),
    "Instants": LOOP_LAWS,
    "Panes and results": PANE_LAWS,
    "Several groupings": CHAIN_LAWS,
    "Combiners": COMBINER_LAWS,
    "Joins": JOIN_LAWS,
    "Side inputs": SIDE_INPUT_LAWS,
    "Computations": COMPUTATION_LAWS,
    "Bad records": DEAD_LETTER_LAWS,
    "Collections": COLLECTION_LAWS,
    "Transforms": TRANSFORM_LAWS,
    "Watermarks of a source": WATERMARK_LAWS,
    "Watermarks in a pipeline": CLOCK_LAWS,
    "Serialization": SERIALIZATION_LAWS,
}
