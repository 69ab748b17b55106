"""Names of XLA's and TensorFlow's pools, as jax has them: `tf_` before the pool's own name (tsl/platform/default/env.cc).

XLAEigen and XLAPjRtCpuClient: xla/pjrt/cpu/cpu_client.cc; PjRtCompilerThreadPool: xla/pjrt; xla-cpu-codegen: xla/service/cpu;
llvm-worker: LLVM's llvm/lib/Support/ThreadPool.cpp.
"""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("tf_XLAEigen", "kernel", "XLA's pool within an operator"),
    Name("tf_XLAPjRtCpuClient", "pool", "XLA's pool between operators"),
    Name("tf_foreach", "pool", "XLA"),
    Name("tf_numa_", "kernel", "TensorFlow's pool within an operator"),
    Name("host_executor", "pool", "XLA on the host"),
    Name("tf_PjRtCompilerThreadPool", "compile", "XLA's compiler"),
    Name("tf_xla-cpu-codegen", "compile", "XLA's compiler"),
    Name("llvm-worker-", "compile", "LLVM's pool"),
)

SIGNATURE: Final = ("tf_XLA", "tf_PjRt")
"""Names by which a process runs jax, or another user of XLA."""
