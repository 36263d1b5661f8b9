"""The table of people and its plan, for tests of this room."""

from tests.support.people import owner, plan, plan_by_id, reals_plan, table  # noqa: F401 - fixtures
