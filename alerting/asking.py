"""How the alerts of a group are asked: each for itself, or one after another over a scan that they share."""

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from functools import partial
from typing import Final

from alerting.evaluation_groups import NS_PER_SECOND, Group
from alerting.result_cache import ResultCache
from alerting.windows import View, Window, Windows
from errors import Overloaded, WeirError
from query.process.messages import Source
from query.process.result import Result
from query.question import Question
from query.service import QueryService, Resolve

# Two statements and more have something to share.
FEWEST: Final = 2
# A slow query delays the others of its group by a round.
ALONE_SECONDS: Final = 1.0
# Who is given back has to scan again.
SHARING_SECONDS: Final = 10.0

Run = Callable[[Question, Resolve], Result]


@dataclass(frozen=True, slots=True)
class Asked:
    """`run` runs a statement, as `QueryService.run`; `view` says what is to be read for a window. Once `is_usable` says
    no, other alerts are to be asked in another way. `seconds`: after so long the others are to be given back."""

    run: Run
    view: Callable[[Window], View]
    is_usable: Callable[[], bool]
    seconds: float


@dataclass(frozen=True, slots=True)
class Asking:
    """`answers` are those that need not be asked for."""

    windows: Windows
    queries: QueryService
    answers: ResultCache

    def alone(self) -> Asked:
        """Each alert for itself."""
        return Asked(partial(self.queries.run, is_gone=_never), self.windows.shared, _always, ALONE_SECONDS)

    @contextmanager
    def together(self, group: Group) -> Iterator[Asked]:
        """The alerts over one scan; each for itself if that fails. Raises Overloaded."""
        with ExitStack() as stack:
            try:
                asked = self._sharing(stack, group)
            except Overloaded:
                raise
            except WeirError:
                # Whatever it is, it is an error of one of them, and each is told its own.
                asked = None
            yield asked or self.alone()

    def _sharing(self, stack: ExitStack, group: Group) -> Asked | None:
        """None: there is nothing to share."""
        window = group.window
        if window is None:
            return None
        view = self.windows.shared(window)
        statements = self._unknown(group, view)
        if len(statements) < FEWEST:
            return None
        taken: list[View] = []

        def take() -> Source:
            taken.append(self.windows.fresh(window) if taken else view)
            return taken[-1].source

        def find(wanted: Window) -> View:
            return taken[-1] if wanted == window else self.windows.shared(wanted)

        question = _question(group, len(statements))
        shared = stack.enter_context(self.queries.sharing(question, statements, group.dataset, take))
        return Asked(shared.run, find, lambda: shared.is_usable, SHARING_SECONDS)

    def _unknown(self, group: Group, view: View) -> list[str]:
        """The statements whose answers are not known."""
        contents = [(each.origin.id, each.content.query) for each in group.alerts]
        unknown = (query for key, query in contents if self.answers.recall(key, query, view.fingerprint) is None)
        return list(dict.fromkeys(unknown))


def _question(group: Group, count: int) -> Question:
    """What the list of running queries shows while their scan runs. The first author counts as who asks."""
    author = group.alerts[0].origin.author
    text = f"{count} alerts over {group.dataset}"
    end_ns = int(group.window_end.timestamp()) * NS_PER_SECOND
    return Question(group.tenant, f"{author.kind}:{author.id}", text, end_ns, privileged=True)


def _never() -> bool:
    return False


def _always() -> bool:
    return True
