"""What goes into a capture of a file's text: the machine, and nobody's name, number or command."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from numascope.host.archive import reduce
from numascope.host.archive.reduce import Aliases


def test_serial_numbers_are_taken_out_of_cpuinfo() -> None:
    raw = (
        b"processor\t: 0\nHardware\t: BCM2835\nSerial\t\t: 10000000c0ffee00\nserial number\t: 17\n\nmachine UUID: 4a\n"
    )
    assert reduce.cpuinfo(raw) == b"processor\t: 0\nHardware\t: BCM2835\n\n"
    s390 = b"processor 0: version = FF,  identification = 045AB8,  machine = 2964\n"
    assert reduce.cpuinfo(s390) == b"processor 0: version = FF,  identification = 000000,  machine = 2964\n"


def test_of_the_kernels_command_line_only_words_of_scheduler_numa_and_cgroups_stay() -> None:
    raw = (
        b"BOOT_IMAGE=/vmlinuz root=UUID=1b2c ro quiet isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 numa=off"
        b" numa_balancing=disable ip=10.0.0.7 nr_cpus=8 hugepagesz=1G hugepages=16 default_hugepagesz=1G"
        b' systemd.unified_cgroup_hierarchy=0 systemd.hostname=secret dyndbg="file x isolcpus=9" irqaffinity=0-1'
        b" cgroup_disable=memory sched_verbose mitigations=off password=isolcpus -- isolcpus=7\n"
    )
    assert reduce.kernel_command_line(raw) == (
        b"isolcpus=managed_irq,domain,2-3 nohz_full=2-3 rcu_nocbs=2-3 numa=off numa_balancing=disable nr_cpus=8"
        b" hugepagesz=1G hugepages=16 default_hugepagesz=1G systemd.unified_cgroup_hierarchy=0 irqaffinity=0-1"
        b" cgroup_disable=memory sched_verbose\n"
    )


@given(st.binary(max_size=300))
def test_nothing_else_of_any_command_line_stays(raw: bytes) -> None:
    assert reduce.kernel_command_line(b'secret="' + raw.replace(b'"', b"") + b'"') == b"\n"


def test_who_built_a_kernel_is_not_said() -> None:
    raw = b"Linux version 6.1.0-18-amd64 (jane@builder.example.org) (gcc-12) #1 SMP PREEMPT_DYNAMIC Debian 6.1.76-1\n"
    assert reduce.version(raw) == b"Linux version 6.1.0-18-amd64\n"


def test_of_proc_stat_the_cpus_stay() -> None:
    assert reduce.stat(b"cpu  1 2\ncpu0 1 2\nintr 5 6\nbtime 1700000000\n") == b"cpu  1 2\ncpu0 1 2\n"


def test_numbers_that_no_other_gpu_has_are_taken_out() -> None:
    amd = b"simd_count 416\nlocation_id 25344\nhive_id 12609507387757274807\nunique_id 1801979520617338022\nnum_xcc 1\n"
    assert reduce.kfd_properties(amd) == b"simd_count 416\nlocation_id 25344\nnum_xcc 1\n"
    nvidia = b"Model: \t\t NVIDIA H100 80GB HBM3\nGPU UUID: \t GPU-5a1c\nVideo BIOS: \t 96.00\nBus Location: \t 0000:3b:00.0\n"
    assert reduce.nvidia_information(nvidia) == b"Model: \t\t NVIDIA H100 80GB HBM3\nBus Location: \t 0000:3b:00.0\n"


def test_of_sysinfo_type_and_hypervisor_stay() -> None:
    raw = b"Manufacturer:   IBM\nType:  2964\nSequence Code:  00000000000DA1E7\nLPAR Name:  BANK\nVM00 Name: JANE\n"
    raw += b"VM00 Control Program: z/VM    6.3.0\n"
    assert reduce.sysinfo(raw) == b"Manufacturer:   IBM\nType:  2964\nVM00 Control Program: z/VM    6.3.0\n"


def test_the_same_name_gets_the_same_stand_in_wherever_it_stands() -> None:
    aliases = Aliases()
    path = b"/user.slice/user-1000.slice/jane.scope"
    assert aliases.cgroup(b"1:name=systemd:/x\n2:name=janes:/x\n3:cpu,cpuset:" + path + b"\n0::/a:b\nnonsense\n") == (
        b"1:name=systemd:/group1\n3:cpu,cpuset:/user.slice/group2/group3\n0::/group4\n"
    )
    assert aliases.cpuset(path + b"\n") == b"/user.slice/group2/group3\n"
    assert aliases.group_path("sys/fs/cgroup/cpuset/user.slice/user-1000.slice") == (
        "sys/fs/cgroup/cpuset/user.slice/group2"
    )


def test_a_containers_runtime_stays_and_its_name_does_not() -> None:
    aliases = Aliases()
    assert aliases.group_path("/kubepods.slice/kubepods-pod5a1c.slice/cri-containerd-0c42.scope") == (
        "/kubepods.slice/kubepods-group1/cri-containerd-group2"
    )
    assert aliases.group_path("/docker/0c42a1") == "/docker/group3"


def test_of_mounts_those_of_cgroups_stay_and_of_their_options_those_that_are_words() -> None:
    aliases = Aliases()
    mountinfo = (
        b"25 1 254:0 / / rw shared:1 - ext4 /dev/disk/by-uuid/1b2c rw\n"
        b"30 25 0:26 /janes\\040pod /sys/fs/cgroup/cpuset rw,nosuid shared:9 - cgroup none rw,cpuset,release_agent=/jane\n"
        b"31 25 0:27 / /sys/fs/cgroup/memory rw - cgroup cgroup rw,memory\n"
        b"32 25 0:28 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs lxcfs rw,user_id=0\n"
        b"33 25 0:29 / /home/jane nfs4 broken\n"
    )
    assert aliases.mountinfo(mountinfo) == (
        b"1 0 0:1 /group1 /sys/fs/cgroup/cpuset rw - cgroup cgroup rw,cpuset\n"
        b"2 0 0:2 /proc/cpuinfo /proc/cpuinfo rw - fuse.lxcfs fuse.lxcfs rw\n"
    )
    assert aliases.mounts(b"none /dev/cpuset cgroup rw,noprefix,cpuset 0 0\n//jane/home /mnt cifs rw 0 0\n") == (
        b"cgroup /dev/cpuset cgroup rw,noprefix,cpuset 0 0\n"
    )


def test_hardware_addresses_in_names_of_devices_get_stand_ins() -> None:
    aliases = Aliases()
    assert aliases.device_path("sys/class/net/enx0c42a1b2c3d4") == "sys/class/net/enx000000000001"
    assert aliases.device_path("../0000:3b:00.0/net/enx0c42a1b2c3d4") == "../0000:3b:00.0/net/enx000000000001"
    assert aliases.device_path("sys/class/net/enp59s0f1np1") == "sys/class/net/enp59s0f1np1"
