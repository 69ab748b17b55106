"""All benches, one after the other; each prints ratios against a peer of the same run."""

from __future__ import annotations

import dashboard_cost
import memory_cost
import memory_watch_cost
import recording_cost
import sampler_cost
import steer_cost
import topo_cost
import watch_cost


def main() -> None:
    """Runs them."""
    benches = (
        topo_cost,
        sampler_cost,
        watch_cost,
        recording_cost,
        dashboard_cost,
        memory_cost,
        memory_watch_cost,
        steer_cost,
    )
    for bench in benches:
        bench.main()
        print()


if __name__ == "__main__":
    main()
