"""What a type checker sees: the names that `__init__.py` imports when they are asked for."""

from heedful.auditing.audit import audit as audit
from heedful.auditing.cost import Estimate as Estimate
from heedful.auditing.cost import estimate as estimate
from heedful.auditing.explanation import Explanation as Explanation
from heedful.auditing.explanation import explain as explain
from heedful.auditing.plan import Plan as Plan
from heedful.auditing.result import Audit as Audit
from heedful.auditing.spec import AuditSpec as AuditSpec
from heedful.catalogue import Piece as Piece
from heedful.corpora.prepare import prepare as prepare
from heedful.edits.restored import restored as restored
from heedful.errors import HeedfulError as HeedfulError
from heedful.extending import extend as extend
from heedful.runner.choice import Choice as Choice
from heedful.runner.grid import grid as grid
from heedful.runner.machine import machine as machine
from heedful.runner.study import run_study as run_study
from heedful.store import Run as Run
from heedful.store import Store as Store
from heedful.store import store_at as store_at
from heedful.subjects.module import Adapter as Adapter
from heedful.subjects.open import open_subject as open_subject
from heedful.subjects.subject import Subject as Subject
from heedful.verdict.decide import Decision as Decision
from heedful.verdict.recommend import Recommendation as Recommendation
from heedful.verdict.settings import Settings as Settings
from heedful.verdict.statement import Statement as Statement
from heedful.verdict.verdict import Verdict as Verdict
from heedful.verdict.verdict import judge as judge

__version__: str
