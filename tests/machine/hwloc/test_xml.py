from __future__ import annotations

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from lstopo import lstopo

from numascope.cpuset import CpuSet
from numascope.errors import InputError
from numascope.machine.hwloc import parse as hwloc_parse
from numascope.machine.hwloc.xml import read_hwloc_xml
from numascope.machine.objects import Access, Cache, Core, HugePages, Machine, Package

HEAD = '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE topology SYSTEM "hwloc2.dtd">\n'
ROOT = (
    'type="Machine" os_index="0" cpuset="0x0000000f" complete_cpuset="0x0000001f" allowed_cpuset="0x00000007" '
    'nodeset="0x00000007" complete_nodeset="0x0000000f" allowed_nodeset="0x00000003" gp_index="1"'
)
SMALL = (
    HEAD
    + f"""<topology version="2.0">
  <object {ROOT}>
    <info name="Architecture" value="x86_64"/>
    <info name="HostName" value="secret"/>
    <object type="NUMANode" os_index="2" cpuset="0x0000000f" nodeset="0x00000004" gp_index="7" local_memory="8192"/>
    <object type="Package" os_index="0" cpuset="0x00000003" nodeset="0x00000005" gp_index="2">
      <info name="CPUModel" value="Model   Ten"/>
      <object type="MemCache" cpuset="0x00000003" nodeset="0x00000001" gp_index="3" cache_size="4096" depth="1">
        <object type="NUMANode" os_index="0" cpuset="0x00000003" nodeset="0x00000001" gp_index="4" local_memory="4096">
          <page_type size="4096" count="1"/>
          <page_type size="2097152" count="5"/>
        </object>
      </object>
      <object type="L2Cache" cpuset="0x00000003" nodeset="0x00000005" gp_index="5" cache_size="2048" depth="2" cache_type="0">
        <object type="Core" os_index="6" cpuset="0x00000003" nodeset="0x00000005" gp_index="6">
          <object type="PU" os_index="0" cpuset="0x00000001" nodeset="0x00000005" gp_index="8"/>
          <object type="PU" os_index="1" cpuset="0x00000002" nodeset="0x00000005" gp_index="9"/>
        </object>
      </object>
      <object type="Bridge" gp_index="20" bridge_type="0-1" depth="0" bridge_pci="0000:[3a-3b]">
        <object type="Bridge" gp_index="21" bridge_type="1-1" bridge_pci="0000:[3b-3b]" pci_busid="0000:3a:00.0" pci_type="0604 [8086:2030] [0000:0000] 00">
          <object type="PCIDev" gp_index="22" pci_busid="0000:3B:00.0" pci_type="0302 [10de:2330] [0000:0000] a1"/>
        </object>
        <object type="PCIDev" gp_index="23" pci_busid="0000:3a:02.0" pci_type="0300 [1a03:2000] [0000:0000] 41"/>
        <object type="PCIDev" gp_index="24" pci_busid="0000:3a:03.0" pci_type="0200 [8086:1572] [0000:0000] 41"/>
      </object>
    </object>
    <object type="Package" os_index="1" cpuset="0x0000000c" nodeset="0x00000006" gp_index="10">
      <object type="NUMANode" os_index="1" cpuset="0x0000000c" nodeset="0x00000002" gp_index="11"/>
      <object type="Group" os_index="4" subtype="Cluster" cpuset="0x0000000c" nodeset="0x00000006" gp_index="12" kind="222"/>
    </object>
    <object type="PCIDev" gp_index="25" pci_busid="0000:01:00.0" pci_type="1200 [19e5:d802] [0000:0000] 00"/>
  </object>
  <distances2 type="NUMANode" nbobjs="2" kind="5" name="NUMALatency" indexing="os">
    <indexes length="4">0 1 </indexes>
    <u64values length="6">10 21 </u64values>
    <u64values length="6">22 10 </u64values>
  </distances2>
  <memattr name="ReadLatency" flags="6">
    <memattr_value target_obj_type="NUMANode" target_obj_gp_index="7" value="300" initiator_cpuset="0x00000003"/>
  </memattr>
  <cpukind cpuset="0x00000003"><info name="CoreType" value="IntelCore"/><info name="FrequencyMaxMHz" value="4000"/></cpukind>
  <cpukind cpuset="0x0000000c"><info name="CoreType" value="IntelAtom"/><info name="LinuxCapacity" value="512"/></cpukind>
</topology>
"""
)


@pytest.fixture
def small() -> Machine:
    return read_hwloc_xml(SMALL.encode(), "small.xml", io=True)


def test_cpus_are_offline_and_allowed_as_the_root_says(small: Machine) -> None:
    assert (str(small.cpus.online), str(small.cpus.offline), str(small.cpus.allowed)) == ("0-3", "4", "0-2")
    assert str(small.nodes_allowed) == "0-1"
    assert str(small.nodes_offline) == "3"
    assert small.source == "small.xml"


def test_architecture_and_model_are_told_and_the_host_name_is_nowhere(small: Machine) -> None:
    assert (small.arch, small.model) == ("x86_64", "Model Ten")
    assert "secret" not in repr(small)


def test_packages_cores_clusters_and_caches_have_their_cpus(small: Machine) -> None:
    first, second = CpuSet.of([0, 1]), CpuSet.of([2, 3])
    assert small.packages == (Package(0, first), Package(1, second))
    assert small.cores == (Core(first, 0, None, 0, 6, "P"),)
    assert [(group.package, group.id, group.cpus) for group in small.clusters] == [(1, 4, second)]
    assert small.caches == (Cache(2, "Unified", 2, first), Cache(1, "Unified", 4, first, memory_side=True))


def test_nodes_have_memory_huge_pages_distances_and_access(small: Machine) -> None:
    near, far, memory = small.nodes
    assert (near.memory_kib, near.huge_pages, near.packages) == (4, (HugePages(2048, 5, None),), (0,))
    assert (near.distances, far.distances, memory.distances) == ({0: 10, 1: 21}, {0: 22, 1: 10}, {})
    assert far.memory_kib is None
    assert memory.access == (Access(1, CpuSet.of([0]), 300, None, None, None),)


def test_a_node_that_names_cpus_of_smaller_nodes_has_none_and_a_note_says_so(small: Machine) -> None:
    assert [str(node.cpus) for node in small.nodes] == ["0-1", "2-3", ""]
    assert small.node_of == {0: 0, 1: 0, 2: 1, 3: 1}
    assert any("node 2 counts as without CPUs" in note for note in small.notes)


def test_kinds_of_cores_are_told_where_there_are_several(small: Machine) -> None:
    assert [(kind.kind, kind.capacity, kind.max_khz) for kind in small.kinds] == [
        ("P", None, 4_000_000),
        ("E", 512, None),
    ]


def test_a_device_is_near_the_one_node_with_cpus_of_where_it_hangs(small: Machine) -> None:
    found = {device.address: (device.kind, device.node, device.node_source) for device in small.devices}
    assert found == {
        "0000:01:00.0": ("npu", None, None),
        "0000:3b:00.0": ("gpu", 0, "hwloc xml"),
        "0000:3a:03.0": ("nic", 0, "hwloc xml"),
    }
    gpu = next(device for device in small.devices if device.kind == "gpu")
    assert gpu.path == ("pci0000:3a", "0000:3a:00.0", "0000:3b:00.0")
    assert str(gpu.local_cpus) == "0-1"


def test_nics_are_left_out_unless_asked_for() -> None:
    machine = read_hwloc_xml(SMALL.encode(), "small.xml")
    assert {device.kind for device in machine.devices} == {"gpu", "npu"}


def topology(inside: str) -> str:
    return f'<topology version="2.0">\n{inside}</topology>'


BOMB = '<!DOCTYPE topology [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;">]>\n<topology version="2.0"/>'
DEFAULTS = '<!DOCTYPE topology [<!ATTLIST object cpuset CDATA "0xff">]>\n<topology version="2.0"/>'
BAD = {
    "": "bad.xml:1:1: not XML: no element found",
    "CPUs 0-3": "bad.xml:1:1: not XML: syntax error",
    topology("<object"): "bad.xml:2:8: not XML: not well-formed",
    '<?xml version="1.0" encoding="UTF-16"?><topology version="2.0"/>': "bad.xml: the topology has no object",
    BOMB: "declares entities: refused",
    DEFAULTS: "declares attributes: refused",
    "<svg/>": 'bad.xml:1:1: expected <topology version="2.0">, as lstopo writes it, not <svg>',
    "<topology/>": "bad.xml:1:1: a file of hwloc 1: convert it with lstopo of hwloc 2, lstopo --if xml -i OLD.xml NEW.xml",
    '<topology version="3.0"/>': 'bad.xml:1:1: a file of version "3.0": versions 2.x are read',
    topology('<object type="System"/>'): 'bad.xml:2:1: expected one root object, of type Machine, not "System"',
    topology("<object/>"): "bad.xml:2:1: an object without a type",
    topology('<object type="Machine"/>'): "bad.xml:2:1: the root object has no CPU in its cpuset",
    topology(
        '<object type="Machine" cpuset="0-3"/>'
    ): 'bad.xml:2:1: cpuset: expected a set such as "0x0000000f", not "0-3"',
    topology(
        f'<object type="Machine" cpuset="0x1{"," * 2047}"><object type="PU" os_index="65504"/></object>'
    ): "bad.xml",
    topology(f'<object type="Machine" cpuset="0x1{"," * 2048}"/>'): "bad.xml:2:1: cpuset: expected a set",
    topology(f"<object {ROOT}/><object {ROOT}/>"): "bad.xml:2:",
    topology(f'<object {ROOT}><object type="NUMANode"/></object>'): "a NUMA node needs an os_index of its own",
    topology(f'<object {ROOT}><object type="NUMANode" os_index="70000"/></object>'): "a NUMA node needs an os_index",
    topology(f"<object {ROOT}/>"): "bad.xml:2:1: no object of type PU: it describes no hardware thread",
    topology(
        f'<object {ROOT}>\n<object type="PU" os_index="99999999999"/></object>'
    ): "bad.xml:3:1: a PU needs an os_index, up to 65535",
    topology(f'<object {ROOT}>\n<object type="PU"/></object>'): "bad.xml:3:1: a PU needs an os_index, up to",
    topology(
        f'<object {ROOT}>\n<object type="NUMANode" os_index="0" local_memory="{(1 << 57) + 1}"/></object>'
    ): "bad.xml:3:1: local_memory: 144115188075855873 bytes, more than any machine has",
    topology(
        f'<object {ROOT}>\n<object type="L3Cache" cpuset="0x1" cache_size="{1 << 60}"><object type="PU" os_index="0"/></object></object>'
    ): "bad.xml:3:1: cache_size: 1152921504606846976 bytes",
    topology(
        f'<object {ROOT}>\n<object type="NUMANode" os_index="0"><page_type size="2097152" count="{1 << 40}"/></object></object>'
    ): "bad.xml:3:1: 1099511627776 pages of 2097152 bytes, more than any machine has",
    topology(
        f'<object {ROOT}><object type="Package" os_index="x" cpuset="0x1"/></object>'
    ): "os_index: expected a number",
    topology(
        f'<object {ROOT}><object type="PU" os_index="0"/><object type="PCIDev" pci_busid="x"/></object>'
    ): "a PCI device without a pci_busid",
    topology(
        f'<object {ROOT}/><distances2 type="NUMANode" kind="5"><indexes>0 1</indexes></distances2>'
    ): "the distances",
    topology(f'<object {ROOT} name="{"x" * 65_537}"/>'): "bad.xml:2:1: an attribute of more than 65536 characters",
    topology(f"<object {ROOT}>{'<a>' * 99}"): "more than 100 elements inside each other",
    topology(f"<object {ROOT}>{'<a/>' * 200_000}"): "more than 200000 elements",
}


@pytest.mark.parametrize(("text", "message"), BAD.items(), ids=[message[:60] for message in BAD.values()])
def test_a_file_that_cannot_be_used_is_refused_with_its_place(text: str, message: str) -> None:
    if message == "bad.xml":
        assert len(read_hwloc_xml(text.encode(), "bad.xml").cpus.online) == 1
        return
    with pytest.raises(InputError) as raised:
        read_hwloc_xml(text.encode(), "bad.xml")
    assert message in str(raised.value)


def test_a_file_that_is_too_large_is_refused_unread() -> None:
    with pytest.raises(InputError, match="more than the 67108864 that are read"):
        read_hwloc_xml(bytes(hwloc_parse.LARGEST_FILE + 1), "large.xml")


def test_a_document_type_that_lies_elsewhere_is_never_fetched(tmp_path: Path) -> None:
    (tmp_path / "evil.dtd").write_text('<!ENTITY name "from outside">')
    text = SMALL.replace('"hwloc2.dtd"', f'"file://{tmp_path}/evil.dtd"').replace("Model   Ten", "Model &name; Ten")
    machine = read_hwloc_xml(text.encode(), "small.xml")
    assert "outside" not in str(machine.model)


def accepted_or_refused(data: bytes) -> None:
    with suppress(InputError):
        read_hwloc_xml(data, "any")


@given(st.binary(max_size=400))
def test_any_bytes_are_a_machine_or_one_error(data: bytes) -> None:
    accepted_or_refused(data)


@settings(max_examples=300)
@given(
    st.integers(0, len(SMALL)), st.integers(0, 40), st.text(max_size=12) | st.sampled_from(["<", '"', "0x", ",", "-1"])
)
def test_a_file_that_was_tampered_with_is_a_machine_or_one_error(at: int, width: int, instead: str) -> None:
    accepted_or_refused((SMALL[:at] + instead + SMALL[at + width :]).encode("utf-8", "replace"))


@given(st.data())
def test_no_value_of_an_attribute_brings_down_the_reader(data: st.DataObject) -> None:
    pieces = SMALL.split('"')
    values = st.one_of(
        st.sampled_from(
            ["", "-1", "4294967295", "99999999999999999999", "0x0", "0xffffffff,,0x1", "Machine", "NUMANode", "PCIDev"]
        ),
        st.text(st.characters(exclude_characters='<&"', exclude_categories=["Cs", "Cc"]), max_size=8),
    )
    changed = data.draw(st.dictionaries(st.sampled_from(range(13, len(pieces), 2)), values, max_size=6))
    accepted_or_refused('"'.join(changed.get(at, piece) for at, piece in enumerate(pieces)).encode())


def test_a_file_of_hwloc_1_can_be_converted_as_the_error_says(tmp_path: Path) -> None:
    old = tmp_path / "old.xml"
    sets = 'cpuset="0x00000001" complete_cpuset="0x00000001" online_cpuset="0x00000001" allowed_cpuset="0x00000001"'
    cpu = f'<object type="Core" os_index="0" {sets}>\n<object type="PU" os_index="0" {sets}/>\n</object>'
    memory = 'local_memory="4096">\n<page_type size="4096" count="1"/>'
    head = HEAD.replace("hwloc2", "hwloc")
    old.write_text(
        f'{head}<topology>\n<object type="Machine" os_index="0" {sets} {memory}\n{cpu}\n</object>\n</topology>\n'
    )
    lstopo("--if", "xml", "-i", str(old), str(tmp_path / "new.xml"))
    assert str(read_hwloc_xml((tmp_path / "new.xml").read_bytes(), "new.xml").cpus.online) == "0"
