"""Defences of `docs/reference/security.md`, and how each is taken out.

A patch replaces a text that is in its file exactly once (`tests/gates/test_threats.py`
sees to that); `tests` must then fail. Each is a row of the page, by its number.
"""

from __future__ import annotations

from tests.mutants.mutant import Mutant
from tests.mutants.of_documents import OF_DOCUMENTS
from tests.mutants.of_responses import OF_RESPONSES

MUTANTS = (
    # -- connections -------------------------------------------------------------------
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "if any(parsed in network for network in self.allow_nets):",
        "if True:",
        "tests/crawl/threats/test_guard.py::test_no_inside_address_is_connected_to",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        '        ("2002::/16", RefusalCause.TUNNEL),  # 6to4\n',
        "",
        "tests/uri/guard/test_guard.py::test_address_is_refused",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/gate.py",
        "        self.check(str(address[0]), int(address[1]))\n",
        "",
        "tests/uri/guard/test_connections.py::test_address_is_checked_when_it_is_dialled",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/resolver.py",
        "allowed = self._gate.allowed(host, port, found)",
        "allowed = found",
        "tests/uri/guard/test_connections.py::test_private_addresses_of_a_name_are_left_out",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "if why is None and any(map(is_own_address, reached)):",
        "if False:",
        "tests/crawl/threats/test_own_addresses.py"
        "::test_services_of_the_machine_are_not_connected_to",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "any(map(is_own_address, reached))",
        "is_own_address(parsed)",
        "tests/uri/guard/test_own_addresses.py::test_own_addresses_are_refused_while_they_are_there",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "    return _can_bind(address)\n",
        "    return False\n",
        "tests/uri/guard/test_own_addresses.py::test_own_addresses_are_refused_while_they_are_there",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "        return _is_routed_here(address)\n",
        "        pass\n",
        "tests/uri/guard/test_own_addresses.py::test_own_addresses_are_refused_while_they_are_there",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "            return RefusalCause.DENIED\n",
        "            pass\n",
        "tests/uri/guard/test_own_addresses.py::test_denied_networks_go_before_allowed_ones",
    ),
    Mutant(
        1,
        "rdfcrawl/uri/guard/policy.py",
        "6064-6378,6381-6431",
        "6064-6431",
        "tests/uri/guard/test_guard.py::test_ports_of_services_are_left_out",
    ),
    Mutant(
        2,
        "rdfcrawl/rdf/extraction/child.py",
        "    sys.addaudithook(deny_side_effects)\n",
        "",
        "tests/rdf/extraction/test_confinement.py"
        "::test_documents_are_read_where_the_kernel_denies_nothing",
    ),
    Mutant(
        2,
        "rdfcrawl/rdf/extraction/confinement.py",
        "socketpair 53 199 ",
        "",
        "tests/rdf/extraction/test_confinement.py::test_no_library_reaches_out_of_a_child",
    ),
    Mutant(
        3,
        "rdfcrawl/uri/parse.py",
        "    if scheme not in schemes:\n",
        "    if scheme not in schemes and scheme != 'file':\n",
        "tests/uri/test_parse.py::test_requestable_refuses",
    ),
    Mutant(
        3,
        "rdfcrawl/core/options/defaults.py",
        '    "file": None,\n',
        "",
        "tests/crawl/threats/test_doors.py::test_files_of_the_machine_are_no_pages",
    ),
    *OF_DOCUMENTS,
    *OF_RESPONSES,
    # -- secrets and doors -------------------------------------------------------------
    Mutant(
        21,
        "rdfcrawl/downloader/redirects.py",
        "    if options.headers and not is_same_server(url, target):\n",
        "    if False:\n",
        "tests/downloader/test_questions.py::test_credentials_stay_with_their_server",
    ),
    Mutant(
        22,
        "rdfcrawl/frontier/queue/candidate.py",
        '    if "://" in url and url.isascii() and url.isprintable():\n',
        "    if True:\n",
        "tests/frontier/test_payload.py::test_what_others_wrote_is_no_record",
    ),
    Mutant(
        22,
        "rdfcrawl/frontier/queue/candidate.py",
        '    text = payload.decode("latin-1")\n    head, depth',
        "    if payload[:1] == b'\\x80':\n"
        "        __import__('pickle').loads(payload)\n"
        '    text = payload.decode("latin-1")\n    head, depth',
        "tests/crawl/threats/test_threats.py"
        "::test_records_in_redis_run_nothing_and_read_no_file",
    ),
    Mutant(
        23,
        "rdfcrawl/downloader/http/exchange.py",
        "verifies=options.verify_certificates",
        "verifies=False",
        "tests/downloader/test_exchange.py::test_certificate_is_verified_unless_told",
    ),
    Mutant(
        24,
        "rdfcrawl/downloader/watch.py",
        "        if now >= transfer.ends_at:\n",
        "        if False:\n",
        "tests/downloader/test_exchange.py::test_slow_answer_is_given_up",
    ),
    Mutant(
        24,
        "rdfcrawl/downloader/watch.py",
        "        if n_bytes < secs * self._min_bytes_per_sec:\n",
        "        if False:\n",
        "tests/downloader/test_ftp.py::test_slow_server_is_given_up",
    ),
    Mutant(
        25,
        "rdfcrawl/downloader/robots/parser.py",
        "        at = len(begin)\n",
        "        at = len(begin)\n"
        "        tail = '' if end is None else re.escape(end) + '$'\n"
        "        pieces = '.*'.join(map(re.escape, middle))\n"
        "        return bool(re.match(f'.*{pieces}.*{tail}', path[at:]))\n",
        "tests/downloader/robots/test_octets.py::test_hostile_wildcards_are_read_once",
    ),
    Mutant(
        26,
        "rdfcrawl/frontier/worker/link_ingest.py",
        '            name = f"{name} {int(record.kind)} {task}"\n',
        "            pass\n",
        "tests/crawl/threats/test_threats.py::test_requests_of_one_poison_no_other",
    ),
    Mutant(
        27,
        "deploy/scrapyd.conf",
        "bind_address = 127.0.0.1\n",
        "bind_address = 0.0.0.0\n",
        "tests/deploy/test_scrapyd.py"
        "::test_other_addresses_of_the_machine_do_not_answer",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/sandbox.py",
        "    return {\n        # If modules are not",
        "    return os.environ | {\n        # If modules are not",
        "tests/rdf/extraction/test_sandbox.py::test_environment_holds_no_secrets",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/child.py",
        "    layers = () if wanted == Confinement.PROCESS else confinement.confine()\n",
        "    layers = ()\n",
        "tests/rdf/extraction/test_confinement.py::test_no_library_reaches_out_of_a_child",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/confinement.py",
        '        _call("syscall", _RESTRICT_SELF, ruleset_fd, 0)\n',
        "        pass\n",
        "tests/rdf/extraction/test_confinement.py::test_each_layer_denies_by_itself",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/confinement.py",
        "        yield _RETURN, 0, 0, _FAIL | errno.EPERM\n    for name",
        "        yield _RETURN, 0, 0, _ALLOW\n    for name",
        "tests/rdf/extraction/test_confinement.py::test_each_layer_denies_by_itself",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/confinement.py",
        "            yield _ANY_BIT, 0, 1, WRITING\n",
        "            yield _ANY_BIT, 0, 1, 0\n",
        "tests/rdf/extraction/test_confinement.py::test_each_layer_denies_by_itself",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/confinement.py",
        "            yield _ANY_BIT, 1, 0, _THREAD\n",
        "            yield _ANY_BIT, 1, 1, _THREAD\n",
        "tests/rdf/extraction/test_confinement.py::test_each_layer_denies_by_itself",
    ),
    Mutant(
        28,
        "rdfcrawl/rdf/extraction/confinement.py",
        "        _drop_capabilities()\n",
        "        pass\n",
        "tests/rdf/extraction/test_confinement.py::test_root_is_nobody_in_a_child",
    ),
    # -- those found since -------------------------------------------------------------
    Mutant(
        29,
        "rdfcrawl/downloader/ftp/connection.py",
        "        address = (host, self._passive_port(peer), *peer[2:])\n",
        "        self._passive_port(peer)\n"
        "        address = ftplib.parse227(protocol.sendcmd('PASV'))\n",
        "tests/downloader/test_ftp_servers.py::test_other_hosts_are_not_connected_to",
    ),
    Mutant(
        30,
        "rdfcrawl/sources/harvest/resourcesync/resources.py",
        '_short(quote(uri, safe=""))',
        "urlsplit(uri).path.lstrip('/')",
        "tests/crawl/sources/test_resourcesync.py::test_files_stay_in_their_folder",
    ),
    Mutant(
        31,
        "rdfcrawl/monitor/pings/judging.py",
        "    if detail := refusal_of(url, guard):\n",
        "    if detail := '':\n",
        "tests/monitor/pings/test_judging.py"
        "::test_urls_that_are_no_sitemap_of_a_public_host_are_refused",
    ),
    Mutant(
        32,
        "rdfcrawl/downloader/warc/archive.py",
        "head=redacted(head, self.options.redacted_headers) + data,",
        "head=head + data,",
        "tests/downloader/test_archiving.py"
        "::test_requests_of_one_connection_have_their_own_records",
    ),
    Mutant(
        33,
        "rdfcrawl/core/options/defaults.py",
        "REMOTE_CONTROL_ENABLED = False\n",
        "REMOTE_CONTROL_ENABLED = True\n",
        "tests/crawl/threats/test_doors.py::test_no_door_is_open",
    ),
    # -- the live page -----------------------------------------------------------------
    Mutant(
        34,
        "rdfcrawl/monitor/page/guarding.py",
        "        elif not is_loopback(_host_of(request.host)):\n",
        "        elif False:\n",
        "tests/monitor/page/test_guarding.py::test_other_names_are_not_answered_to",
    ),
    Mutant(
        35,
        "rdfcrawl/monitor/page/guarding.py",
        '        return site != "same-origin"\n',
        "        return False\n",
        "tests/monitor/page/test_guarding.py::test_changes_come_from_own_forms",
    ),
    Mutant(
        35,
        "rdfcrawl/monitor/page/guarding.py",
        "        if self._form_token.is_in((await read_form(request)).get(FIELD)):\n",
        "        if True:\n",
        "tests/monitor/page/test_guarding.py::test_changes_come_from_own_forms",
    ),
    Mutant(
        35,
        "rdfcrawl/monitor/page/guarding.py",
        "            if not self._options.has_control:\n",
        "            if False:\n",
        "tests/monitor/page/test_guarding.py::test_nothing_is_changed_without_control",
    ),
    Mutant(
        36,
        "rdfcrawl/core/small_server.py",
        "        if len(self._handlers.connections) >= self._most:\n",
        "        if False:\n",
        "tests/monitor/page/test_hostile_requests.py::test_half_sent_requests_are_few_and_end",
    ),
    Mutant(
        36,
        "rdfcrawl/monitor/page/application.py",
        "            keepalive_timeout=_HEAD_SECS,\n",
        "            keepalive_timeout=7200,\n",
        "tests/monitor/page/test_hostile_requests.py::test_half_sent_requests_are_few_and_end",
    ),
    Mutant(
        36,
        "rdfcrawl/monitor/page/options.py",
        "        if not token and not is_loopback(address):\n",
        "        if False:\n",
        "tests/monitor/page/test_guarding.py::test_open_address_needs_a_token",
    ),
    Mutant(
        36,
        "rdfcrawl/monitor/page/guarding.py",
        "        return hmac.compare_digest(given, self._options.token.encode())\n",
        "        return True\n",
        "tests/monitor/page/test_guarding.py::test_token_is_required",
    ),
    Mutant(
        37,
        "rdfcrawl/monitor/page/rendering.py",
        "            autoescape=True,\n",
        "            autoescape=False,\n",
        "tests/monitor/page/test_guarding.py::test_markup_in_values_is_text",
    ),
    Mutant(
        37,
        "rdfcrawl/monitor/page/guarding.py",
        "script-src 'self';",
        "script-src 'self' 'unsafe-inline';",
        "tests/monitor/page/test_guarding.py::test_no_script_of_others_runs",
    ),
    Mutant(
        38,
        "rdfcrawl/monitor/page/query_child.py",
        "            layers = confine()\n",
        "            layers = (SECCOMP,)\n",
        "tests/monitor/page/test_query.py::test_disguised_service_reaches_no_endpoint",
    ),
    Mutant(
        38,
        "rdfcrawl/monitor/page/query_rules.py",
        '    if _SERVICE.search(_OPAQUE.sub(" ", query)):\n',
        "    if False:\n",
        "tests/monitor/page/test_query.py::test_refusals_are_one_line",
    ),
    Mutant(
        39,
        "rdfcrawl/monitor/page/guarding.py",
        'not in ("same-origin", "none")',
        "in ()",
        "tests/monitor/page/test_query.py::test_other_sites_run_no_query",
    ),
)
