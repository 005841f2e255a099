"""The hosts of a deployment: who is waited for, who is not, and who may be given up."""

import pytest

from errors import Conflict, HostLives, HostNotFound
from models import host
from models.base import connection, database

pytestmark = pytest.mark.usefixtures("database")
URL = "http://10.0.0.1:8000"


def fall_silent(name: str) -> None:
    with connection():
        database.execute_sql(
            "UPDATE host SET seen_at = seen_at - make_interval(secs => %s) WHERE name = %s",
            (host.LIVING_SECONDS + 1, name),
        )


def present() -> list[str]:
    return [each.name for each in host.present()]


def test_host_is_present_from_its_arrival_until_it_leaves_with_nothing_left() -> None:
    host.arrive("a", URL)
    assert present() == ["a"]

    host.stop("a", has_nothing_left=False)
    assert present() == ["a"]

    host.stop("a", has_nothing_left=True)
    assert present() == []
    host.arrive("a", URL)
    assert present() == ["a"]


def test_host_that_is_alive_is_not_dropped() -> None:
    host.arrive("a", URL)

    with pytest.raises(HostLives):
        host.drop("a")
    assert present() == ["a"]

    fall_silent("a")
    assert host.drop("a").url == URL
    assert present() == []


def test_dropped_host_that_gives_a_sign_of_life_is_present_again() -> None:
    host.arrive("a", URL)
    fall_silent("a")
    host.drop("a")

    host.beat("a", URL)

    assert present() == ["a"]
    assert host.list_all()[0].is_living


def test_host_that_never_was_cannot_be_dropped() -> None:
    with pytest.raises(HostNotFound):
        host.drop("nobody")


@pytest.mark.parametrize(("first", "second"), [(URL, None), (None, URL), (None, None)])
def test_hosts_that_could_not_read_each_other_do_not_run_side_by_side(first: str | None, second: str | None) -> None:
    host.arrive("a", first)

    with pytest.raises(Conflict, match="WEIR_ADVERTISE_URL"):
        host.arrive("b", second)
    host.arrive("a", first)

    assert present() == ["a"]


def test_second_host_of_a_name_does_not_start() -> None:
    """As from a copied data directory: only one of the two addresses would be asked."""
    host.arrive("a", URL)

    with pytest.raises(Conflict, match="copy"):
        host.arrive("a", "http://10.0.0.2:8000")

    host.arrive("a", URL)
    host.stop("a", has_nothing_left=False)
    host.arrive("a", "http://10.0.0.2:8000")


def test_host_that_is_alone_takes_the_place_of_one_that_was_and_is_gone() -> None:
    """As after a move to another machine, or a restore under a new name."""
    host.arrive("a", None)
    host.stop("a", has_nothing_left=False)

    host.arrive("b", None)


def test_host_without_an_address_is_missed_by_those_that_have_one() -> None:
    host.arrive("a", None)
    fall_silent("a")

    host.arrive("b", URL)

    assert present() == ["a", "b"]
