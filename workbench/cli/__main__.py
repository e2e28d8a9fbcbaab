"""`python -m workbench.cli` is the `workbench` command."""

import sys

from workbench.cli import main

sys.exit(main())
