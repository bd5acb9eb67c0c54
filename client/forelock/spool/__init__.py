"""Rows on their way to the service, kept on disk until it has them.

A run appends every row to a file of its own before it goes on: nothing is lost when the run, the machine or the
service dies. Batches are cut from these files, each under a key that is written down before it is posted first, so
a batch that is posted again is answered as it was, and rows that are in stay whatever is posted later.

The files hold outcomes in the clear, as the run's own log does: they are readable by their owner alone and gone once
the service has them. Nothing here prints or logs what they hold.
"""

from forelock.spool.folders import Spool, Waiting, spool_folder
from forelock.spool.sending import Sending, send
from forelock.spool.writing import Head, Writer

__all__ = ["Head", "Sending", "Spool", "Waiting", "Writer", "send", "spool_folder"]
