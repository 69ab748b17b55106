from __future__ import annotations

import pytest
from shapes import Shape, machine

from numascope.errors import UsageError
from numascope.machine.objects import Claim, Machine
from numascope.plan.make.seats import Seats, first_ranks, found_seats, given_seats, own_seats, pci_address


def with_devices() -> Machine:
    return machine(Shape(2, 1, 1, 4), devices=(0, 1, 1))


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("0000:3b:00.0", "0000:3b:00.0"),
        ("00000000:3B:00.0", "0000:3b:00.0"),
        ("3b:00.0", "0000:3b:00.0"),
        ("10000:3b:00.1", "10000:3b:00.1"),
        ("3b", None),
        ("node1", None),
        ("0000:3b:00.0x", None),
    ],
)
def test_pci_addresses_as_sysfs_and_as_nvidia_smi_write_them(text: str, address: str | None) -> None:
    assert pci_address(text) == address


def test_devices_as_the_user_places_them_are_sorted_by_number() -> None:
    address = with_devices().devices[0].address
    seats = given_seats(with_devices(), [f"3={address}", "0=node:1"]).seats
    assert [(seat.number, seat.address, seat.node) for seat in seats] == [(0, None, 1), (3, address, 0)]
    assert [str(seat) for seat in seats] == ["device 0", f"device 3 ({address})"]


@pytest.mark.parametrize(
    ("texts", "problem"),
    [
        (["0"], '--device "0": give 0=PCI-ADDRESS or 0=node:N'),
        (["a=node:1"], '--device "a=node:1": give 0=PCI-ADDRESS or 0=node:N'),
        (["0=node:7"], "--device 0=node:7: this machine has the nodes 0-1"),
        (["0=node:99999999999"], "--device 0=node:99999999999: this machine has the nodes 0-1"),
        (["0=ff:00.0"], "--device 0=ff:00.0: no such accelerator here, this machine has 0000:"),
        (["0=node:0", "0=node:1"], "--device 0 is given twice"),
    ],
)
def test_a_place_that_is_none_is_refused(texts: list[str], problem: str) -> None:
    with pytest.raises(UsageError) as caught:
        given_seats(with_devices(), texts)
    assert str(caught.value).startswith(problem)


def test_one_address_for_two_numbers_is_refused() -> None:
    address = with_devices().devices[0].address
    with pytest.raises(UsageError, match="is given for two numbers"):
        given_seats(with_devices(), [f"0={address}", f"1={address}"])


def test_devices_of_one_kind_are_found_in_pci_order_and_the_others_named() -> None:
    on = with_devices()
    devices = (on.devices[0]._replace(kind="gpu"), *(one._replace(kind="npu") for one in on.devices[1:]))
    mixed = on._replace(devices=devices)
    found = found_seats(mixed, ("npu",), None)
    assert [seat.address for seat in found.seats] == [one.address for one in devices[1:]]
    assert str(found.notes[1]) == f"only the kind Huawei npu is planned, not Huawei gpu {devices[0].address}: name others with --device"  # fmt: skip
    assert [seat.address for seat in found_seats(mixed, ("gpu",), None).seats] == [devices[0].address]


def test_a_gpu_of_another_vendor_such_as_that_in_the_processor_is_none_of_the_devices() -> None:
    on = with_devices()
    first, *rest = (one._replace(kind="gpu", vendor_id=0x10DE, vendor="NVIDIA") for one in on.devices)
    inside = first._replace(vendor_id=0x1002, vendor="AMD")
    found = found_seats(on._replace(devices=(inside, *rest)), ("gpu",), None)
    assert [seat.address for seat in found.seats] == [one.address for one in rest]
    assert str(found.notes[1]) == f"only the kind NVIDIA gpu is planned, not AMD gpu {inside.address}: name others with --device"  # fmt: skip
    other = inside._replace(vendor_id=0x8086, vendor="Intel")
    for pair in ((inside, rest[0]), (other, rest[0]), (other, rest[0]._replace(vendor_id=0x1002))):
        assert found_seats(on._replace(devices=pair), ("gpu",), None).seats[0].address == rest[0].address


def test_torch_reads_the_kernel_s_file_alone_and_not_a_better_source() -> None:
    on = with_devices()
    claims = (Claim("numa_node", "/x/numa_node", "-1", None), Claim("local_cpulist", "/x/local_cpulist", "4-7", 1))
    device = on.devices[0]._replace(node=1, node_source="local_cpulist", claims=claims)
    seat = found_seats(on._replace(devices=(device,)), ("npu",), None).seats[0]
    assert (seat.node, seat.kernel_node) == (1, None)


def test_ranks_without_devices_are_dealt_over_the_nodes() -> None:
    found = found_seats(machine(Shape(2, 1, 1, 4)), ("npu",), 5)
    assert [seat.node for seat in found.seats] == [0, 0, 0, 1, 1]
    assert found.are_dealt
    with pytest.raises(UsageError, match="no accelerator is seen here"):
        found_seats(machine(Shape(2, 1, 1, 4)), ("npu",), None)


def test_more_ranks_than_devices_are_refused() -> None:
    found = found_seats(with_devices(), ("npu",), 2)
    assert len(first_ranks(found, 2)) == 2
    with pytest.raises(UsageError, match="--ranks 4: there are 3 devices"):
        first_ranks(found, 4)


def test_a_machine_without_accelerators_has_no_seats_of_its_own_and_one_with_some_all_of_them() -> None:
    assert own_seats(machine(Shape(2, 1, 1, 4)), ("npu",)) == Seats(())
    assert [seat.node for seat in own_seats(with_devices(), ("npu",)).seats] == [0, 1, 1]
