"""Many runs, one after the other, as one command: attacks, controls, studies.

They share one --max-cost and the chat models that they ask. However they end, what was measured is printed.
"""

from collections.abc import Callable

from rich.console import Console

from eval.config import RunConfig
from eval.opening import Shared
from eval.plan import Plan
from eval.results import Results
from eval.session import continues, run_plan
from eval.titles import remarks


class Ended(Exception):
    """A run ended early; what was judged is kept and the same command continues."""

    def __init__(self, code: int) -> None:
        super().__init__(code)
        self.code = code


class Series:
    """Runs that follow each other."""

    def __init__(self, shared: Shared, total: int, notes: Console) -> None:
        """Begin.

        Args:
            shared: The models and the money that all of them share.
            total: How many there will be.
            notes: Where it is said which one is under way.
        """
        self._shared, self.total, self._notes = shared, total, notes
        self._begun = 0
        self._said: set[str] = set()
        self.finished = 0
        """How many came to their end."""
        self.measured = False
        """Whether there is anything to print."""

    def run(self, name: str, plan: Plan, shown: Callable[[Results], None]) -> None:
        """Run the next one, or continue it, or show what it measured before.

        Args:
            name: What it is called.
            plan: What it judges.
            shown: Takes what it measured, also where it ends early.

        Raises:
            Ended: it ended early.
            UsageError: nothing can go on.
        """
        self._begun += 1
        self._note(f"[{self._begun}/{self.total}] {name}")
        for text in remarks(plan):
            if text not in self._said:  # once is enough where all runs have the same threads
                self._note(text)
                self._said.add(text)

        def measured(report: Results) -> None:
            self.measured = True
            shown(report)

        if code := run_plan(plan, self._shared, measured):
            raise Ended(code)
        self.finished += 1

    def _note(self, text: str) -> None:
        self._notes.print(text, markup=False, highlight=False)


def run_several(work: Callable[[Series], None], show: Callable[[int], None], config: RunConfig, *, total: int) -> int:
    """Do the runs, and print what they measured.

    Args:
        work: Does them.
        show: Prints what they measured, given the exit code; called in any case but where nothing was measured.
        config: What they have in common; its `max_cost` is of all of them together.
        total: How many runs there will be.

    Returns:
        The exit code: 0 done, 1 a run stopped early, 130 interrupted.

    Raises:
        UsageError: nothing can go on; what was measured until then is printed.
    """
    notes, code = Console(stderr=True), 2
    with Shared(config.max_cost) as shared:
        series = Series(shared, total, notes)
        try:
            work(series)
            code = 0
        except Ended as end:
            code = end.code
        except KeyboardInterrupt:
            notes.print(f"Interrupted. {continues(config)}")
            code = 130
        finally:
            if series.measured:
                show(code)
                if code:
                    Console().print(f"INCOMPLETE: {series.finished} of {total} runs", style="bold yellow")
    return code
