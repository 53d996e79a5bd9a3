from heedful.apps.live.app import STATIC as STATIC
from heedful.apps.live.app import Busy as Busy
from heedful.apps.live.app import TooSlow as TooSlow
from heedful.apps.live.app import Turns as Turns
from heedful.apps.live.app import live_app as live_app
from heedful.apps.live.models import Limits as Limits
from heedful.apps.live.models import Opened as Opened
