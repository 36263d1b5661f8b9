"""Tables in memory to ask questions of, as they are or through laws."""

import numpy as np

import sfumato as sf
from sfumato.questions import Answer
from sfumato.questions.reply import reply
from sfumato.questions.sql import parse_question
from sfumato.table import Column, Table


def ask_table(table: Table, question: str, blocks: int = 1, manifest: sf.Manifest | None = None) -> Answer:
    """Answer a question from a table in memory, folded in some blocks."""
    columns = {c.name: c for c in table.all_columns}

    def fold(count):
        parts = [count(table.take(rows), rows) for rows in np.array_split(np.arange(table.rows), blocks)]
        total = parts[0]
        for part in parts[1:]:
            total = total + part
        return total

    return reply(parse_question(question, columns), question, fold, columns, manifest)


def release_column(column: Column, law: sf.Gaussian | None, seed: int) -> Column:
    """Return a column of true values as a law releases it, with fresh words."""
    if law is None:
        return column
    channel = law.on(column.attribute)
    present = ~np.isnan(column.values)
    words = np.random.default_rng(seed).integers(0, 2**64, (int(present.sum()), 2), dtype=np.uint64)
    values = np.full(len(column.values), np.nan)
    values[present] = channel.sample(column.values[present], words)
    return Column(column.attribute, channel, values)
