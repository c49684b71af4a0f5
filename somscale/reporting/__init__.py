"""A result as one page that needs no network: tables, pictures, explorers, provenance."""

from __future__ import annotations

from somscale.reporting.page import Report, check_libraries, report
from somscale.reporting.shades import spread

__all__ = ["Report", "check_libraries", "report", "spread"]
