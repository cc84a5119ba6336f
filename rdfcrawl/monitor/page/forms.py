"""Read forms of visitors, which may be malformed."""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, Final
from urllib.parse import parse_qsl

from aiohttp import web
from aiohttp.http_exceptions import HttpProcessingError

if TYPE_CHECKING:
    from collections.abc import Mapping

_TYPE: Final = "application/x-www-form-urlencoded"
_MOST_FIELDS: Final = 16
_BODY_SECS: Final = 15.0


async def read_form(request: web.Request) -> Mapping[str, str]:
    """Return the fields of a form; of several with one name, the last.

    Raises:
        web.HTTPException: the body is no form, too large, or cannot be read.
    """
    if request.content_type != _TYPE:
        raise web.HTTPUnsupportedMediaType(reason=f"a form must be {_TYPE}")
    try:
        async with asyncio.timeout(_BODY_SECS):
            body = await request.read()
    except TimeoutError as error:
        raise web.HTTPRequestTimeout from error
    except (HttpProcessingError, web.RequestPayloadError) as error:
        raise web.HTTPBadRequest(reason="the body cannot be read") from error
    text = body.decode("utf-8", "replace")
    try:
        fields = parse_qsl(text, keep_blank_values=True, max_num_fields=_MOST_FIELDS)
    except ValueError as error:
        raise web.HTTPBadRequest(reason="the form has too many fields") from error
    return dict(fields)
