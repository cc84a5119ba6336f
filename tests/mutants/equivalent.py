"""Mutants that defend as much as the code does, and why no test can notice them."""

# ruff: noqa: E501 (names stand on one line)
from __future__ import annotations

from typing import Final

_SAVES_WORK: Final = "skips what would find nothing; without it the result is the same"
_FOR_TYPES: Final = "never true where it stands; the type checker asks for it"

_BY_REASON: Final = {
    _SAVES_WORK: """
        rdfcrawl/uri/guard/gate.py: _needs_no_lookup: pattern without '/'
        rdfcrawl/uri/guard/gate.py: _needs_no_lookup: pattern without '?'
        rdfcrawl/uri/guard/gate.py: _needs_no_lookup: pattern without '#'
        rdfcrawl/uri/guard/policy.py: _embedded(): if isinstance(address, IPv4Address)
        rdfcrawl/uri/guard/policy.py: literal_address(): if _is_ipv4(bare)
        rdfcrawl/uri/guard/gate.py: refusal_of(): without and (_needs_no_lookup(url))
        rdfcrawl/downloader/robots/parser.py: _Spelt.best(): rule.rank < found, not <=
        rdfcrawl/downloader/robots/tdm.py: TdmRules.of(): if not self.rules
        rdfcrawl/downloader/robots/parser.py: _iter_lines(): if b"\\0" not in line
    """,
    _FOR_TYPES: """
        rdfcrawl/uri/guard/gate.py: ConnectionGate.allowed(): without or (RefusalCause.RESERVED)
        rdfcrawl/rdf/extraction/sandbox.py: Sandbox._acquire(): if process.stdin is None or process.stdout is None
        rdfcrawl/rdf/extraction/sandbox.py: Sandbox._acquire(): without or (process.stdin is None)
        rdfcrawl/rdf/extraction/sandbox.py: Sandbox._acquire(): without or (process.stdout is None)
    """,
    "the end of a child ends its pipe, too; a confined child leaves it to no other": """
        rdfcrawl/rdf/extraction/sandbox.py: _Child.end(): call self.errors.close()
    """,
    "other systems than Linux have no such calls": """
        rdfcrawl/rdf/extraction/confinement.py: kernel_layers(): if sys.platform != "linux"
    """,
    "bounds the time of a line alone: no name of a use is as long": """
        rdfcrawl/downloader/robots/parser.py: _each_pair: pattern without '{1,32}'
    """,
    "bounds the memory of rules that sites share; each site has the same without it": """
        rdfcrawl/downloader/robots/policy.py: _paths_of(): len(rules) < _MAX_SHARED, not <=
        rdfcrawl/downloader/robots/policy.py: _MAX_SHARED: 16 times 1_000_000
        rdfcrawl/downloader/robots/policy.py: _shared_paths(): maxsize=256 times 1_000_000
    """,
    "no answer has this status": """
        rdfcrawl/monitor/pings/judging.py: PingResponse.is_accepted(): self.status <= 300, not <
    """,
    "its own formats are never used": """
        rdfcrawl/launch/scrapy_classes.py: SafeFormatter.__init__(): call super().__init__()
    """,
    "the table is complete, as tests/rdf/extraction/test_denied.py shows": """
        rdfcrawl/rdf/extraction/confinement.py: _numbers(): strict=False
    """,
}  # fmt: skip

EQUIVALENT: Final = {
    line.strip(): reason
    for reason, lines in _BY_REASON.items()
    for line in lines.strip().splitlines()
}
"""Reasons by the names of mutants."""
