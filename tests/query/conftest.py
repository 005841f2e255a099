from collections.abc import Iterator

import pytest

from config import Settings
from query.service import QueryService


@pytest.fixture(scope="module")
def queries(tmp_path_factory: pytest.TempPathFactory) -> Iterator[QueryService]:
    """A query service of the module, with one query process."""
    made = QueryService(Settings(data_dir=tmp_path_factory.mktemp("queries"), query_concurrency=1))
    yield made
    made.close()
