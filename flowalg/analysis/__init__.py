"""Static analyses of a pipeline: its explanation, its hazards, and the features that it uses."""

from flowalg.analysis.capabilities import Capabilities, Mode
from flowalg.analysis.explain import explain
from flowalg.analysis.hazards import Danger, Hazard, hazards

__all__ = ["Capabilities", "Danger", "Hazard", "Mode", "explain", "hazards"]
