"""What a type checker sees: the names that `__init__.py` imports when they are asked for."""

from heedful.auditing import Audit as Audit
from heedful.auditing import AuditSpec as AuditSpec
from heedful.auditing import Check as Check
from heedful.auditing import Estimate as Estimate
from heedful.auditing import Explanation as Explanation
from heedful.auditing import HeadView as HeadView
from heedful.auditing import Plan as Plan
from heedful.auditing import Relations as Relations
from heedful.auditing import audit as audit
from heedful.auditing import check as check
from heedful.auditing import compare as compare
from heedful.auditing import estimate as estimate
from heedful.auditing import explain as explain
from heedful.auditing import head_view as head_view
from heedful.auditing import relations as relations
from heedful.data import prepare as prepare
from heedful.entries import Piece as Piece
from heedful.errors import HeedfulError as HeedfulError
from heedful.extending import extend as extend
from heedful.interventions import restored as restored
from heedful.models import import_model as import_model
from heedful.runner import Choice as Choice
from heedful.runner import grid as grid
from heedful.runner import machine as machine
from heedful.runner import run_study as run_study
from heedful.store import Run as Run
from heedful.store import Store as Store
from heedful.store import store_at as store_at
from heedful.targets import Adapter as Adapter
from heedful.targets import AuditTarget as AuditTarget
from heedful.targets import Subject as Subject
from heedful.targets import open_subject as open_subject
from heedful.targets import open_target as open_target
from heedful.verdict import Decision as Decision
from heedful.verdict import Recommendation as Recommendation
from heedful.verdict import Settings as Settings
from heedful.verdict import Statement as Statement
from heedful.verdict import Verdict as Verdict
from heedful.verdict import judge as judge

__version__: str
