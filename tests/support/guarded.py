"""A plugin of pytest: every frozen value is guarded, so that a test fails where something sets a member of one."""

import dataclasses

from abey.shared import values

vars(values).update(dataclass=dataclasses.dataclass, replace=dataclasses.replace)
