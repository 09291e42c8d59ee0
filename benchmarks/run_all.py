"""All benchmarks, one table: `make bench`, or `python -m benchmarks.run_all [--quick]`."""

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import debate, jsdrv, prefix_labels, storage, throughput, training, watch
from benchmarks.table import Row
from tests.made_up import ROOT


def help_time() -> Row:
    """Seconds to print the main command's help: the median of five."""
    times = []
    for _ in range(5):
        started = time.perf_counter()
        subprocess.run([sys.executable, "-m", "eval.run", "--help"], cwd=ROOT, stdout=subprocess.DEVNULL, check=True)
        times.append(time.perf_counter() - started)
    return Row("python -m eval.run --help", f"{sorted(times)[2]:.2f} s", "< 0.5 s")


def main() -> None:
    """Run them and print the table."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="a tenth of the work, to see that all of it runs")
    share = 10 if parser.parse_args().quick else 1
    table = Table("benchmark", "result", "goal")
    console = Console()
    with tempfile.TemporaryDirectory() as name, console.status("measuring"):
        folder = Path(name)
        rows = [
            throughput.instant_model(folder, 5_000 // share),
            *throughput.against_peers(folder, 5_000 // share, 1_000 // share),
            *storage.rows_per_second(folder, 200_000 // share),
            storage.resume(folder, 200_000 // share),
            *prefix_labels.kept_against_naive(folder, max(2, 8 // share)),
            *training.training_speed(),
            *debate.against_inspect(folder, 200 // share, 100 // share),
            *debate.orchestration(folder, 20 // share),
            debate.readings(1_000_000 // share),
            *jsdrv.epoch(folder, max(10, 80 // share)),
            *watch.posts_per_second(folder, 10_000 // share, 100 // share),
            help_time(),
        ]
    for row in rows:
        table.add_row(*row)
    console.print(table)


if __name__ == "__main__":
    main()
