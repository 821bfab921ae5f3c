"""The memory that a search may take follows the machine and the limits of control groups."""

from pathlib import Path

import pytest

from sparsest.runtime import memory

MEMINFO = "MemTotal: 32000000 kB\nMemFree: 1000 kB\nMemAvailable: 16000000 kB\n"
STAT = {
    "memory": "inactive_file 1\nactive_file 1\ntotal_inactive_file 300000000\ntotal_active_file 100000000\n",
    "cgroup2": "anon 5\ninactive_file 300000000\nactive_file 100000000\nslab_reclaimable 0\n",
}
V1 = "/sys/fs/cgroup/memory"
V2 = "/sys/fs/cgroup"


def made_up(root: Path, groups: str, mounts: str) -> Path:
    """A root folder with the files of /proc."""
    (root / "proc/self").mkdir(parents=True)
    (root / "proc/meminfo").write_text(MEMINFO)
    (root / "proc/self/cgroup").write_text(groups)
    (root / "proc/self/mountinfo").write_text(mounts)
    return root


def group_v1(root: Path, path: str, limit: int, used: int) -> None:
    folder = root / (V1 + path).lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.limit_in_bytes").write_text(f"{limit}\n")
    (folder / "memory.usage_in_bytes").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT["memory"])


def group_v2(root: Path, path: str, limit: int | str, used: int) -> None:
    folder = root / (V2 + path).lstrip("/")
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "memory.max").write_text(f"{limit}\n")
    (folder / "memory.current").write_text(f"{used}\n")
    (folder / "memory.stat").write_text(STAT["cgroup2"])


MOUNT_V1 = (
    f"35 31 0:32 / {V1} rw,relatime shared:9 - cgroup cgroup rw,memory\n32 31 0:29 / /cpu rw - cgroup cgroup rw,cpu\n"
)
MOUNT_V2 = f"41 31 0:38 / {V2} rw,relatime - cgroup2 cgroup2 rw\n"


@pytest.fixture
def first(tmp_path):
    return made_up(tmp_path, "5:cpu:/elsewhere\n4:memory:/a/b\n0::/\n", MOUNT_V1)


@pytest.fixture
def second(tmp_path):
    return made_up(tmp_path, "0::/a/b\n", MOUNT_V2)


def test_a_part_of_what_is_available():
    assert memory.available_memory() >= 0.0
    assert memory.default_max_memory() > 0.0
    assert memory.default_max_memory() <= max(2e9, 0.75 * memory.available_memory())


def test_without_limits_the_machine_counts(first):
    group_v1(first, "/a/b", 9223372036854771712, 10**9)
    assert memory.available_memory(first) == 16e6 * 1024
    assert memory.default_max_memory(first) == 8e6 * 1024
    assert memory.store_limit(1 << 28, first) == 1 << 28


def test_own_group_and_page_cache_of_version_1(first):
    group_v1(first, "/a/b", 10**9, 9 * 10**8)
    assert memory.available_memory(first) == 5e8
    assert memory.default_max_memory(first) == 2.5e8
    assert memory.store_limit(1 << 28, first) == 62_500_000
    assert memory.store_limit(1000, first) == 1000


def test_own_group_and_page_cache_of_version_2(second):
    group_v2(second, "/a/b", 10**9, 9 * 10**8)
    group_v2(second, "", "max", 10**10)
    assert memory.available_memory(second) == 5e8


@pytest.mark.parametrize("make", [group_v1, group_v2])
def test_the_tightest_of_the_enclosing_groups_counts(tmp_path, make):
    if make is group_v1:
        root = made_up(tmp_path, "4:memory,hugetlb:/a/b\n", MOUNT_V1)
    else:
        root = made_up(tmp_path, "0::/a/b\n", MOUNT_V2)
    make(root, "/a/b", 4 * 10**9, 10**9)
    make(root, "/a", 2 * 10**9, 15 * 10**8)
    assert memory.available_memory(root) == 9e8


def test_a_group_mounted_in_a_container(tmp_path):
    """The mounted folder is the container's own group."""
    mount = MOUNT_V1.replace("0:32 / ", "0:32 /docker/c ")
    root = made_up(tmp_path, "4:memory:/docker/c/inner\n", mount)
    group_v1(root, "", 3 * 10**9, 10**9)
    assert memory.available_memory(root) == 24e8
    group_v1(root, "/inner", 2 * 10**9, 10**9)
    assert memory.available_memory(root) == 14e8


def test_a_path_outside_the_mount(tmp_path):
    root = made_up(tmp_path, "0::/../other\n", MOUNT_V2.replace("0:38 / ", "0:38 /docker/c "))
    group_v2(root, "", 2 * 10**9, 10**9)
    assert memory.available_memory(root) == 14e8


def test_a_full_group_leaves_an_eighth_of_its_limit(second):
    group_v2(second, "/a/b", 10**9, 14 * 10**8)
    assert memory.available_memory(second) == 0.0
    assert memory.default_max_memory(second) == 1.25e8


def test_unknown_groups_are_left_out(tmp_path, second):
    assert memory.available_memory(second) == 16e6 * 1024
    group_v2(second, "/a/b", 10**9, 5 * 10**8)
    (second / "sys/fs/cgroup/a/b/memory.stat").write_text("inactive_file many\n")
    assert memory.available_memory(second) == 16e6 * 1024
    (second / "proc/self/mountinfo").unlink()
    assert memory.available_memory(second) == 16e6 * 1024


def test_a_limit_holds_within_its_context():
    with memory.limiting_memory(5.0):
        assert memory.memory_limit() == 5.0
        with memory.limiting_memory(7.0):
            assert memory.memory_limit() == 7.0
        assert memory.memory_limit() == 5.0
    assert memory.memory_limit() > 7.0
