from heedful.schemas.files import schema as schema
from heedful.schemas.files import schema_names as schema_names
from heedful.schemas.versions import check_version as check_version
from heedful.schemas.versions import is_newer as is_newer
from heedful.schemas.versions import unread as unread
