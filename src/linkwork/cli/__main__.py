"""``python -m linkwork.cli``."""

import sys

from linkwork.cli import main

if __name__ == "__main__":
    sys.exit(main())
