"""Names that PyTorch, its gloo, and torch_npu give to their threads.

PyTorch: `c10::setThreadName` in libc10, libtorch_cpu and libtorch_cuda; torch/utils/data/_utils/{worker,pin_memory}.py;
torch/distributed/run.py. torch_npu: "Main Processes and Threads" of its documentation, NPUAffinityController.
"""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("pt_data_worker", "loader", "torch/utils/data/_utils/worker.py"),
    Name("pt_data_pin", "pin", "torch/utils/data/_utils/pin_memory.py"),
    Name("pt_autograd_", "autograd", "one a visible device, torch/csrc/autograd/engine.cpp"),
    Name("pt_nccl_watchdg", "housekeeping", "ProcessGroupNCCL"),
    Name("pt_nccl_heartbt", "housekeeping", "ProcessGroupNCCL"),
    Name("pt_nccl_runhook", "housekeeping", "ProcessGroupNCCL"),
    Name("pt_nccl_gil_chk", "housekeeping", "ProcessGroupNCCL, short-lived"),
    Name("pt_nccl_", "housekeeping", "ProcessGroupNCCL"),
    Name("pt_nccl2_", "housekeeping", "ProcessGroupNCCL2"),
    Name("pt_watchdog", "housekeeping", "ProcessGroup's watchdog in newer versions"),
    Name("pt_workerserver", "housekeeping", "the debug server, torch/csrc/distributed/c10d/control_plane"),
    Name("pt_gloo_runloop", "comm", "ProcessGroupGloo, two a group"),
    Name("gloo_tcp_loop", "comm", "gloo's transport"),
    Name("pt_dist_engine", "comm", "distributed autograd"),
    Name("pt_tcpstore", "store", "TCPStore: in the launcher, or in rank 0"),
    Name("PTThreadPool", "pool", "inter-op threads, c10::ThreadPool"),
    Name("pt_thread_pool", "pool", "c10's pool"),
    Name("acl_thread", "runtime", "torch_npu: takes from the task queue, feeds the device"),
    Name("release_thread", "runtime", "torch_npu: frees what the device is done with"),
    Name("backward_thread", "autograd", "torch_npu, older versions"),
    Name("hccl_watchdog_t", "housekeeping", "torch_npu's ProcessGroupHCCL"),
    Name("hcclComm_watchd", "housekeeping", "torch_npu's ProcessGroupHCCL, older versions"),
)

SIGNATURE: Final = ("pt_", "gloo_tcp_loop", "PTThreadPool", "acl_thread")
"""Names by which a process is PyTorch's, whoever started it."""

FORMER_MAIN: Final = "pt_main_thread"
"""torch 2.3 and 2.4 named the thread that imports it so (PyTorch PRs 121170 and 134066), and every thread after inherits it."""
