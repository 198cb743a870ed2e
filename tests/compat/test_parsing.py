"""The drivers read what the suites print."""

from tests.compat import kubectl_commands
from tests.compat.go_suite import parse
from tests.compat.suites import GO_SUITES, KUBECTL_KNOWN

OUTPUT = """
Summarizing 1 Failure:
  [FAIL] Client Create should fail [It] if the object exists
  /somewhere/client_test.go:12

Ran 3 of 4 Specs in 1.0 seconds
FAIL! -- 2 Passed | 1 Failed | 0 Pending | 1 Skipped
--- FAIL: TestClient (1.00s)
    --- FAIL: TestMapper/aggregated=false (0.01s)
FAIL
FAIL\texample.com/pkg/client\t1.0s
ok  \texample.com/pkg/cache\t2.5s
"""


def test_failed_specs_and_subtests_are_named() -> None:
    result = parse(OUTPUT)
    assert result.packages == {"example.com/pkg/cache"}
    assert result.failed == {
        "Client Create should fail [It] if the object exists",
        "TestMapper/aggregated=false",
    }


def test_a_package_that_does_not_build_is_named() -> None:
    result = parse("FAIL\texample.com/pkg/client [build failed]\nFAIL\n")
    assert result.failed == {"example.com/pkg/client"}
    assert not result.packages


def test_every_suite_has_a_version_and_reasons() -> None:
    for suite in GO_SUITES:
        assert suite.version.startswith("v") and suite.packages
        assert all(suite.known.values())
    assert all(KUBECTL_KNOWN.values())


COMMANDS = """
Recording: record_command_canary
Recording: run_pod_tests
Recording: run_rs_tests
Error when running run_rs_tests
Recording: run_wait_tests
"""


def test_groups_of_command_tests_that_fail_are_named() -> None:
    result = kubectl_commands.parse(COMMANDS, exit_code=1)
    assert result.begun == {"run_pod_tests", "run_rs_tests", "run_wait_tests"}
    assert result.failed == {"run_rs_tests"}


def test_a_run_of_command_tests_that_ends_early_has_failed() -> None:
    output = COMMANDS.replace("Error when running run_rs_tests\n", "")
    assert kubectl_commands.parse(output, exit_code=1).failed == {"run_wait_tests"}
    assert kubectl_commands.parse("", exit_code=1).failed == {"setup"}
    assert not kubectl_commands.parse(output, exit_code=0).failed
