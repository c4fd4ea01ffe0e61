"""Neural networks for boards, as pure functions of their parameters.

Every network maps candidates bool[B, side, cells] to ``Outputs``: policy logits [B, side, cells] and a value logit [B],
the log-odds that the position still has a solution.

To add an architecture, write one file beside ``cell_cnn.py``, the shortest example: a dataclass of sizes, which is a
``settings.Config``, and a subclass of ``NetworkModule``. Add one ``Architecture`` to the registry, and small sizes to
``TINY`` in ``tests/support/reference.py``, which ``tests/networks/test_networks.py`` uses to test all architectures.
Solvers, the command line, files and training then find it by name. ``from_module`` makes a network of a module outside
of the registry.
"""

from .base import ABSENT, Forward, Network, NetworkModule, Outputs, Params
from .own import from_module
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
    "from_module",
    "get",
    "load_network",
    "make_forward",
    "make_network",
    "read_card",
    "save_network",
    "shipped",
]
