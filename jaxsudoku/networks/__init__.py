"""Networks that see the board: one architecture a file, one registry, one seam ``(apply, params)``.

Every one maps candidates bool[B, side, cells] to ``Outputs``: policy logits [B, side, cells] and a value logit [B], the
log-odds that the position still has a solution.
"""

from .base import ABSENT, Forward, Network, NetworkModule, Outputs, Params
from .registry import NETWORKS, Architecture, for_board, get, make_forward, make_network
from .weights import Card, NetworkFileError, as_network, check_network, load_network, read_card, save_network, shipped

__all__ = [
    "ABSENT",
    "NETWORKS",
    "Architecture",
    "Card",
    "Forward",
    "Network",
    "NetworkFileError",
    "NetworkModule",
    "Outputs",
    "Params",
    "as_network",
    "check_network",
    "for_board",
    "get",
    "load_network",
    "make_forward",
    "make_network",
    "read_card",
    "save_network",
    "shipped",
]
