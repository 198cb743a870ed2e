"""What the agent says of its machine."""

from pathlib import Path

from quarterdeck.agents.machine.facts import describe_machine


def test_identity_and_hardware_addresses_are_read(tmp_path: Path) -> None:
    (tmp_path / "etc").mkdir()
    (tmp_path / "etc/machine-id").write_text("0123\n")
    for name, address in (("lo", "00:00:00:00:00:00"), ("eth0", "52:54:00:12:34:56")):
        (tmp_path / "sys/class/net" / name).mkdir(parents=True)
        (tmp_path / "sys/class/net" / name / "address").write_text(f"{address}\n")
    (tmp_path / "sys/class/net/bond").mkdir()
    facts = describe_machine(tmp_path)
    assert facts["machineId"] == "0123"
    assert facts["mac"] == ["52:54:00:12:34:56"]


def test_machine_without_any_of_it_has_a_name_at_least(tmp_path: Path) -> None:
    facts = describe_machine(tmp_path)
    assert facts["hostname"]
    assert (facts["machineId"], facts["mac"]) == ("", [])
