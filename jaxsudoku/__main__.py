"""``python -m jaxsudoku`` is the command line."""

import sys

from jaxsudoku.cli import main

sys.exit(main())
