"""The settings of the stores, read and checked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rdfcrawl.setting_values import integer
from rdfcrawl.stores.segments import SegmentLimits

if TYPE_CHECKING:
    from scrapy.settings import BaseSettings


def segment_limits(settings: BaseSettings) -> SegmentLimits:
    """Return the sizes of segments.

    Raises:
        ConfigError: a setting is out of range.
    """
    return SegmentLimits(rotate_bytes=integer(settings, "SEGMENT_MAX_BYTES", 1024))
