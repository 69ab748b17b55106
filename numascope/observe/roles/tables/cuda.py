"""Names that NVIDIA's driver and NCCL give to their threads.

The driver's are known from reports (deepseek-ai/DeepEP issue 330, NVIDIA/TensorRT-LLM issue 2560). NCCL (src/proxy.cc,
src/ras, src/bootstrap.cc, transport/net_ib) names its own only with NCCL_SET_THREAD_NAME=1; without, they carry their creator's name.
"""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("cuda-EvtHandlr", "housekeeping", "the driver's event handler; polls"),
    Name("cuda0", "housekeeping", "the driver: `cuda` and a number, for one context"),
    Name("NCCL Progress", "comm", "NCCL's proxy; spins while it communicates"),
    Name("NCCL Service", "comm", "NCCL's proxy service"),
    Name("NCCL UDS Service", "comm", "NCCL's proxy service on a Unix socket"),
    Name("NCCL IbAsync", "comm", "InfiniBand events"),
    Name("NCCL Sock", "comm", "the socket transport"),
    Name("NCCL GIN Progress", "comm", "GPU-initiated networking"),
    Name("NCCL RMA Proxy", "comm", "one-sided transfers"),
    Name("NCCL BootstrapRoot", "comm", "the start of a communicator"),
    Name("NCCL RAS", "housekeeping", "NCCL's health service"),
    Name("NCCL ", "comm", "NCCL"),
)
