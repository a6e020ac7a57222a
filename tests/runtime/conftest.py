"""The small models as fixtures, and their module importable."""

import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from lith_models import GRAPHS, Case, write


@pytest.fixture(scope="session")
def cases(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Case]:
    folder = tmp_path_factory.mktemp("lith")
    return {name: write(name, folder) for name in GRAPHS}


@pytest.fixture(params=sorted(GRAPHS))
def case(request: pytest.FixtureRequest, cases: dict[str, Case]) -> Case:
    return cases[request.param]
