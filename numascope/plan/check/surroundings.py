"""What lies around a plan: CPUs that nobody has, and interrupts of the devices on CPUs that somebody has."""

from __future__ import annotations

from numascope.cpuset import CpuSet
from numascope.plan.check.objects import CheckFinding, Hit, Question, gathered, plural
from numascope.plan.objects import Place, Rule
from numascope.plan.owners import role_words


def idle_cpus(question: Question) -> tuple[CheckFinding, ...]:
    """`idle`: usable CPUs in no role; those kept idle beside a role on their core are counted apart."""
    owners = question.owners
    if not owners.planned:
        return ()
    idle = question.free
    beside = CpuSet.of(cpu for cpu in idle if owners.cores.get(cpu, CpuSet()) & owners.planned)
    rest = idle - beside
    if not idle:
        return ()
    place = min((rule.place for rule in owners.plan.rules), key=_order)
    kept = f"{plural(len(beside), 'CPU')} idle beside a role on their core: {_cut(beside)}" if beside else ""
    if not rest:
        return gathered("idle", "info", [Hit(place, kept)], "nothing to do: a hot role is faster alone on its core")
    text = f"{plural(len(rest), 'CPU')} {'is' if len(rest) == 1 else 'are'} in no role: {_cut(rest)}"
    return gathered("idle", "info", [Hit(place, text, kept)], "nothing to do where they are left to the system")


def _order(place: Place) -> tuple[int, int]:
    return place.line, place.column


def _cut(cpus: CpuSet) -> str:
    text = str(cpus)
    return text if len(text) <= 160 else f"{text[: text.rindex(',', 0, 160)]},…"


def device_interrupts(question: Question) -> tuple[CheckFinding, ...]:
    """`irq`: interrupts of the plan's devices that go to one planned CPU and no other."""
    owners = question.owners
    wanted = {seat.address: seat for seat in owners.seats.values() if seat.address is not None}
    hits: dict[tuple[str, Rule], list[tuple[int, int]]] = {}
    for device in question.host.irqs or ():
        if device.address not in wanted:
            continue
        for irq, cpus in device.cpus.items():
            for rule in owners.rules_of(cpus.first)[:1] if len(cpus) == 1 else ():
                hits.setdefault((device.address, rule), []).append((irq, cpus.first))
    found = []
    for (address, rule), pairs in hits.items():
        irqs, cpus = CpuSet.of(irq for irq, _ in pairs if irq < 1 << 16), CpuSet.of(cpu for _, cpu in pairs)
        text = f"{plural(len(pairs), 'interrupt')} of {wanted[address]} {'goes' if len(pairs) == 1 else 'go'} to CPU {_cut(cpus)} of {role_words(rule)}"
        found.append(Hit(rule.place, text, f"IRQ {_cut(irqs)}"))
    if not found:
        return ()
    (address, _), pairs = min(hits.items(), key=lambda one: _order(one[0][1].place))
    where = _free_near(question, wanted[address].node)
    remedy = f"as root: echo LIST > /proc/irq/{pairs[0][0]}/smp_affinity_list, where LIST is CPUs in no role{where}; irqbalance may undo it"
    return gathered("irq", "info", found, remedy)


def _free_near(question: Question, node: int | None) -> str:
    """`, such as 168-175`: the CPUs of a node, else of any, that nobody has."""
    free, node_of = question.free, question.owners.machine.node_of
    near = CpuSet.of(cpu for cpu in free if node_of.get(cpu) == node)
    return f", such as {_cut(near or free)}" if free else ""
