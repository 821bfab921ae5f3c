"""The command line ``sparsest``.

===============  ==============================================================================
``app``          the application, and what all commands share: logs, errors in one line, exit codes
``options``      options that several commands have, with their help
``data``         from a data file to a table, with notes on stderr; the loss that suits a target
``live``         where a search stands, on a terminal, and its record for the report
``output``       tables for people, JSON for machines, files that are not overwritten
``reporting``    what is done with a model that was found: its file, the report, the table or the JSON
``duration``     durations in words
``study_progress`` where a run of studies stands
===============  ==============================================================================

The other modules are the commands.  What ``--json`` prints is described in ``JSON.md``.
"""

from sparsest.cli import advise, cv, demo, fit, path, predict, study, verify, warmup
from sparsest.cli.app import app

__all__ = ["advise", "app", "cv", "demo", "fit", "path", "predict", "study", "verify", "warmup"]
