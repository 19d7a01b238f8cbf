"""What the scripts beside this run with a bare Python, before any package is installed.

Stands in for this package's own ``__init__``, which wires Celery, and hands over.
"""

import sys
import types
from pathlib import Path

if __name__ == "__main__":
    package = sys.modules["deploy"] = types.ModuleType("deploy")
    package.__path__ = [str(Path(__file__).resolve().parent)]

    from deploy.appliance.install import main

    sys.exit(main(sys.argv[1:]))
