"""The kinds of notes on what msrun is given: MindSpore's bind JSON, and the options of a command line."""

from __future__ import annotations

from typing import Final

from numascope.plan.objects import NoteKind

# The bind JSON.

BYTE_ORDER_MARK: Final = NoteKind("reading", "warning", "save it without")
TWICE: Final = NoteKind("twice", "warning", "remove one of them")
LEADING_ZEROS: Final = NoteKind("unbound", "warning", "write the number without leading zeros")
MODE_IS_NULL: Final = NoteKind("no-effect", "warning", "write what is meant, or remove it")
SWITCHED_OFF: Final = NoteKind("no-effect", "warning", "set the mode, or remove the section")
CPUS_ARE_NULL: Final = NoteKind("affinity-refuses", "error", 'write "" for no CPUs')
SCHEDULER_IS_NULL: Final = NoteKind("unbound", "info", 'nothing to do, or write "" for no CPUs')
CPUS_ARE_A_NUMBER: Final = NoteKind("reading", "warning", "write CPUs in quotes")
NODE_REFUSED_BY_NUMACTL: Final = NoteKind("reading", "warning", "write the number of a node")
MEMORY_NOT_BOUND: Final = NoteKind(
    "reading", "info", "nothing to do where it is not meant to be bound", told_by=("mem-missing",)
)

# The objects of --bind_core and --bind_numa.

WORKER_WITHOUT_KEY: Final = NoteKind("unbound", "warning", "give a key for each worker, in the order of the workers")
MEMORY_WITHOUT_KEY: Final = WORKER_WITHOUT_KEY._replace(told_by=("mem-missing",), anywhere=True)
"""The rule names the CPUs that lack it, and not the option that does not name them."""

KEY_OUT_OF_ORDER: Final = NoteKind(
    "unbound", "warning", "give a key for each worker, in the order: device0, device1, …"
)
KEY_BEYOND_WORKERS: Final = NoteKind("reading", "warning", "remove it, or start more workers")
LEFT_UNBOUND: Final = NoteKind("unbound", "info", "nothing to do where it is not to be bound")
RUNS_BACKWARDS: Final = NoteKind("crash", "error", "write the smaller number first")

# The command line as a whole.

BESIDE_A_JSON: Final = NoteKind("no-effect", "warning", "remove it")
MORE_WORKERS_THAN_IN_ALL: Final = NoteKind(
    "crash", "error", "give both, the local one no larger: --worker_num 8 --local_worker_num 8"
)
