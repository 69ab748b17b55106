"""What is not held against a plan that was made well."""

from __future__ import annotations

from plan_questions import document, question, rules
from shapes import Shape, machine

from numascope.plan.check.devices import far_devices
from numascope.plan.check.memory import bound_memory
from numascope.plan.check.overlap import scheduler_slice
from numascope.plan.check.spread import spread_roles

CACHES = machine(Shape(1, 1, 3, 4, 2), (0,))
"""Three L3s of four cores: core c has the CPUs c and c + 12."""


def test_a_role_of_one_thread_a_core_needs_as_many_cores_of_a_cache() -> None:
    assert spread_roles(question(document({"device0": {"main": "0-5"}}), CACHES)) == ()
    found = spread_roles(question(document({"device0": {"main": "2-5"}}), CACHES))
    assert rules(found) == [("spread-l3", "info")]
    both = spread_roles(question(document({"device0": {"main": "2-5,14-17"}}), CACHES))
    assert rules(both) == [("spread-l3", "info")]


def test_a_second_thread_has_a_high_number_and_stands_before_the_device_all_the_same() -> None:
    before = document({"device0": {"main": "1-4"}, "scheduler": {"main": "0,12"}})
    assert scheduler_slice(question(before, CACHES)) == ()
    behind = document({"device0": {"main": "1-4"}, "scheduler": {"main": "5,17"}})
    assert rules(scheduler_slice(question(behind, CACHES))) == [("slice", "info")]


def test_a_device_whose_node_is_isolated_is_near_the_next() -> None:
    on = machine(Shape(2, 1, 1, 4), (0,), isolated="0-3")
    assert far_devices(question(document({"device0": {"main": "4-7"}}), on)) == ()
    free = machine(Shape(2, 1, 1, 4), (0,))
    assert rules(far_devices(question(document({"device0": {"main": "4-7"}}), free))) == [("dev-far", "info")]


def test_memory_that_mindspore_cannot_bind_nearer_is_not_far() -> None:
    on = machine(Shape(2, 1, 1, 4), (0, 1))
    first, second = on.nodes
    bare = second._replace(id=2, cpus=first.cpus - first.cpus, distances={2: 10})
    own = second._replace(memory_kib=0, distances={**second.distances, 2: 17})
    near = on._replace(nodes=(first, own, bare))
    plan = document({"device1": {"main": "4-7"}}, {"device1": 0})
    assert bound_memory(question(plan, near)) == ()
