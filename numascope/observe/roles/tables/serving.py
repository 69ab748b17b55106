"""Names within vLLM's and SGLang's processes, and the names of these processes themselves, which are their titles cut to 15 bytes.

Titles: vllm/utils/system_utils.py `set_process_title`; sglang/srt/managers/*.py `setproctitle`. ZMQbg: libzmq's src/thread.cpp and src/ctx.cpp.
"""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("ZMQbg/IO/", "comm", "ZeroMQ's sockets"),
    Name("ZMQbg/Reaper", "housekeeping", "ZeroMQ closes sockets"),
)

TITLES: Final = (
    Name("VLLM::EngineCore", "engine", "vLLM's scheduler"),
    Name("VLLM::APIServer", "frontend", "vLLM's HTTP server"),
    Name("VLLM::DPCoordinator", "frontend", "vLLM's data-parallel coordinator"),
    Name("sglang::detokenizer", "frontend", "SGLang"),
    Name("sglang::tokenizer_worker", "frontend", "SGLang"),
    Name("sglang::data_parallel_controller", "frontend", "SGLang"),
    Name("sglang::router", "frontend", "SGLang"),
    Name("sglang::server", "frontend", "SGLang"),
)
