"""Import time, and the demo from start to end."""

from __future__ import annotations

import subprocess
import sys
import tempfile

from timing import compare


def main() -> None:
    """Print the seconds."""
    with tempfile.TemporaryDirectory() as folder:
        compare(
            {
                "python -c pass": lambda: _run("-c", "pass"),
                "import numpy": lambda: _run("-c", "import numpy"),
                "import xarray": lambda: _run("-c", "import xarray"),
                "import somscale": lambda: _run("-c", "import somscale"),
                "somscale demo": lambda: _run(
                    "-c", "from somscale.cli import main; main()", "demo", "-o", folder
                ),
            }
        )


def _run(*arguments: str) -> None:
    subprocess.run([sys.executable, *arguments], check=True, capture_output=True)


if __name__ == "__main__":
    main()
