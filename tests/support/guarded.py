"""A plugin of pytest: every frozen value is guarded, so that a test fails where something sets a member of one."""

import dataclasses
from collections.abc import Callable
from typing import Any

from abey.shared import values


def copier(_kind: type[Any], *members: str) -> Callable[..., Any]:
    return lambda value, *changed: dataclasses.replace(value, **dict(zip(members, changed, strict=True)))


vars(values).update(dataclass=dataclasses.dataclass, replace=dataclasses.replace, copier=copier)
