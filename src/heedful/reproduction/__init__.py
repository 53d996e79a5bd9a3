"""Published beside measured, over all papers: compact rows, judgements, one document.

Rows are summaries of probe runs, small enough to be kept in a repository; the document is made
of them and of nothing else, so it can be made again byte for byte.
"""

from heedful.lazy import face

__all__ = face(__name__)
