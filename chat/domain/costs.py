"""What the tokens would have cost elsewhere, and when the house's own machine has paid off."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from django.db import transaction

from accounts.domain import audit
from accounts.models import User
from chat.domain.usage import Row, Usage
from chat.models import Costs

DAYS_A_MONTH: Final = Decimal("30.44")
MONTHS: Final = 36  # what a plot shows at least: machines are written off in three years
_MILLION: Final = Decimal(1_000_000)


def now() -> Costs:
    """The prices as they were typed in; nothing, where nobody has yet."""
    return Costs.objects.first() or Costs()


def change(*, actor: User, **prices: Any) -> None:
    """Other prices."""
    with transaction.atomic():
        costs, _ = Costs.objects.update_or_create(pk=True, defaults=prices)
        audit.record("costs.changed", actor=actor, about=costs)


def elsewhere(costs: Costs, row: Row) -> Decimal:
    """What these tokens would have cost elsewhere."""
    read = costs.read_price * row.read_tokens
    written = costs.written_price * row.written_tokens
    return (read + written) / _MILLION


@dataclass(frozen=True, slots=True)
class BreakEven:
    """At the pace of the days that were looked at. ``months`` is None where it never comes."""

    elsewhere_a_month: Decimal
    machine: Decimal
    own_a_month: Decimal
    months: Decimal | None

    def curves(self) -> list[tuple[int, Decimal, Decimal]]:
        """``(month, paid elsewhere, paid here)`` up to somewhat behind the crossing."""
        last = MONTHS
        if self.months is not None:
            last = min(120, max(12, int(self.months * 3 / 2) + 1))
        return [
            (month, self.elsewhere_a_month * month, self.machine + self.own_a_month * month)
            for month in range(last + 1)
        ]


def break_even(costs: Costs, usage: Usage) -> BreakEven | None:
    """Where the two curves cross; ``None`` without prices or without a machine to pay for."""
    days = (usage.last - usage.first).days + 1
    a_month = elsewhere(costs, usage.whole) / days * DAYS_A_MONTH
    if not costs.machine_price or not a_month:
        return None
    saved = a_month - costs.monthly_price
    months = costs.machine_price / saved if saved > 0 else None
    return BreakEven(a_month, costs.machine_price, costs.monthly_price, months)
