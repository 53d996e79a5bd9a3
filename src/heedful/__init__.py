"""Heedful puts attention on trial: do these weights explain these predictions?

import heedful
found = heedful.audit("path/to/model", "reviews.csv", n=200)
found.verdict, found.to_pandas(), found.to_html("page.html")
"""

from heedful.lazy import face
from heedful.privacy import keep_quiet

keep_quiet()

__version__ = "0.1.0"
__all__ = sorted([*face(__name__), "__version__"])
