"""The memory that a search may take follows the machine and the limit of a container."""

from sparsest.runtime import memory


def test_a_part_of_what_is_available():
    assert memory.available_memory() >= 0.0
    assert memory.default_max_memory() >= 2e9
    assert memory.default_max_memory() <= max(2e9, 0.75 * memory.available_memory())


def test_the_limit_of_a_container(tmp_path):
    assert memory._of_group(tmp_path) is None
    (tmp_path / "memory.current").write_text("1000000\n")
    (tmp_path / "memory.max").write_text("max\n")
    assert memory._of_group(tmp_path) is None
    (tmp_path / "memory.max").write_text("5000000\n")
    assert memory._of_group(tmp_path) == 4e6
    (tmp_path / "memory.max").write_text("500000\n")
    assert memory._of_group(tmp_path) == 0.0


def test_a_limit_holds_within_its_context():
    with memory.limiting_memory(5.0):
        assert memory.memory_limit() == 5.0
        with memory.limiting_memory(7.0):
            assert memory.memory_limit() == 7.0
        assert memory.memory_limit() == 5.0
    assert memory.memory_limit() >= 2e9
