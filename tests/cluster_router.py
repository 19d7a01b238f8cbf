"""SGLang's own router as a process: ``python -m tests.cluster_router PORT METRICS_PORT WORKER…``.

It is the real one, as the wheel of ``sglang-router`` brings it, and ends with a signal. Of that
wheel only these two files are used; what it names as its needs serves others.
"""

from __future__ import annotations

import sys

from sglang_router.router import Router
from sglang_router.router_args import RouterArgs


def main(port: str, metrics_port: str, *workers: str) -> None:
    """Route to the ``workers``, which are addresses."""
    wanted = RouterArgs(
        worker_urls=list(workers),
        host="127.0.0.1",
        port=int(port),
        prometheus_host="127.0.0.1",
        prometheus_port=int(metrics_port),
        retry_max_retries=2,
    )
    Router.from_args(wanted).start()


if __name__ == "__main__":
    main(*sys.argv[1:])
