"""Names that Ascend's CANN gives to its threads ("Main Processes and Threads" of torch_npu's documentation); all but the first are idle."""

from __future__ import annotations

from typing import Final

from numascope.observe.roles.names import Name

NAMES: Final = (
    Name("HcclIntra_", "comm", "HCCL within a server"),
    Name("hccp_epoll", "comm", "HCCL's network service"),
    Name("hccp_connect", "comm", "HCCL's network service"),
    Name("Hccl_TopoDetect", "comm", "HCCL's start"),
    Name("Hccl_HeartBeat", "housekeeping", "HCCL"),
    Name("CaffeTaskThread", "housekeeping", "graph engine"),
    Name("AOE_RTKB", "housekeeping", "tuning knowledge base"),
    Name("AtraceMonitor", "housekeeping", "traces"),
    Name("TraceClientRecv", "housekeeping", "traces"),
    Name("WatchdogMonitor", "housekeeping", "watchdog"),
    Name("PlogFlush", "housekeeping", "log"),
    Name("PlogReportRecv", "housekeeping", "log"),
    Name("adx_data_dump_t", "housekeeping", "dump service"),
    Name("MONITOR_", "housekeeping", "runtime, one a device"),
    Name("REPORT_RAS", "housekeeping", "runtime"),
    Name("RT_RECYCLE", "housekeeping", "runtime"),
    Name("MSVP_", "housekeeping", "profiling"),
)
