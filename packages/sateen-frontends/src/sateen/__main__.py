"""`python -m sateen`: the `sateen` command, for when no script of that name is on the path."""

import sys

from sateen.console import main

if __name__ == "__main__":
    sys.exit(main())
