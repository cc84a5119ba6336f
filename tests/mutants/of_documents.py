"""Defences against documents: their expansion, references, statements, and length."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

OF_DOCUMENTS = (
    # -- expansion ---------------------------------------------------------------------
    Mutant(
        4,
        "rdfcrawl/rdf/unpack/content_encoding.py",
        "if self._n_out > max(RATIO_FREE_BYTES, self._n_in * self._max_ratio):",
        "if False:",
        "tests/rdf/unpack/test_content_encoding.py::test_bomb_is_stopped_early",
    ),
    Mutant(
        4,
        "rdfcrawl/downloader/spool_sink.py",
        "        is_over = len(piece) > room\n",
        "        is_over = False\n",
        "tests/downloader/test_exchange_bodies.py::test_body_limits",
    ),
    Mutant(
        5,
        "rdfcrawl/rdf/unpack/limits.py",
        "        if self.n_out > max(RATIO_FREE_BYTES, self.n_in * limits.ratio):\n",
        "        return\n"
        "        if self.n_out > max(RATIO_FREE_BYTES, self.n_in * limits.ratio):\n",
        "tests/rdf/unpack/test_archives.py::test_bomb_in_an_archive_ends_at_the_ratio",
    ),
    Mutant(
        5,
        "rdfcrawl/rdf/unpack/limits.py",
        "if self._n_members > self.limits.n_members:",
        "if False:",
        "tests/rdf/unpack/test_archives.py::test_archive_of_many_members_ends_at_the_limit",
    ),
    Mutant(
        5,
        "rdfcrawl/rdf/unpack/documents.py",
        "        if len(place.packings) > self._limits.depth:\n",
        "        if False:\n",
        "tests/rdf/unpack/test_documents.py::test_depth_is_limited",
    ),
    Mutant(
        6,
        "rdfcrawl/rdf/xml_screen.py",
        "        if len(value) > n_written or self._n_bytes > MAX_ALL_VALUES_BYTES:\n",
        "        if False:\n",
        "tests/rdf/test_parse_bounds.py::test_dangerous_entities_are_refused",
    ),
    Mutant(
        6,
        "rdfcrawl/sources/sitemaps/text.py",
        "        if self._left < 0:\n",
        "        if False:\n",
        "tests/sources/sitemaps/test_markup.py"
        "::test_an_entity_that_is_used_often_stops_growing",
    ),
    Mutant(
        7,
        "rdfcrawl/rdf/xml_screen.py",
        '        if match["external"] or b"<" in value:\n',
        "        if False:\n",
        "tests/rdf/test_parse_bounds.py::test_what_entities_reach_for_is_not_fetched",
    ),
    Mutant(
        7,
        "rdfcrawl/sources/sparql/results_xml.py",
        "    parser.EntityDeclHandler = _refuse_entity\n",
        "",
        "tests/sources/sparql/test_results.py",
    ),
    # -- references of documents -------------------------------------------------------
    Mutant(
        8,
        "rdfcrawl/rdf/jsonld/contexts.py",
        "        if depth > MAX_CONTEXT_DEPTH:\n",
        "        if False:\n",
        "tests/rdf/jsonld/test_contexts.py"
        "::test_chains_of_contexts_end_at_their_largest_depth",
    ),
    Mutant(
        8,
        "rdfcrawl/downloader/contexts/download.py",
        "            max_bytes=MAX_CONTEXT_BYTES,\n",
        "            max_bytes=2**30,\n",
        "tests/downloader/test_contexts.py::test_bad_context_is_refused",
    ),
    # -- time --------------------------------------------------------------------------
    Mutant(
        9,
        "rdfcrawl/rdf/extraction/child.py",
        "    bounds.set()\n",
        "",
        "tests/rdf/extraction/test_sandbox.py::test_limits_are_hard",
    ),
    Mutant(
        9,
        "rdfcrawl/rdf/extraction/confinement.py",
        "        _set(resource.RLIMIT_CPU, min(int(until_secs) + 1, hard - 1), hard)\n",
        "        del until_secs, hard\n",
        "tests/rdf/extraction/test_sandbox.py::test_cpu_time_is_bounded",
    ),
    Mutant(
        9,
        "rdfcrawl/rdf/extraction/confinement.py",
        "        _set(resource.RLIMIT_AS, self._memory_bytes, self._mapped_bytes)\n",
        "",
        "tests/rdf/extraction/test_sandbox.py::test_memory_is_bounded",
    ),
    Mutant(
        9,
        "rdfcrawl/rdf/output.py",
        "        if len(lines) > longest:\n",
        "        if False:\n",
        "tests/rdf/test_parse_bounds.py::TestLimits",
    ),
    Mutant(
        9,
        "rdfcrawl/downloader/ftp/directories.py",
        'r"(?:\\A|;)([^=;]++)=([^;]*+)"',
        'r"([^=;]+)=([^;]*)"',
        "tests/fuzz/test_linear.py::test_expressions_are_linear",
    ),
    Mutant(
        9,
        "rdfcrawl/sources/sitemaps/markup.py",
        "(?<![^\\s=<>\\\"'/])([^\\s=<>\\\"'/]++)\\s*+=",
        "([^\\s=<>\\\"'/]+)\\s*=",
        "tests/fuzz/test_linear.py::test_expressions_are_linear",
    ),
    Mutant(
        9,
        "rdfcrawl/rdf/nesting.py",
        '*+(?:"|\\\\?\\Z)',
        '*+(?:"|$)',
        "tests/fuzz/test_linear.py::test_expressions_are_linear",
    ),
    Mutant(
        9,
        "rdfcrawl/sources/sparql/recognition.py",
        "<form\\b([^<>]*+)>",
        "<form\\b([^>]*)>",
        "tests/fuzz/test_linear.py::test_expressions_are_linear",
    ),
    Mutant(
        10,
        "rdfcrawl/rdf/nesting.py",
        '    if document.count(b"{") + document.count(b"[") <= MAX_DEPTH:\n',
        "    if document:\n",
        "tests/rdf/test_parse_bounds.py::test_deep_nesting_is_refused",
    ),
    Mutant(
        11,
        "rdfcrawl/rdf/rdflib_reading.py",
        "    rdflib.NORMALIZE_LITERALS = False",
        "    rdflib.NORMALIZE_LITERALS = True",
        "tests/rdf/test_n3.py::test_rdflib_takes_literals_as_they_are",
    ),
    Mutant(
        12,
        "rdfcrawl/rdf/terms.py",
        "    if _NOT_IN_IRI.search(value):\n        value",
        "    if False:\n        value",
        "tests/rdf/test_terms.py::test_a_term_makes_no_statement_of_its_own",
    ),
    Mutant(
        12,
        "rdfcrawl/rdf/checking.py",
        "run.lines if run.is_canonical else _parse(run.lines, log, kind, mends=mends)",
        "run.lines",
        "tests/rdf/test_terms.py::test_a_term_makes_no_statement_of_its_own",
    ),
    # -- endless documents -------------------------------------------------------------
    Mutant(
        13,
        "rdfcrawl/downloader/redirects.py",
        "    if len(chain) > limit:\n",
        "    if False:\n",
        "tests/downloader/test_visit_redirects.py::test_redirect_limit_counts_all_hosts",
    ),
    Mutant(
        13,
        "rdfcrawl/downloader/redirects.py",
        "    if target in chain and not may_return:\n",
        "    if False:\n",
        "tests/downloader/test_visit_redirects.py::test_bad_redirect_is_not_followed",
    ),
    Mutant(
        14,
        "rdfcrawl/uri/traps.py",
        "    return _repeats(path, limits.repeats) or any(\n",
        "    return False and any(\n",
        "tests/uri/test_traps.py::test_urls_that_grow",
    ),
    Mutant(
        14,
        "rdfcrawl/uri/traps.py",
        "        self._is_endless = steps_on and self._has_all_months(date)\n",
        "        self._is_endless = False\n",
        "tests/uri/test_calendars.py::test_calendar_ends",
    ),
    Mutant(
        15,
        "rdfcrawl/uri/hosts.py",
        '    return "xn--" in url and is_lookalike(host_of(url))\n',
        "    return False\n",
        "tests/crawl/threats/test_threats.py"
        "::test_names_that_look_like_others_are_marked",
    ),
    Mutant(
        16,
        "rdfcrawl/uri/parse.py",
        '        url = _USERINFO.sub(r"\\1", url)\n',
        "",
        "tests/uri/test_parse.py",
    ),
    Mutant(
        17,
        "rdfcrawl/sources/sitemaps/entry.py",
        '    return f"{host}:{port}" in robots_hosts or (is_default and host in'
        " robots_hosts)\n",
        "    return True\n",
        "tests/sources/sitemaps/test_protocol.py::test_who_may_list",
    ),
    Mutant(
        17,
        "rdfcrawl/uri/guard/gate.py",
        " and len(ports) >= self.guard.max_ports\n",
        " and False\n",
        "tests/uri/guard/test_guard.py::test_many_ports_of_an_address_are_a_scan",
    ),
    Mutant(
        18,
        "rdfcrawl/sources/harvest/sitemap.py",
        "        if below.depth > _LIMITS.depth:\n",
        "        if False:\n",
        "tests/crawl/sources/test_sitemap.py::test_indexes_are_read_three_deep",
    ),
    Mutant(
        18,
        "rdfcrawl/sources/sitemaps/protocol.py",
        "        if self.n_read >= self._limits.n_entries:\n",
        "        if False:\n",
        "tests/sources/sitemaps/test_protocol.py::test_the_number_of_entries_is_bounded",
    ),
    # -- statements of documents -------------------------------------------------------
    Mutant(
        19,
        "rdfcrawl/rdf/graphs.py",
        "        return self._origin.is_of(name)\n",
        "        return True\n",
        "tests/rdf/test_parse.py"
        "::test_foreign_graphs_are_folded_into_the_documents_own",
    ),
    Mutant(
        19,
        "rdfcrawl/rdf/graphs.py",
        "        if is_crawls(name):\n            return False\n",
        "",
        "tests/rdf/test_parse.py::test_nobody_writes_into_the_graphs_of_the_crawl",
    ),
    Mutant(
        20,
        "rdfcrawl/core/errors.py",
        "    return _CONTROL.sub(lambda match: ascii(match[0])[1:-1], str(text))\n",
        "    return str(text)\n",
        "tests/launch/test_logformatter.py",
    ),
    Mutant(
        20,
        "rdfcrawl/rdf/extraction/sandbox.py",
        "(self._tail + data)[-_MOST_BYTES:]",
        "self._tail + data",
        "tests/crawl/failures/test_own_faults.py"
        "::test_log_has_the_output_of_a_process_before_its_death",
    ),
)
