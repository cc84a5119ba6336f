"""Texts of all queries, built from checked terms."""

from __future__ import annotations

import itertools
import re
from collections.abc import Iterator
from dataclasses import replace
from typing import TYPE_CHECKING, Final

from rdfcrawl.core.namespaces import DCAT, DCTERMS, XSD
from rdfcrawl.rdf.queries import iri, text

if TYPE_CHECKING:
    from rdfcrawl.core.source_tasks import BlankNaming, RowOrder, SparqlPart, SparqlTask


_ARQ_LABEL: Final = "<http://jena.apache.org/ARQ/function#bnode>"
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:")


# -- patterns ----------------------------------------------------------------------


def probe(variant: int) -> str:
    """Query any blank node and its label; 0: by STR, 1: by Jena's function."""
    key = "STR(?b)" if variant == 0 else f"{_ARQ_LABEL}(?b)"
    return f"SELECT ?b ({key} AS ?k) WHERE {{ {_ANY_BLANK} }} LIMIT 1"


def some_blanks(offset: int) -> str:
    """Query four blank nodes, in the order in which the endpoint finds them."""
    end = f"LIMIT 4 OFFSET {offset}"
    return f"SELECT DISTINCT ?b WHERE {{ {_ANY_BLANK} }} {end}"


_ANY_BLANK: Final = " UNION ".join(
    f"{{ {pattern} FILTER(isBlank(?b)) }}"
    for triple in ("?b ?p ?o", "?s ?p ?b")
    for pattern in (triple, f"GRAPH ?g {{ {triple} }}")
)


def graphs(task: SparqlTask) -> str:
    """Query names of graphs; 0 and 1: with counts, 0 and 2: in order."""
    pattern = "GRAPH ?g { ?s ?p ?o }"
    bounds = ((">", task.after), (">=", task.part.low), ("<=", task.part.high))
    if conditions := [f"STR(?g) {sign} {text(key)}" for sign, key in bounds if key]:
        pattern += f" FILTER({' && '.join(conditions)})"
    order = f" ORDER BY STR(?g) LIMIT {task.limit}" if task.variant in (0, 2) else ""
    if task.variant >= 2:
        return f"SELECT DISTINCT ?g WHERE {{ {pattern} }}{order}"
    return f"SELECT ?g (COUNT(*) AS ?n) WHERE {{ {pattern} }} GROUP BY ?g{order}"


def default_graph(variant: int) -> str:
    """Query a triple in only 0: a named graph, 1: the default graph."""
    named, default = "GRAPH ?g { ?s ?p ?o }", "?s ?p ?o"
    inner, outer = (default, named) if variant == 0 else (named, default)
    # As a table: many endpoints have no standard format for ASK.
    return f"SELECT ?s WHERE {{ {outer} FILTER NOT EXISTS {{ {inner} }} }} LIMIT 1"


def graph_contents(task: SparqlTask) -> str:
    """Query complete graphs, by VALUES or (1) by a FILTER.

    A single empty name is the default graph.
    """
    names, more = task.graphs, labels(task.naming, "s", "o")
    if len(names) == 1:
        return f"SELECT ?s ?p ?o{more} WHERE {{ {in_graph(names[0], '?s ?p ?o')} }}"
    before = f"VALUES ?g {{ {' '.join(map(iri, names))} }} "
    after = f" FILTER({' || '.join(f'?g = {iri(name)}' for name in names)})"
    before, after = ("", after) if task.variant else (before, "")
    pattern = f"{before}GRAPH ?g {{ ?s ?p ?o }}{after}"
    return f"SELECT ?g ?s ?p ?o{more} WHERE {{ {pattern} }}"


def count(part: SparqlPart, naming: BlankNaming) -> str:
    """Query the number of triples."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {_pattern(part, naming)} }}"


def split(task: SparqlTask) -> str:
    """Query the predicates (or classes) of a part.

    A variant is 0: with counts, 1: without counts, 2: with counts, all in any order.
    """
    part, naming = task.part, task.naming
    name = "o" if part.predicate else "p"
    condition = f"STR(?{name}) > {text(task.after)}"
    if name == "o":
        condition = f"isIRI(?o) && {condition}"
    pattern = _pattern(part, naming, condition)
    end = f"ORDER BY STR(?{name}) LIMIT {task.limit}"
    if task.variant != 1:
        columns = f"?{name} (COUNT(*) AS ?n)"
        end = end if task.variant == 0 else ""
        return f"SELECT {columns} WHERE {{ {pattern} }} GROUP BY ?{name} {end}"
    return f"SELECT DISTINCT ?{name} WHERE {{ {pattern} }} {end}"


COLUMNS_FROM: Final = 4  # variants with columns


def hashes(task: SparqlTask) -> str:
    """Query the counts of the rows whose hashes begin alike.

    `task.offset` is the number of hexadecimal digits, `task.variant` that of further
    bits, by which the next digit is rounded down. Above `COLUMNS_FROM`, there are
    columns for these bits.
    """
    part, n_digits = task.part, task.offset
    key = f"SUBSTR({_HASH}, 1, {n_digits})" if n_digits else '""'
    last, columns = f"SUBSTR({_HASH}, {n_digits + 1}, 1)", "(COUNT(*) AS ?n)"
    if task.variant > COLUMNS_FROM:
        columns += "".join(_iter_sums(task.variant - COLUMNS_FROM))
    elif task.variant:
        rounded = '"0"'
        for digit in "0123456789abcdef"[:: 16 >> task.variant][1:]:
            rounded = f'IF({last} < "{digit}", {rounded}, "{digit}")'
        key = f"CONCAT({key}, {rounded})"
    # The hash is bound here, also without bounds.
    bounded = part if part.hash_low else replace(part, hash_low="0")
    binding = f"BIND({key} AS ?k)"
    if task.variant > COLUMNS_FROM:
        binding += f" BIND({last} AS ?d)"
    pattern = _pattern(bounded, task.naming, binding=binding)
    return f"SELECT ?k {columns} WHERE {{ {pattern} }} GROUP BY ?k"


def sum_names(task: SparqlTask) -> list[str]:
    """Return the columns of a table of hashes that have its counts."""
    if task.variant <= COLUMNS_FROM:
        return ["n"]
    return [f"n{place}" for place in range(1 << (task.variant - COLUMNS_FROM))]


def _iter_sums(n_bits: int) -> Iterator[str]:
    """Yield columns that count the digits ?d by their first bits."""
    for place, start in enumerate(range(0, 16, 16 >> n_bits)):
        end = start + (16 >> n_bits)
        bounds = [f'?d >= "{start:x}"'] if start else []
        bounds += [f'?d < "{end:x}"'] if end < 16 else []
        yield f" (SUM(IF({' && '.join(bounds)}, 1, 0)) AS ?n{place})"


def page(task: SparqlTask) -> str:
    """Query the rows after a key, in the order of their keys."""
    if not task.order:
        where = f"WHERE {{ {_pattern(task.part, task.naming)} }}"
        return f"SELECT {_columns(task)} {where} LIMIT {task.limit}"
    key = key_expression(task.order, task.naming)
    condition = f"{key} > {text(task.after)}" if task.after else ""
    pattern = _pattern(task.part, task.naming, condition)
    columns = f"{_columns(task)} ({key} AS ?k)"
    order = f"ORDER BY {key}"
    return f"SELECT {columns} WHERE {{ {pattern} }} {order} LIMIT {task.limit}"


def offset(task: SparqlTask) -> str:
    """Query the rows after an offset; 0: in order, 1: in any order."""
    where = f"WHERE {{ {_pattern(task.part, task.naming)} }}"
    free = " ".join(f"?{name}" for name in free_variables(task.part))
    order = f"ORDER BY {free} " if task.variant == 0 else ""
    end = f"LIMIT {task.limit} OFFSET {task.offset}"
    return f"SELECT {_columns(task)} {where} {order}{end}"


# -- keys --------------------------------------------------------------------------


def subject_key(naming: BlankNaming, name: str) -> str:
    """Return an expression that maps each term of a variable to a string."""
    if naming == "arq":
        return f"IF(isBlank(?{name}), {_ARQ_LABEL}(?{name}), STR(?{name}))"
    return f"STR(?{name})"


def key_expression(order: RowOrder, naming: BlankNaming) -> str:
    """Return the expression that sorts the rows of a page."""
    if order == "o":
        if naming in ("", "stable", "local"):
            return 'COALESCE(MD5(STR(?o)), "-")'  # a blank node has no STR
        return f"MD5({subject_key(naming, 'o')})"
    key = subject_key(naming, "s")
    if order == "so":
        return f'CONCAT({key}, " ", {key_expression("o", naming)})'
    return f"MD5({key})" if order == "h" else key


def free_variables(part: SparqlPart) -> tuple[str, ...]:
    """Return the variables in the rows of a part, which fixes the other terms."""
    fixed = {"s": part.subject, "p": part.predicate, "o": part.cls}
    return tuple(name for name, value in fixed.items() if not value)


def _columns(task: SparqlTask) -> str:
    free = free_variables(task.part)
    nodes = [name for name in free if name != "p"]
    return " ".join(f"?{name}" for name in free) + labels(task.naming, *nodes)


def labels(naming: BlankNaming, *names: str) -> str:
    """Return columns with permanent labels, if the endpoint has such labels."""
    if naming not in ("str", "arq"):
        return ""
    return "".join(
        f' (IF(isBlank(?{name}), {subject_key(naming, name)}, "") AS ?{name}_label)'
        for name in names
    )


def is_blank_key(naming: BlankNaming, key: str) -> bool:
    """Return whether the key of a subject is of a blank node."""
    if naming == "arq":
        return not _SCHEME.match(key)
    return naming in ("key", "str") and key.startswith(("nodeID://", "_:"))


def subject_term(naming: BlankNaming, key: str) -> str:
    """Return the term of a subject in a query.

    Blank nodes are addressed as `<nodeID://b1>` (Virtuoso) or `<_:label>` (Jena).
    """
    if naming == "arq" and is_blank_key(naming, key):
        return iri(f"_:{key}")
    return iri(key)


def _pattern(
    part: SparqlPart, naming: BlankNaming, condition: str = "", *, binding: str = ""
) -> str:
    subject = subject_term(naming, part.subject) if part.subject else "?s"
    predicate = iri(part.predicate) if part.predicate else "?p"
    obj = iri(part.cls) if part.cls else "?o"
    conditions = [condition] if condition else []
    conditions += _conditions(part, naming)
    inner = f"{subject} {predicate} {obj}"
    if part.hash_low or part.hash_high:
        inner += _row_hash(part, naming)
        bounds = ((">=", part.hash_low), ("<", part.hash_high))
        conditions += [f"{_HASH} {sign} {text(key)}" for sign, key in bounds if key]
    if binding:
        inner += f" {binding}"
    if conditions:
        inner += f" FILTER({' && '.join(conditions)})"
    return in_graph(part.graph, inner)


_HASH: Final = "?h"


# Characters that are counted by their positions, and the number of the last ones of a
# row that are.
_ALPHABET: Final = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ/-_. "
_LAST_CHARS: Final = {"s": 10, "p": 2, "o": 10}


def _row_hash(part: SparqlPart, naming: BlankNaming) -> str:
    """Return a pattern that binds a hash, to spread the rows of a part evenly.

    The hash of characters has four digits: of a sum of their positions in an alphabet,
    each with another factor.
    """
    free = free_variables(part)
    keys = [f'COALESCE({subject_key(naming, x)}, "")' for x in free]
    if part.hashing != "chars":
        key = keys[0] if len(keys) == 1 else f"CONCAT({', '.join(keys)})"
        return f" BIND(MD5({key}) AS {_HASH})"
    ends = [
        f"SUBSTR({key}, IF(STRLEN({key}) > {n}, STRLEN({key}) - {n - 1}, 1))"
        for key, n in ((key, _LAST_CHARS[x]) for key, x in zip(keys, free, strict=True))
    ]
    n_chars = sum(_LAST_CHARS[x] for x in free)
    terms = (
        f"{40_503 * n**3 % 65_536 | 1} * STRLEN(STRBEFORE({text(_ALPHABET)}, "
        f"SUBSTR(?e, {n}, 1)))"
        for n in range(1, n_chars + 1)
    )
    digits = (
        f'SUBSTR("0123456789abcdef", 1 + <{XSD}integer>('
        f"FLOOR(?x / {16**n}) - 16 * FLOOR(?x / {16 ** (n + 1)})), 1)"
        for n in (3, 2, 1, 0)
    )
    end = f"CONCAT({', '.join(ends)})" if len(ends) > 1 else ends[0]
    return (
        f" BIND({end} AS ?e) BIND({' + '.join(terms)} AS ?x)"
        f" BIND(CONCAT({', '.join(digits)}) AS {_HASH})"
    )


def _conditions(part: SparqlPart, naming: BlankNaming) -> list[str]:
    key = subject_key(naming, "s")
    found = []
    if part.rows == "ground" and not part.cls:
        found.append("!isBlank(?o)")
    if part.no_iri:
        found.append("!isIRI(?o)")
    if part.obj:
        found.append(f"{key_expression('o', naming)} = {text(part.obj)}")
    if part.subject:  # the other conditions are on the variable ?s
        return found
    if part.low:
        found.append(f"{key} > {text(part.low)}")
    if part.high:
        found.append(f"{key} <= {text(part.high)}")
    if part.rows in ("iri", "ground"):
        found.append("isIRI(?s)")
    if part.rows == "blank":
        found.append("isBlank(?s)")
    return found


def in_graph(name: str, pattern: str) -> str:
    """Return a pattern in a named graph, or in the default graph."""
    return f"GRAPH {iri(name)} {{ {pattern} }}" if name else pattern


DATASET: Final = f"<{DCAT}Dataset>"
_WITH_BLANK = "?s ?p ?o FILTER(isBlank(?s) || isBlank(?o))"
# Nodes described along with a dataset, not the objects of other properties.
_DESCRIBED_ALONG: Final = (
    f"?r <{DCAT}distribution> {{}} .",
    f"?r <{DCAT}contactPoint> {{}} .",
    f"?r <{DCTERMS}publisher> {{}} .",
    f"?r <{DCTERMS}creator> {{}} .",
    f"?r <{DCAT}distribution> ?d . ?d <{DCAT}accessService> {{}} .",
)
_OF_CATALOG = f"{{}} <{DCAT}dataset> ?r ."
_NOT_OTHER_ENTRIES = f"FILTER(?p != <{DCAT}dataset> && ?p != <{DCAT}record>)"


def count_blank_triples(part: SparqlPart) -> str:
    """Query the number of triples with a blank node."""
    return f"SELECT (COUNT(*) AS ?n) WHERE {{ {in_graph(part.graph, _WITH_BLANK)} }}"


def blank_triples(task: SparqlTask) -> str:
    """Query all triples with a blank node."""
    return f"SELECT ?s ?p ?o WHERE {{ {in_graph(task.part.graph, _WITH_BLANK)} }}"


def components(task: SparqlTask, n_roots: int, depth: int) -> str:
    """Query `n_roots` blank nodes and the triples of their connected components.

    `depth` is the maximum number of steps from them to other blank nodes; in variant 3,
    rows with the variable `r` alone name the `n_roots` nodes.
    """
    both = "{ ?b ?rp ?ro } UNION { ?rs ?rq ?b } FILTER(isBlank(?b))"
    where = f"WHERE {{ {in_graph(task.part.graph, both)} }}"
    end = f"LIMIT {n_roots} OFFSET {task.offset}"
    branches = [
        f"{{ {in_graph(task.part.graph, pattern)} }}"
        for pattern in _iter_component_patterns(where, end, depth)
    ]
    columns = "?s ?p ?o"
    if task.variant == 3:
        columns = f"?r {columns}"
        branches.insert(0, f"{{ {_some_roots('?r', where, end)} }}")
    pattern = " UNION ".join(branches)
    return f"SELECT DISTINCT {columns} WHERE {{ {pattern} }} LIMIT {task.limit}"


def _some_roots(name: str, where: str, end: str) -> str:
    return f"SELECT DISTINCT (?b AS {name}) {where} ORDER BY {name} {end}"


def _iter_component_patterns(where: str, end: str, depth: int) -> Iterator[str]:
    for n in range(depth + 1):
        for last in ("s", "o"):
            names = [f"b{i}" for i in range(n)] + [last]
            steps = "".join(
                f" {{ ?{near} ?q{i} ?{far} }} UNION {{ ?{far} ?q{i} ?{near} }}"
                f" FILTER(isBlank(?{far}))"
                for i, (near, far) in enumerate(itertools.pairwise(names))
            )
            some = _some_roots(f"?{names[0]}", where, end)
            yield f"{{ {some} }}{steps} ?s ?p ?o"


# -- datasets ----------------------------------------------------------------------


def dataset_graphs(task: SparqlTask) -> str:
    """Query the graphs with datasets, and the number of datasets in each."""
    after = f" FILTER(STR(?g) > {text(task.after)})" if task.after else ""
    where = f"WHERE {{ GRAPH ?g {{ ?s a {DATASET} }}{after} }}"
    end = f"GROUP BY ?g ORDER BY STR(?g) LIMIT {task.limit}"
    return f"SELECT ?g (COUNT(DISTINCT ?s) AS ?n) {where} {end}"


def datasets(task: SparqlTask) -> str:
    """Query the keys of the datasets after a key."""
    key = subject_key(task.naming, "s")
    after = f" FILTER({key} > {text(task.after)})" if task.after else ""
    roots = in_graph(task.part.graph, f"?s a {DATASET}{after}")
    columns = f"DISTINCT ({key} AS ?k)"
    return f"SELECT {columns} WHERE {{ {roots} }} ORDER BY ?k LIMIT {task.limit}"


def about(task: SparqlTask, depth: int) -> str:
    """Query the descriptions of the datasets whose keys are in `task.graphs`.

    A `variant` selects one of the patterns, to be read in pages; `depth` is the maximum
    number of steps from a described node to a blank node.
    """
    named = " ".join(subject_term(task.naming, key) for key in task.graphs)
    patterns = [
        in_graph(task.part.graph, f"VALUES ?{root} {{ {named} }} {pattern}")
        for root, pattern in _iter_descriptions(depth)
    ]
    end = f"LIMIT {task.limit}"
    if task.variant:
        patterns = [patterns[task.variant - 1]]
        end = f"ORDER BY ?s ?p ?o {end} OFFSET {task.offset}"
    branches = " UNION ".join(f"{{ {pattern} }}" for pattern in patterns)
    columns = f"DISTINCT ?s ?p ?o{labels(task.naming, 's', 'o')}"
    return f"SELECT {columns} WHERE {{ {branches} }} {end}"


def n_descriptions(depth: int) -> int:
    """Return the number of patterns in `about`."""
    return sum(1 for _ in _iter_descriptions(depth))


def _iter_descriptions(depth: int) -> Iterator[tuple[str, str]]:
    """Yield (variable of the dataset, pattern of triples ?s ?p ?o about it)."""
    yield "s", "?s ?p ?o"
    for n in range(1, depth + 1):
        yield "r", _blank_path("r", n)
    for way in _DESCRIBED_ALONG:
        yield "r", f"{way.format('?s')} ?s ?p ?o"
        for n in range(1, depth + 1):
            yield "r", f"{way.format('?m')} {_blank_path('m', n)}"
    catalog = _OF_CATALOG.format("?s")
    yield "o", f"?s ?p ?o FILTER(?p = <{DCAT}dataset>)"
    yield "r", f"{catalog} ?s ?p ?o {_NOT_OTHER_ENTRIES}"
    for n in range(1, depth + 1):
        path = _blank_path("m", n)
        yield "r", f"{_OF_CATALOG.format('?m')} {path} {_NOT_OTHER_ENTRIES}"


def _blank_path(start: str, n: int) -> str:
    """Return the pattern of the triples of nodes at a distance of `n` blank nodes."""
    names = [start, *(f"n{i}" for i in range(1, n)), "s"]
    steps = (
        f"?{near} ?e{i} ?{far} . FILTER(isBlank(?{far}))"
        for i, (near, far) in enumerate(itertools.pairwise(names))
    )
    return f"{' '.join(steps)} ?s ?p ?o"
