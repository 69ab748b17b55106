"""Numbers of devices and the PCI devices that they mean, as drivers tell them."""

from __future__ import annotations

from pathlib import Path

from numascope.host.pci.numbers import NO_NUMBERS, Order, read_device_numbers, with_nvml
from numascope.host.pci.nvml import NvmlReport
from numascope.host.root import HostRoot


def write(folder: Path, path: str, text: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)


def link(folder: Path, path: str, target: str) -> None:
    file = folder / path
    file.parent.mkdir(parents=True, exist_ok=True)
    file.symlink_to(target)


def gpu(folder: Path, address: str, minor: str) -> None:
    text = f"Model: \t\t Some GPU\nIRQ:   \t\t 25\nBus Location: \t {address}\nDevice Minor: \t {minor}\nGPU Excluded:\t No\n"
    write(folder, f"proc/driver/nvidia/gpus/{address}/information", text)


def test_a_minor_number_is_no_index(tmp_path: Path) -> None:
    """The driver numbers device files in the order in which it met the devices, CUDA and NVML by address."""
    gpu(tmp_path, "0000:c1:00.0", "0")
    gpu(tmp_path, "0000:3b:00.0", "1")
    gpu(tmp_path, "10000:02:00.0", "2")
    found = read_device_numbers(HostRoot(str(tmp_path)))

    assert found.files == {"nvidia0": "0000:c1:00.0", "nvidia1": "0000:3b:00.0", "nvidia2": "10000:02:00.0"}
    assert found.orders == {
        "nvidia": Order(("0000:3b:00.0", "0000:c1:00.0", "10000:02:00.0"), "PCI order", is_sure=False)
    }


def test_what_the_driver_does_not_tell_is_left_out(tmp_path: Path) -> None:
    gpu(tmp_path, "0000:3b:00.0", "N/A")
    write(tmp_path, "proc/driver/nvidia/gpus/strange/information", "Device Minor: 3\n")

    assert read_device_numbers(HostRoot(str(tmp_path))).files == {}


def test_device_files_are_told_by_where_the_kernel_hangs_them(tmp_path: Path) -> None:
    link(tmp_path, "sys/class/devdrv-class/davinci4/device", "../../../0000:c1:00.0")
    link(tmp_path, "sys/class/devdrv-class/davinci_manager/device", "../../../0000:c1:00.0")
    link(tmp_path, "sys/class/drm/renderD129", "../../devices/pci0000:00/0000:00:01.0/0000:03:00.0/drm/renderD129")
    link(tmp_path, "sys/class/drm/renderD128", "../../devices/platform/soc/drm/renderD128")

    assert read_device_numbers(HostRoot(str(tmp_path))).files == {
        "davinci4": "0000:c1:00.0",
        "renderD129": "0000:03:00.0",
    }


def test_amd_gpus_are_counted_in_the_drivers_order(tmp_path: Path) -> None:
    nodes = "sys/class/kfd/kfd/topology/nodes"
    write(tmp_path, f"{nodes}/0/properties", "cpu_cores_count 64\nlocation_id 0\ndomain 0\n")
    write(tmp_path, f"{nodes}/1/properties", "cpu_cores_count 0\nlocation_id 49408\ndomain 0\n")
    write(tmp_path, f"{nodes}/2/properties", "cpu_cores_count 0\nlocation_id 768\ndomain 0\n")

    assert read_device_numbers(HostRoot(str(tmp_path))).orders["amd"].addresses == ("0000:c1:00.0", "0000:03:00.0")


def test_nvmls_own_order_goes_before_the_order_of_addresses(tmp_path: Path) -> None:
    gpu(tmp_path, "0000:3b:00.0", "0")
    numbers = read_device_numbers(HostRoot(str(tmp_path)))
    told = with_nvml(numbers, NvmlReport((), (), ("0000:c1:00.0", None)))

    assert told.orders["nvidia"] == Order(("0000:c1:00.0", None), "NVML", is_sure=True)
    assert told.files == numbers.files
    assert with_nvml(numbers, NvmlReport((), (), ())) is numbers


def test_a_host_without_drivers_tells_nothing(tmp_path: Path) -> None:
    assert read_device_numbers(HostRoot(str(tmp_path))) == NO_NUMBERS
