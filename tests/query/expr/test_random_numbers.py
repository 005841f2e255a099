"""Random numbers after a seed. That they are PostgreSQL's own the corpus tells (tests/oracle)."""

from query.expr.random_numbers import RandomNumbers, state_of


def test_calls_take_turns_and_the_next_statement_goes_on() -> None:
    alone = RandomNumbers(state_of(0.25))
    expected = alone.call().doubles(12).tolist()
    numbers = RandomNumbers(state_of(0.25))
    single, double = numbers.call(), numbers.call(width=2)

    later, earlier = double.doubles(6).tolist(), single.doubles(3).tolist()

    assert earlier == expected[0:9:3]
    assert later == [expected[each] for each in (1, 2, 4, 5, 7, 8)]
    assert RandomNumbers(numbers.end()).call().doubles(3).tolist() == expected[9:]
    assert RandomNumbers(alone.end()).start != numbers.end()


def test_numbers_are_the_same_however_many_are_asked_for_at_once() -> None:
    pieces, whole = RandomNumbers(state_of(-1)).call(), RandomNumbers(state_of(-1)).call()

    assert [*pieces.doubles(2), *pieces.doubles(3)] == whole.doubles(5).tolist()


def test_a_statement_that_draws_nothing_leaves_the_seed() -> None:
    numbers = RandomNumbers(state_of(0))
    numbers.call()

    assert numbers.end() == state_of(0)


def test_without_a_seed_no_sequence_repeats() -> None:
    first, second = RandomNumbers(), RandomNumbers()

    assert first.call().doubles(4).tolist() != second.call().doubles(4).tolist()
    assert next(first.call().integers()) != next(second.call().integers())
    assert first.end() is None
