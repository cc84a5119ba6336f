"""Find the cause of a failed Spark job in its traces."""

from __future__ import annotations

import re
from typing import Final

_MAX_CHARS: Final = 500
_find_causes: Final = re.compile(
    r"^(?:Caused by: )?([\w.$]*(?:Error|Exception|Fault)\b.*)", re.MULTILINE
).findall


def reason_in(text: str) -> str:
    r"""Return the most informative line of Java and Python traces.

    >>> reason_in("Failed:\n  File x\nOSError: full\nCaused by: a.Exception\n\tat b\n")
    'a.Exception'
    >>> reason_in("[JAVA_GATEWAY_EXITED] Java is missing.")
    '[JAVA_GATEWAY_EXITED] Java is missing.'
    """
    causes = _find_causes(text)
    return (causes[-1] if causes else text.strip().partition("\n")[0])[:_MAX_CHARS]
