"""Frames in the pipes between a process and its reading child.

A frame is `kind` (1 byte), `length` (4 bytes, big endian), the number of statements so
far (8 bytes; of chunks), and `length` bytes. In: `J`, a job, and then `P`, the path of
the document, or `B`, its bytes. Out: `F`, the outcome known at the beginning, and again
when the reservations of a page are known; `C`, a chunk of N-Quads; `Z`, a part packed
in the child, see `bulk`; `E`, the end with the outcome; `D`, the end because a disk
refuses data for now: the number of the error; `L`, a request for a context, answered by
`K`, the context, or `R`, the reason of its absence. End of input ends the process.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct(">cIQ")
PIPE_BYTES = 2**20  # a chunk fits: the two processes need not take turns within one
