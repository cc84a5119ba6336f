"""What goes through the pipes between a process and the child that reads for it.

Frames on the pipes are `kind` (1 byte), `length` (4 bytes, big endian), how many
statements came so far (8 bytes; of chunks), and as many bytes as `length` says. In:
`J`, a job, and then `P`, the path of the document, or `B`, its bytes. Out: `F`, the
outcome as far as it is known at the begin, and again when it is known what a page asks
for; `C`, a chunk of N-Quads; `Z`, what came of a chunk in the child, see `bulk`; `E`,
the end with the outcome; `D`, the end as a disk refuses what may be taken later: the
number of the error; `L`, a wish for a context, which is answered by `K`, the
context, or `R`, why it cannot be had. End of input ends the process.
"""

from __future__ import annotations

import struct

HEADER = struct.Struct(">cIQ")
PIPE_BYTES = 2**20  # a chunk fits: the two processes need not take turns within one
