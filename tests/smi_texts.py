"""What nvidia-smi and npu-smi print, in their format: tabs, escapes, legends and all."""

from __future__ import annotations

from typing import Final

LEGEND: Final = """
Legend:

  X    = Self
  SYS  = Connection across the link between sockets
  NODE = Connection across host bridges of one NUMA node
  PHB  = Connection across a PCIe host bridge
  PXB  = Connection across several PCIe bridges
  PIX  = Connection across one PCIe bridge at most
  NV#  = Connection across a bonded set of # NVLinks
"""

FOUR_GPUS: Final = (
    "\x1b[4m\tGPU0\tGPU1\tGPU2\tGPU3\tNIC0\tNIC1\tCPU Affinity\tNUMA Affinity\tGPU NUMA ID\x1b[0m\n"
    "GPU0\t X \tNV18\tNV18\tNV18\tPIX\tSYS\t0-3\t0\t\tN/A\n"
    "GPU1\tNV18\t X \tNV18\tNV18\tNODE\tSYS\t0-3\t0\t\tN/A\n"
    "GPU2\tNV18\tNV18\t X \tNV18\tSYS\tPXB\t4-7\t1\t\tN/A\n"
    "GPU3\tNV18\tNV18\tNV18\t X \tSYS\tPHB\t4-7\t0-1\t\tN/A\n"
    "NIC0\tPIX\tNODE\tSYS\tSYS\t X \tSYS\t\t\t\t\n"
    "NIC1\tSYS\tSYS\tPXB\tPHB\tSYS\t X \t\t\t\t\n" + LEGEND + "\nNIC Legend:\n\n  NIC0: mlx5_0\n  NIC1: mlx5_bond_0\n\n"
)
"""Four GPUs in an NVLink domain and two NICs; of the last GPU two nodes are called near."""

OLD_NAMES: Final = (
    "        GPU0    GPU1    mlx4_0  CPU Affinity\n"
    "GPU0     X      SOC     PHB     0-9,20-29\n"
    "GPU1    SOC      X      SOC     10-19,30-39\n"
    "mlx4_0  PHB     SOC      X \n"
)
"""A driver of 2017: NICs by name, SOC for SYS, no NUMA Affinity."""

NPU_MATRIX: Final = (
    "\t   NPU0       NPU1       NPU2       NPU3       CPU Affinity\n"
    "NPU0       X          HCCS       PIX        SYS        0-3\n"
    "NPU1       HCCS       X          SYS        PIX        4-7\n"
    "NPU2       PIX        SYS        X          HCCS       0-3\n"
    "NPU3       SYS        PIX        HCCS       X          4-7\n"
    "\nLegend:\n\n  X    = Self\n  HCCS = Connection across HCCS.\n  NA   = Not known.\n"
)

NPU_MESH: Final = NPU_MATRIX.replace("PIX ", "HCCS").replace("SYS ", "HCCS")
"""The same with every pair on the fabric, as in a server of eight 910B."""

NPU_TABLE: Final = """\
+------------------------------------------------------------------------------------------------+
| npu-smi 25.2.0                   Version: 25.2.0                                               |
+---------------------------+---------------+----------------------------------------------------+
| NPU   Name                | Health        | Power(W)    Temp(C)           Hugepages-Usage(page)|
| Chip                      | Bus-Id        | AICore(%)   Memory-Usage(MB)  HBM-Usage(MB)        |
+===========================+===============+====================================================+
| 0     910B3               | OK            | 92.9        45                0    / 0             |
| 0                         | 0000:C1:00.0  | 0           0    / 0          3395 / 65536         |
+===========================+===============+====================================================+
| 1     910B3               | OK            | 92.7        44                0    / 0             |
| 0                         | 0000:01:00.0  | 0           0    / 0          3391 / 65536         |
+===========================+===============+====================================================+
| 2     910B3               | OK            | 89.3        46                0    / 0             |
| 0                         | 0000:C2:00.0  | 0           0    / 0          3392 / 65536         |
+===========================+===============+====================================================+
| 3     910B3               | OK            | 90.1        44                0    / 0             |
| 0                         | 0000:02:00.0  | 0           0    / 0          3393 / 65536         |
+===========================+===============+====================================================+
+---------------------------+---------------+----------------------------------------------------+
| NPU     Chip              | Process id    | Process name             | Process memory(MB)      |
+===========================+===============+====================================================+
| 0       0                 | 1234567       | python                   | 56000                   |
+===========================+===============+====================================================+
"""

NPU_MAP: Final = (
    "\tNPU ID                         Chip ID                        Chip Logic ID                  Chip Name\n"
    "\t0                              0                              0                              Ascend 910B3\n"
    "\t0                              1                              -                              Mcu\n"
    "\t1                              0                              1                              Ascend 910B3\n"
    "\t1                              1                              -                              Mcu\n"
)

TWO_DIES: Final = (
    "           Phy-ID12   Phy-ID13\n"
    "Phy-ID12   X          SIO\n"
    "Phy-ID13   SIO        X\n"
    "\tNPU ID      Chip ID     Chip Logic ID   Chip Phy-ID   Chip Name\n"
    "\t6           0           0               12            Ascend910\n"
    "\t6           1           1               13            Ascend910\n"
    "\t6           2           -               -             Mcu\n"
    "| 6     Ascend910           | OK            | 180.1       38                0    / 0             |\n"
    "| 0     12                  | 0000:9D:00.0  | 0           0    / 0          3109 / 65536         |\n"
    "| 1     13                  | 0000:9F:00.0  | 0           0    / 0          2880 / 65536         |\n"
)
"""A container that sees one card of two dies, each a device: three outputs one after the other."""
