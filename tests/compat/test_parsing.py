"""The drivers read what the suites print."""

from tests.compat.go_suite import parse
from tests.compat.suites import GO_SUITES, NO_DRIVER

OUTPUT = """
Summarizing 1 Failure:
  [FAIL] Client Create should fail [It] if the object exists
  /somewhere/client_test.go:12

Ran 3 of 4 Specs in 1.0 seconds
FAIL! -- 2 Passed | 1 Failed | 0 Pending | 1 Skipped
--- FAIL: TestClient (1.00s)
Ran 5 of 5 Specs in 1.0 seconds
SUCCESS! -- 5 Passed | 0 Failed | 0 Pending | 0 Skipped
"""


def test_passed_and_failed_specs_are_counted_over_packages() -> None:
    result = parse(OUTPUT)
    assert result.passed == 7
    assert result.failed == {"Client Create should fail [It] if the object exists"}


def test_an_output_without_summaries_has_nothing_passed() -> None:
    assert parse("build failed").passed == 0


def test_every_suite_has_a_version_and_reasons() -> None:
    for suite in GO_SUITES:
        assert suite.version.startswith("v") and suite.packages
        assert all(suite.known.values())
    assert all(NO_DRIVER.values())
