"""Subjects: from what a user types to a model on trial with its texts."""

from heedful.subjects.document import Document
from heedful.subjects.documents import Documents, read_documents
from heedful.subjects.labels import mapping_warning
from heedful.subjects.module import Adapter
from heedful.subjects.open import open_subject
from heedful.subjects.subject import Subject, predicted
from heedful.subjects.words import split_words

__all__ = [
    "Adapter",
    "Document",
    "Documents",
    "Subject",
    "mapping_warning",
    "open_subject",
    "predicted",
    "read_documents",
    "split_words",
]
