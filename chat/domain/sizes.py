"""Sizes and shares as people say them: of files and memory, of models, of a whole."""

from __future__ import annotations

from django.utils.formats import number_format
from django.utils.translation import gettext as _


def size(count: int) -> str:
    """``4.7 GB``, and below a tenth of one ``92 MB``: thousands, as engines and disks count."""
    if count >= 95_000_000:
        return _("%(n)s GB") % {"n": number_format(round(count / 1e9, 1), 1)}
    return _("%(n)s MB") % {"n": number_format(round(count / 1e6))}


def percent(share: float) -> str:
    """``0.42`` as ``42%``."""
    return _("%(n)s%%") % {"n": round(100 * share)}


def parameters(count: int) -> str:
    """``7.2 billion``, and below one ``135 million``."""
    if count >= 950_000_000:
        return _("%(n)s billion") % {"n": number_format(round(count / 1e9, 1), 1)}
    return _("%(n)s million") % {"n": number_format(max(1, round(count / 1e6)))}
