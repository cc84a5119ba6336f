"""Defences against responses: their cost, and how they are distinguished."""

from __future__ import annotations

from tests.mutants.mutant import Mutant

_COSTLY = "tests/downloader/test_costly_responses.py"

OF_RESPONSES = (
    Mutant(
        21,
        "rdfcrawl/downloader/cookies.py",
        "        is_below = path.startswith(of_path)\n",
        "        is_below = True\n",
        "tests/crawl/documents/test_leading_on.py"
        "::test_cookies_last_for_a_chain_of_redirects",
    ),
    Mutant(
        21,
        "rdfcrawl/downloader/visit.py",
        "        attempt.requested, attempt.cookies = [], None\n",
        "        attempt.requested = []\n",
        "tests/downloader/test_visit_redirects.py::test_cookies_end_with_a_try",
    ),
    Mutant(
        40,
        "rdfcrawl/downloader/watch.py",
        "    if n_chunks > FREE_CHUNKS and n_body < n_chunks * LEAST_CHUNK_BYTES:\n",
        "    if False:\n",
        f"{_COSTLY}::test_costly_response_ends_soon_and_for_good",
    ),
    Mutant(
        40,
        "rdfcrawl/downloader/watch.py",
        "    if n_wire > FREE_BYTES + n_body * MOST_BYTES_PER_BYTE:\n",
        "    if False:\n",
        f"{_COSTLY}::test_costly_response_ends_soon_and_for_good",
    ),
    Mutant(
        40,
        "rdfcrawl/downloader/watch.py",
        "            return self._rest_secs\n",
        "            return 0.0\n",
        f"{_COSTLY}::test_tiny_packets_are_read_together",
    ),
    Mutant(
        40,
        "rdfcrawl/downloader/retry_policy.py",
        " and not response.is_costly\n",
        "\n",
        f"{_COSTLY}::test_costly_response_ends_soon_and_for_good",
    ),
    Mutant(
        41,
        "rdfcrawl/downloader/http/protocol.py",
        "            self.abort()\n            return\n",
        "            return\n",
        f"{_COSTLY}::test_late_bytes_are_no_response",
    ),
    Mutant(
        41,
        "rdfcrawl/downloader/http/protocol.py",
        "        is_strict = self._is_strict and not self._held\n",
        "        is_strict = True\n",
        "tests/crawl/documents/test_odd_responses.py"
        "::test_no_response_is_taken_for_another",
    ),
)
