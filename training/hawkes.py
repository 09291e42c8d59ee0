"""A neural Hawkes process of one kind of event: how soon another one is to be expected.

Paper: Mei and Eisner, "The Neural Hawkes Process: A Neurally Self-Modulating Multivariate Point Process" (NIPS 2017,
arXiv 1612.09328), as HEARD uses it. A continuous-time LSTM reads, post by post, how many events there have been.
Between posts its cell drifts from where the last post has put it to where it is going:

    c(t) = c_target + (c_now - c_target) exp(-decay (t - t_i)),    intensity(t) = softplus(w . output * tanh c(t) + b).

As in the paper a cell drifts over the gap after its post; HEARD's released code applies the gap before it. That code
maps the count to 64 numbers before the gates; two linear maps in a row are one, and here there is one.
"""

from typing import NamedTuple

import torch
from torch import Tensor, nn
from torch.nn import functional

NODES = 16
"""Of the quadrature; the intensity is smooth."""


class Cell(NamedTuple):
    """A continuous-time LSTM's state after a post, each (..., hidden)."""

    now: Tensor
    target: Tensor
    decay: Tensor
    output: Tensor

    def after(self, elapsed: Tensor) -> Tensor:
        """The cell's value when so much time (...) has passed since its post."""
        return self.target + (self.now - self.target) * torch.exp(-self.decay * elapsed[..., None])


class Hawkes(nn.Module):
    """The process: its state after each post, and from a state the intensity and its integral."""

    def __init__(self, hidden: int) -> None:
        super().__init__()
        self.hidden = hidden
        self.read = nn.Linear(1, 7 * hidden)
        self.recur = nn.Linear(hidden, 7 * hidden, bias=False)
        self.rate = nn.Linear(hidden, 1)

    def forward(self, counts: Tensor, gaps: Tensor) -> Cell:
        """The states after each post.

        Args:
            counts: (threads, posts) events so far.
            gaps: (threads, posts) time since the post before.
        """
        cells = [self.start(len(counts))]
        # unbound at once: the gradient of each slice by index would be a tensor as large as the whole
        for time, read in zip(gaps.unbind(dim=1), self.read(counts[..., None]).unbind(dim=1), strict=True):
            cells.append(self._update(cells[-1], time, read))
        return Cell(*(torch.stack(parts, dim=1) for parts in zip(*cells[1:], strict=True)))

    def start(self, threads: int) -> Cell:
        """The state before the first post."""
        zeros = torch.zeros(threads, self.hidden)
        return Cell(zeros, zeros, zeros, zeros)

    def step(self, cell: Cell | None, gap: float, count: int) -> Cell:
        """The state (1, hidden) after one more post: equal to what `forward` gives at that post."""
        return self._update(cell or self.start(1), torch.tensor([gap]), self.read(torch.tensor([[float(count)]])))

    def _update(self, before: Cell, gap: Tensor, read: Tensor) -> Cell:
        now = before.after(gap)
        gates = read + self.recur(before.output * torch.tanh(now))
        keep, take, output, keep_target, take_target = gates[..., : 5 * self.hidden].sigmoid().chunk(5, dim=-1)
        new, decay = gates[..., 5 * self.hidden :].chunk(2, dim=-1)
        new = torch.tanh(new)
        return Cell(
            keep * now + take * new,
            keep_target * before.target + take_target * new,
            functional.softplus(decay),
            output,
        )

    def intensity(self, cell: Cell, elapsed: Tensor) -> Tensor:
        """Events per unit of time, (...), when so much time has passed since the cell's post."""
        rate: Tensor = self.rate(cell.output * torch.tanh(cell.after(elapsed)))
        return functional.softplus(rate).squeeze(-1)

    def expected(self, cell: Cell, elapsed: Tensor) -> Tensor:
        """Events to be expected from the cell's post until so much time (...) has passed: dN.

        At elapsed * u ** 2 for evenly spaced u: closer where the cell has just jumped.
        """
        u = (torch.arange(NODES) + 0.5) / NODES
        values = self.intensity(Cell(*(part[..., None, :] for part in cell)), elapsed[..., None] * u**2)
        return elapsed * (values * 2 * u).mean(dim=-1)

    def log_likelihood(self, struck: Tensor, gaps: Tensor, silence: Tensor, there: Tensor) -> Tensor:
        """Of each thread's events (threads,).

        Args:
            struck: (threads, posts) 1.0 where there was an event at the post; never at the first.
            gaps: (threads, posts) time since the post before.
            silence: (threads, posts) time until the next post, or how long nothing came after the last.
            there: (threads, posts) False in the padding.
        """
        cells = self(struck.cumsum(dim=1), gaps)
        events = struck[:, 1:].bool() & there[:, 1:]
        before = Cell(*(part[:, :-1][events] for part in cells))
        jumps = torch.zeros(events.shape).masked_scatter(events, self.intensity(before, gaps[:, 1:][events]).log())
        waits = self.expected(Cell(*(part[there] for part in cells)), silence[there])
        return jumps.sum(dim=1) - torch.zeros(there.shape).masked_scatter(there, waits).sum(dim=1)
