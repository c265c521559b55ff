"""`python -m sateen.frontends`: the `sateen` command, where no script of that name is on the path."""

import sys

from sateen.frontends.command.main import main

if __name__ == "__main__":
    sys.exit(main())
