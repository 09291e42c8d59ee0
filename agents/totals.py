"""What was asked of chat models so far: calls, tokens, cost."""

from dataclasses import dataclass


@dataclass(slots=True)
class Totals:
    """What was asked so far, or would be in a dry run. Unless said otherwise, of new calls only."""

    calls: int = 0
    """New requests to a model, failed ones among them."""
    cached: int = 0
    failed: int = 0
    input_tokens: int = 0
    output_tokens: int = 0
    cost: float = 0.0
    """USD, of the calls whose price is known."""
    unpriced: int = 0
    """New calls whose cost is not known."""
    cached_tokens: int = 0
    """Those of the input tokens that a model had read before and did not read anew, where it says so."""
    remembered_tokens: int = 0
    """Input tokens of the uses that were served without a new call."""

    @property
    def naive_tokens(self) -> int:
        """Input tokens if every question had been asked anew and read from its start."""
        return self.input_tokens + self.remembered_tokens

    @property
    def computed_tokens(self) -> int:
        """Input tokens that a model did read."""
        return self.input_tokens - self.cached_tokens

    def prompt_tokens(self) -> str:
        """One line for people: what was read, beside what the naive way would have read."""
        naive, sent, computed = self.naive_tokens, self.input_tokens, self.computed_tokens
        times = f" ({naive / computed:.1f} times fewer)" if computed else ""
        return f"prompt tokens: {naive:,} the naive way; {sent:,} sent, {computed:,} of them computed anew{times}"
