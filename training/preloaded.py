"""What the server of training processes imports once for all of them (see `training.workers`)."""

import os

os.environ |= {
    "TQDM_DISABLE": "1",  # the libraries' own progress bars
    "OMP_NUM_THREADS": "1",  # a process works on one core, and one that is to be copied must have no threads
    "OPENBLAS_NUM_THREADS": "1",
}  # all of them are looked up when a library is imported

import torch

import training.trainer  # noqa: F401

torch.optim.Adam([torch.nn.Parameter(torch.zeros(1))])  # the first optimizer imports the compiler, for a second or two
