"""Names that MindSpore's C++ runtime gives to its threads (mindspore/core/mindrt/src/thread/, mindspore/ccsrc/runtime/pipeline/).

Its data engine names nothing but the independent process (prctl in `_c_dataengine`); the rest of a pipeline is told by evidence.
"""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("ActorThread_", "runtime", "the actor pool, threadpool.cc"),
    Name("infer_queue", "runtime", "async_rqueue.cc"),
    Name("resize_queue", "runtime", "async_rqueue.cc"),
    Name("launch_queue", "runtime", "async_rqueue.cc"),
    Name("frontend_queue", "pynative", "async_rqueue.cc; is there in graph mode too"),
    Name("backend_queue", "pynative", "async_rqueue.cc"),
    Name("bprop_queue", "pynative", "async_rqueue.cc"),
    Name("stress_detect_queue", "stress", "async_rqueue.cc"),
    Name("batch_launch_", "batch_launch", "the kernel launch group"),
    Name("KernelThread_", "kernel", "the CPU kernel pool, threadpool.cc; no module binds it"),
    Name("RECV_EVENT_LOOP", "comm", "the cluster's RPC"),
    Name("SEND_EVENT_LOOP", "comm", "the cluster's RPC"),
    Name("independent_dataset", "minddata", "MS_INDEPENDENT_DATASET, by prctl"),
    Name("GeneratorWorkerThread", "minddata", "mindspore/dataset/engine/datasets_user_defined.py, from Python 3.14 on"),
    Name("MapWorker", "minddata", "mindspore/dataset/engine/datasets.py, from Python 3.14 on"),
)

SIGNATURE: Final = ("ActorThread_", "KernelThread_", "frontend_queue", "independent_dat")
"""Names by which a process is MindSpore's, whoever started it."""
