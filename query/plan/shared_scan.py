"""Several questions about the same rows as few: those with the same keys become one, each of whose calls looks at the
rows of its own question alone. So a thousand alerts over one dataset read it once."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace

from query.pg.types import INT8
from query.plan.partial_aggregates import Question
from query.plan.plain_predicates import conjunction
from query.plan.traverse import substitute_columns
from query.plan.tree import AggregateCall, Column, Scalar


@dataclass(frozen=True, slots=True)
class Share:
    """Where the answer to a `question` is in that to a shared one: the columns of its calls. `present` counts the rows
    of a group that are the question's; None: it has all groups."""

    question: Question
    calls: tuple[str, ...]
    present: str | None


@dataclass(frozen=True, slots=True)
class SharedQuestion:
    """A question that answers others, too."""

    question: Question
    shares: tuple[Share, ...]


def shared_questions(questions: Sequence[Question]) -> Iterator[SharedQuestion]:
    """The questions, which are about one dataset, as few; each of them is in one."""
    types = {name: each for question in questions for name, each in zip(question.names, question.types, strict=True)}
    alike: dict[tuple[Scalar, ...], list[tuple[Question, Question]]] = {}
    for question in questions:
        renamed = _about(question, sorted(types))
        alike.setdefault(renamed.keys, []).append((question, renamed))
    for keys, members in alike.items():
        calls: dict[AggregateCall, str] = {}
        shares = tuple(_share(question, renamed, calls) for question, renamed in members)
        names = tuple(sorted(types))
        whole = Question(names, tuple(types[name] for name in names), keys, tuple(calls), ())
        yield SharedQuestion(whole, shares)


def _about(question: Question, names: Sequence[str]) -> Question:
    """The same question with its columns numbered as among all these."""
    numbers = {name: number for number, name in enumerate(names)}
    pairs = zip(question.names, question.types, strict=True)
    moved: dict[str, Scalar] = {
        f"s{number}": Column(each, f"s{numbers[name]}") for number, (name, each) in enumerate(pairs)
    }
    return replace(
        question,
        keys=tuple(substitute_columns(each, moved) for each in question.keys),
        calls=tuple(substitute_columns(each, moved) for each in question.calls),
        predicates=tuple(substitute_columns(each, moved) for each in question.predicates),
    )


def _share(question: Question, renamed: Question, calls: dict[AggregateCall, str]) -> Share:
    """The question's share, whose calls are among `calls` from now on."""

    def column(call: AggregateCall) -> str:
        wheres = [*renamed.predicates, *([] if call.where is None else [call.where])]
        narrowed = replace(call, where=conjunction(wheres) if wheres else None)
        return calls.setdefault(narrowed, f"c{len(calls)}")

    is_partial = bool(renamed.keys and renamed.predicates)
    present = column(AggregateCall(INT8, "count", ())) if is_partial else None
    return Share(question, tuple(map(column, renamed.calls)), present)
