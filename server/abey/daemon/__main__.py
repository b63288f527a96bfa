"""`python -m abey.daemon`, the same as `abey-daemon`."""

import sys

from abey.daemon.main import main

sys.exit(main())
