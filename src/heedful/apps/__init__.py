"""Pages that are served: `live` to ask a model, `annotation` to ask people; here their server."""

from heedful.lazy import face

__all__ = face(__name__)
