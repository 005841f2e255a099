"""Samples of the same series from several places as one: files of an hour, of several hosts, rows in no file yet."""

from collections.abc import Sequence

import numpy as np

from promql.arrays import Bools, Floats, Ints
from promql.labels import Labels
from promql.series import Samples


def merged(parts: Sequence[Samples]) -> Samples | None:
    """The samples of all parts, each series in the order of time. None if a series has two samples of one time, whose
    order of arrival would have to be known, or if there are native histograms."""
    if any(each.histograms is not None for each in parts):
        return None
    parts = [each for each in parts if each.labels] or list(parts[:1])
    if len(parts) == 1:
        return parts[0]
    labels, rows = _united(parts)
    ordered = sorted(range(len(parts)), key=lambda at: int(parts[at].times.min(initial=0)))
    parts, rows = [parts[at] for at in ordered], [rows[at] for at in ordered]
    starts, places = _places(parts, rows, len(labels))
    samples = Samples(labels, starts, *_scattered(parts, places))
    if _is_ordered(samples):
        return samples
    sorted_samples = _sorted(samples)
    return sorted_samples if _is_ordered(sorted_samples) else None


def _united(parts: Sequence[Samples]) -> tuple[Sequence[Labels], list[Ints]]:
    """The label sets of all parts in order, and for each part where there its own are."""
    first = parts[0].labels
    if all(each.labels == first for each in parts):
        return first, [np.arange(len(first), dtype=np.int64)] * len(parts)
    labels = sorted({each for part in parts for each in part.labels})
    place = {each: row for row, each in enumerate(labels)}
    return labels, [np.array([place[each] for each in part.labels], dtype=np.int64) for part in parts]


def _places(parts: Sequence[Samples], rows: Sequence[Ints], count: int) -> tuple[Ints, list[Ints]]:
    """Where each series begins, and for each part where its samples go: after those of the parts before it."""
    counts = np.zeros((len(parts), count), dtype=np.int64)
    for number, (part, row) in enumerate(zip(parts, rows, strict=True)):
        counts[number, row] = np.diff(part.starts)
    starts = np.concatenate(([0], np.cumsum(counts.sum(axis=0), dtype=np.int64)))
    first = starts[:-1] + np.cumsum(counts, axis=0) - counts
    places = []
    for number, (part, row) in enumerate(zip(parts, rows, strict=True)):
        shift = first[number, row] - part.starts[:-1]
        places.append(np.repeat(shift, np.diff(part.starts)) + np.arange(len(part.times)))
    return starts, places


def _scattered(parts: Sequence[Samples], places: Sequence[Ints]) -> tuple[Ints, Floats, Bools | None]:
    count = sum(map(len, places))
    times, values = np.empty(count, dtype=np.int64), np.empty(count)
    stale = np.zeros(count, dtype=np.bool_) if any(each.stale is not None for each in parts) else None
    for part, place in zip(parts, places, strict=True):
        times[place], values[place] = part.times, part.values
        if stale is not None and part.stale is not None:
            stale[place] = part.stale
    return times, values, stale


def _is_ordered(samples: Samples) -> bool:
    """Whether each sample of a series is later than the one before it."""
    is_later = samples.times[1:] > samples.times[:-1]
    begins = samples.starts[1:-1]
    is_later[begins[(begins > 0) & (begins < len(samples.times))] - 1] = True
    return bool(is_later.all())


def _sorted(samples: Samples) -> Samples:
    order = np.lexsort((samples.times, samples.series_index))
    stale = None if samples.stale is None else samples.stale[order]
    return Samples(samples.labels, samples.starts, samples.times[order], samples.values[order], stale)
