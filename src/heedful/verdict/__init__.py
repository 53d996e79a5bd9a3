"""The verdict: from the table of measurements to decisions with intervals. No torch, no models."""

from heedful.verdict.decide import Decision
from heedful.verdict.settings import Settings
from heedful.verdict.statement import Statement
from heedful.verdict.verdict import Verdict, judge

__all__ = ["Decision", "Settings", "Statement", "Verdict", "judge"]
