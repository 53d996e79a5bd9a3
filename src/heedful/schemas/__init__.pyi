from heedful.schemas.documents import check_version as check_version
from heedful.schemas.documents import is_newer as is_newer
from heedful.schemas.documents import schema as schema
from heedful.schemas.documents import schema_names as schema_names
from heedful.schemas.documents import unread as unread
