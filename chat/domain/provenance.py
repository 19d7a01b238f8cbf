"""Which file wrote an answer: the version that its run names."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from django.db.models import Q

from chat.domain.answers import Reading
from chat.models import ModelVersion


def of(readings: Iterable[Reading]) -> dict[UUID, ModelVersion]:
    """The version behind each answer, by the answer's id. Where its run tells none, it is the only
    one of its model; of a model with several it stays unknown."""
    answers = []
    for reading in readings:
        run = reading.generation
        model_id = (run and run.served_by_id) or reading.message.language_model_id
        if model_id:
            answers.append((reading.message.pk, model_id, run.version_id if run else None))
    known = Q(pk__in={told for _, _, told in answers if told})
    rows = ModelVersion.objects.filter(known | Q(language_model__in={of for _, of, _ in answers}))
    found = {version.pk: version for version in rows}
    of_model: defaultdict[UUID, list[ModelVersion]] = defaultdict(list)
    for version in found.values():
        of_model[version.language_model_id].append(version)
    wrote = {}
    for answer, model_id, told in answers:
        if told is not None:
            wrote[answer] = found[told]
        elif len(of_model[model_id]) == 1:
            [wrote[answer]] = of_model[model_id]
    return wrote
