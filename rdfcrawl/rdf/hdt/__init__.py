"""HDT 1.0: RDF as a sorted dictionary of terms and a compact list of their numbers.

`read_hdt` yields the statements of a file as N-Quads, `write_hdt` writes a file from
N-Quads; both use bounded memory. There is a module per part of the format.

Source: W3C Member Submission "Binary RDF Representation for Publication and Exchange
(HDT)", 30 March 2011, and https://www.rdfhdt.org/hdt-binary-format/.
"""

from rdfcrawl.rdf.hdt.reader import mapped, read_hdt
from rdfcrawl.rdf.hdt.writer import HdtReport, write_hdt

__all__ = ["HdtReport", "mapped", "read_hdt", "write_hdt"]
