"""What calls may cost: each reserves the most it can cost before it is made, and gives back what it did not."""

from collections.abc import Sequence

from agents.models import BudgetExceeded, Message, Model
from corpora.errors import UsageError


class Budget:
    """USD that may be spent; without a limit, nothing is reserved and anything fits."""

    def __init__(self, limit: float | None):
        self.limit = limit
        self.spent = self._reserved = 0.0

    def most(self, model: Model, messages: Sequence[Message]) -> float:
        """What a call costs if its reply is as long as it may be; 0 without a limit.

        Raises:
            UsageError: there is a limit, and the model's price is not known.
        """
        if self.limit is None:
            return 0.0
        cost = model.cost(model.count_tokens(messages) if messages else 0, model.max_tokens)
        if cost is None:
            raise UsageError(f"--max-cost needs the price of {model.name}: give --price (USD per million tokens)")
        return cost

    def fits(self, cost: float) -> bool:
        """Whether a call of this cost may be made beside those under way."""
        return self.limit is None or self.spent + self._reserved + cost <= self.limit

    def reserve(self, cost: float) -> None:
        """Keep the cost of a call that is about to be made.

        Raises:
            BudgetExceeded: it does not fit.
        """
        if self.limit is not None and not self.fits(cost):
            spent = f"{self.spent:.4f} of {self.limit:.4f} USD spent"
            raise BudgetExceeded(f"--max-cost reached: {spent}, and the next call may cost {cost:.4f}")
        self._reserved += cost

    def release(self, cost: float) -> None:
        """Give a reservation back."""
        self._reserved -= cost
