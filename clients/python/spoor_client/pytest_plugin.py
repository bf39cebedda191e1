"""The fixture `spoor_traces`, which pytest finds by the package's entry point."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from .testing import Traces


@pytest.fixture
def spoor_traces() -> Iterator[Traces]:
    """The traces that a test records, in memory."""
    from .testing import recorded

    with recorded() as traces:
        yield traces
