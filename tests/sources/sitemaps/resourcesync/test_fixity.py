"""Lengths and digests, and patches."""

from __future__ import annotations

import base64
import hashlib
import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from rdfcrawl.core.errors import Reason, SourceFault
from rdfcrawl.sources.resourcesync import patch
from rdfcrawl.sources.resourcesync.fixity import (
    ExpectedBytes,
    FixityVerifier,
    check_bytes,
    parse_hashes,
)
from rdfcrawl.sources.resourcesync.patch import apply_patch
from tests.support.examples import examples
from tests.support.resourcesync_source import facts_of, fixity_of

DATA = b"some bytes of a resource"
JSON_PATCH = "application/json-patch+json"


def hash_of(data: bytes) -> str:
    """Return all three digests of the standard."""
    sha1 = hashlib.sha1(data, usedforsecurity=False).hexdigest()
    return f"{facts_of(data)['hash']} SHA-1:{sha1.upper()}"


def reason_of(fault: pytest.ExceptionInfo[SourceFault]) -> Reason:
    """Return why something was refused."""
    return fault.value.fault.reason


def test_all_digests_are_checked_while_bytes_pass() -> None:
    """If several digests are stated, then all have to be right."""
    digests, wrong = parse_hashes(hash_of(DATA))
    assert ([name for name, _ in digests], wrong) == (["md5", "sha256", "sha1"], [])
    fixity = ExpectedBytes(digests, len(DATA))
    pieces = [DATA[:5], DATA[5:]]
    verifier = FixityVerifier(fixity)
    for piece in pieces:
        verifier.update(piece)
    verifier.finish()
    for i, (name, digest) in enumerate(digests):
        one_wrong = list(digests)
        one_wrong[i] = (name, digest[::-1])
        with pytest.raises(SourceFault) as fault:
            check_bytes(DATA, ExpectedBytes(tuple(one_wrong)))
        assert reason_of(fault) is Reason.BAD_FIXITY


def test_a_length_is_checked_before_the_end() -> None:
    """If more bytes come than stated, then the rest is not waited for."""
    verifier = FixityVerifier(ExpectedBytes((), 5))
    verifier.update(b"123")
    with pytest.raises(SourceFault, match="more than the stated 5"):
        verifier.update(b"456")
    with pytest.raises(SourceFault, match="3 bytes, not the stated 5"):
        check_bytes(b"123", ExpectedBytes((), 5))


def test_bytes_pass_without_digests() -> None:
    """If no digest is stated, then bytes of the stated length pass."""
    check_bytes(DATA, ExpectedBytes())
    check_bytes(DATA, ExpectedBytes((), len(DATA)))


def test_digests_of_early_versions_are_read() -> None:
    """If a digest is in base64, then it is the same as in hex."""
    digest = hashlib.md5(DATA, usedforsecurity=False).digest()
    text = base64.b64encode(digest).decode()
    assert parse_hashes(f"md5:{text}") == parse_hashes(f"md5:{digest.hex()}")
    assert parse_hashes(f"md5:{text.rstrip('=')}")[0] == (("md5", digest),)


def test_invalid_digests_are_reported() -> None:
    """If a digest is malformed, or there are two, then it is not taken for one."""
    text = "sha-256:f4OxZX_x_DFGFDgghgdfb6rtSx-iosjf6735432nklj"
    assert parse_hashes(text)[1] == [] or parse_hashes(text)[0] == ()
    two = f"md5:{'0' * 32} md5:{'1' * 32} unknown:1 md5 sha-1:"
    digests, wrong = parse_hashes(two)
    assert digests == (("md5", bytes(16)),)
    assert wrong == [f"md5:{'1' * 32}", "md5", "sha-1:"]


def test_two_descriptions_agree_differ_or_cannot_be_compared() -> None:
    """If two share a digest or a length, then they are comparable, or not."""
    a, b = fixity_of(b"a"), fixity_of(b"b")
    assert a.agrees(a) is True
    assert a.agrees(b) is False
    assert a.agrees(ExpectedBytes((), 1)) is None
    assert a.agrees(ExpectedBytes((), 2)) is False
    assert ExpectedBytes().agrees(ExpectedBytes()) is None
    assert ExpectedBytes(parse_hashes(a.text)[0], 1) == a


@pytest.mark.parametrize(
    "write",
    [
        json.dumps,
        lambda x: json.dumps(x, separators=(",", ":")) + "\n",
        lambda x: json.dumps(x, indent=2),
        lambda x: json.dumps(x, indent=4, ensure_ascii=False) + "\n",
        lambda x: json.dumps(x, indent="\t"),
    ],
    ids=["spaced", "compact", "2", "4 unicode", "tabs"],
)
def test_a_patch_gives_the_bytes_of_the_source(write: object) -> None:
    """If a source writes JSON in its way, then the patched bytes are the same."""
    before = {"title": "é", "list": [1, 2.5, {"a": None}], "gone": {}}
    after = {"title": "ü", "list": [1, 2.5, {"a": None}, "x"]}
    operations = [
        {"op": "test", "path": "/list/0", "value": 1},
        {"op": "replace", "path": "/title", "value": "ü"},
        {"op": "add", "path": "/list/-", "value": "x"},
        {"op": "remove", "path": "/gone"},
    ]
    assert callable(write)
    data = apply_patch(
        write(before).encode(),
        json.dumps(operations).encode(),
        media_type="application/json-patch",
        fixity=fixity_of(write(after).encode()),
    )
    assert data == write(after).encode()


def refused(document: object, operations: object, kind: str = JSON_PATCH) -> Reason:
    """Return why a patch was refused."""
    with pytest.MonkeyPatch.context() as limits:
        for name, most in (("BYTES", 10_000), ("COPIED", 10_000), ("OPERATIONS", 100)):
            limits.setattr(patch, f"MAX_{name}", most)
        with pytest.raises(SourceFault) as fault:
            apply_patch(
                json.dumps(document).encode(),
                json.dumps(operations).encode(),
                media_type=kind,
                fixity=fixity_of(b"x"),
            )
    return reason_of(fault)


def test_other_patches_are_refused_by_name() -> None:
    """If a patch is of another kind, then it is not tried."""
    for media_type in ("application/x-tiff-diff", "", "application/json"):
        assert refused({}, [], media_type) is Reason.UNSUPPORTED_PATCH


def test_a_patch_that_does_not_fit_is_refused() -> None:
    """If an operation fails, or the bytes differ, then nothing is patched."""
    bad: list[object] = [
        {},
        [1],
        [{}],
        [{"op": "jump", "path": "/a"}],
        [{"op": "remove", "path": "/none"}],
        [{"op": "test", "path": "/a", "value": 2}],
        [{"op": "test", "path": "/a", "value": True}],
        [{"op": "copy", "path": "/a"}],
        [{"op": "add", "path": "a", "value": 1}],
        [{"op": "add", "path": "/l/x", "value": 1}],
    ]
    for operations in bad:
        assert refused({"a": 1, "l": []}, operations) is Reason.BAD_ANSWER
    assert refused({"a": 1}, []) is Reason.BAD_FIXITY


def test_a_patch_does_not_grow_a_document_without_bound() -> None:
    """If operations copy a document into itself, then that ends early."""
    copies = [{"op": "copy", "from": "", "path": f"/{i}"} for i in range(60)]
    assert refused({"a": [1, 2, 3]}, copies) is Reason.TOO_LARGE
    assert refused({}, [{"op": "remove", "path": "/a"}] * 101) is Reason.TOO_LARGE
    big = [{"op": "add", "path": "/a", "value": "x" * 9000}] * 2
    assert refused({}, big) is Reason.TOO_LARGE
    with pytest.raises(SourceFault) as fault:
        apply_patch(b"[" * 100_000, b"[]", media_type=JSON_PATCH)
    assert reason_of(fault) in {Reason.TOO_LARGE, Reason.BAD_ANSWER}


_VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=3),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.text(max_size=2), inner, max_size=3)
    ),
    max_leaves=8,
)
_OPERATIONS = st.fixed_dictionaries(
    {},
    optional={
        "op": st.sampled_from(["add", "remove", "replace", "move", "copy", "test", 1]),
        "path": st.sampled_from(["", "/", "/a", "/0", "/a/0", "/-", "/~0", "/~2", 5]),
        "from": st.sampled_from(["", "/a", "/0", "/a/0", None]),
        "value": _VALUES,
    },
)


@given(_VALUES, st.lists(_OPERATIONS, max_size=6) | _VALUES)
@settings(max_examples=examples(150), deadline=None)
def test_any_patch_applies_or_is_refused(document: object, operations: object) -> None:
    """If a patch is anything, then there is JSON, or a named fault."""
    data, patch = json.dumps(document).encode(), json.dumps(operations).encode()
    reason = None
    try:
        json.loads(apply_patch(data, patch, media_type=JSON_PATCH))
    except SourceFault as fault:
        reason = fault.fault.reason
    assert reason in {None, Reason.BAD_ANSWER, Reason.TOO_LARGE}
