"""The command line ``sparsest``.

==================  ==================================================================================
``app``             the application, and the logs, one-line errors and exit codes of all commands
``options``         options that several commands share, with their help
``structure``       options for groups of features and rules about them
``data``            from a data file to a table, with notes on stderr; the usual loss for a target
``live``            the progress of a search on a terminal, and its record for the report
``output``          tables for people, JSON for programs, and the check that no file is overwritten
``reporting``       output of commands that fit a model: its file, the report, the table or the JSON
``stability``       the bootstrap of a selection: ``--bootstrap``
``study_progress``  the progress of a run of studies
==================  ==================================================================================

The other modules are the commands.  What ``--json`` prints is described in ``JSON.md``.
"""

from sparsest.cli import advise, convert, cv, demo, fit, path, predict, study, verify, warmup
from sparsest.cli.app import app

__all__ = ["advise", "app", "convert", "cv", "demo", "fit", "path", "predict", "study", "verify", "warmup"]
