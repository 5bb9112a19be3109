"""``python -m linkwork``, where the command ``linkwork`` is not on the path."""

import sys

from linkwork.cli import main

if __name__ == "__main__":
    sys.exit(main())
