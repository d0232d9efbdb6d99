"""Functions that make far more than is asked of them, and what to call in their place: one entry for each.

An entry stands in the file of its field; `WAYS` has all of them. The first that was running is proposed. Those of
`GENERAL` save something wherever they are written, and are asked after all rules that know more; those of `LIBRARIES`
know the library only, and are asked where nothing else is known.
"""

from . import (
    agents,
    alignment,
    all_at_once,
    arrays,
    drawings,
    engines,
    exact_numbers,
    files,
    forecasts,
    generation,
    graphs,
    layers,
    learning,
    long_texts,
    matrices,
    models,
    neighbours,
    networks,
    numerics,
    pages,
    pairs,
    pictures,
    row_objects,
    sciences,
    scores,
    statistics,
    tables,
    tensors,
    texts,
    training,
    wide_tables,
)
from .libraries import LIBRARIES
from .way import LesserWay, examples, first_running

__all__ = ["GENERAL", "LIBRARIES", "WAYS", "LesserWay", "examples", "first_running"]

WAYS = (
    *neighbours.WAYS,
    *pairs.WAYS,
    *generation.WAYS,
    *scores.WAYS,
    *layers.WAYS,
    *forecasts.WAYS,
    *alignment.WAYS,
    *all_at_once.WAYS,
    *wide_tables.WAYS,
    *pictures.WAYS,
    *arrays.WAYS,
    *numerics.WAYS,
    *row_objects.WAYS,
    *tables.WAYS,
    *texts.WAYS,
    *engines.WAYS,
    *files.WAYS,
    *pages.WAYS,
    *matrices.WAYS,
    *graphs.WAYS,
    *drawings.WAYS,
    *long_texts.WAYS,
    *exact_numbers.WAYS,
    *sciences.WAYS,
    *statistics.WAYS,
    *models.WAYS,
    *networks.WAYS,
    *agents.WAYS,
    *learning.WAYS,
    *tensors.WAYS,
    *training.WAYS,
)
GENERAL = (
    *matrices.GENERAL,
    *files.GENERAL,
    *row_objects.GENERAL,
    *tables.GENERAL,
    *arrays.GENERAL,
    *pictures.GENERAL,
    *pages.GENERAL,
    *texts.GENERAL,
)
