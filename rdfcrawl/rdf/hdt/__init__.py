"""HDT 1.0: RDF as a sorted dictionary of terms and a compact list of their numbers.

`read_hdt` gives the statements of a file as N-Quads, `write_hdt` makes a file of
N-Quads. Both work in bounded memory, whatever the size of the file. The modules are
the parts of the format: control information, checksums, packed integers, bitmaps,
the front-coded dictionary and the bitmap triples.

Source: W3C Member Submission "Binary RDF Representation for Publication and Exchange
(HDT)", 30 March 2011, and https://www.rdfhdt.org/hdt-binary-format/.
"""

from rdfcrawl.rdf.hdt.reader import read_hdt
from rdfcrawl.rdf.hdt.writer import HdtReport, write_hdt

__all__ = ["HdtReport", "read_hdt", "write_hdt"]
