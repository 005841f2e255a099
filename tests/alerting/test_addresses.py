"""The address policy: attacks.md 26, docs/alerts.md."""

import pytest

from alerting.addresses import Endpoint, Policy, check, choose
from errors import InvalidRequest

CLOSED = Policy.of(())

PRIVATE = [
    "0.0.0.0", "0.1.2.3", "10.0.0.1", "10.255.255.255", "100.64.0.1", "127.0.0.1", "127.255.255.254",
    "169.254.169.254", "172.16.0.1", "172.31.255.255", "192.0.0.1", "192.0.2.1", "192.168.1.1", "198.18.0.1",
    "198.51.100.1", "203.0.113.1", "224.0.0.1", "239.255.255.255", "240.0.0.1", "255.255.255.255",
    "::", "::1", "::127.0.0.1", "::ffff:127.0.0.1", "::ffff:10.0.0.1", "::ffff:a9fe:a9fe", "64:ff9b::10.0.0.1",
    "64:ff9b::7f00:1", "64:ff9b:1::1", "100::1", "2001::1", "2001:db8::1", "2002:7f00:1::", "2002:a00:1::1",
    "3fff::1", "fc00::1", "fd12:3456::1", "fe80::1", "fec0::1", "ff02::1", "5f00::1",
]  # fmt: skip
PUBLIC = [
    "8.8.8.8",
    "1.1.1.1",
    "172.15.0.1",
    "172.32.0.1",
    "100.128.0.1",
    "2606:4700::1",
    "::ffff:8.8.8.8",
    "64:ff9b::808:808",
]


def literal(address: str) -> str:
    return f"http://[{address}]/x" if ":" in address else f"http://{address}/x"


@pytest.mark.parametrize("address", PRIVATE)
def test_address_that_is_not_out_there_is_refused(address: str):
    endpoint = Endpoint("http", "hooks.example.com", 80, "/")

    assert choose(endpoint, [address], CLOSED) is None
    with pytest.raises(InvalidRequest) as refused:
        check(literal(address), CLOSED)
    assert refused.value.details["field"] == "endpoint"


@pytest.mark.parametrize("address", PUBLIC)
def test_public_address_is_taken(address: str):
    assert check(literal(address), CLOSED).target == "/x"
    assert choose(Endpoint("http", "hooks.example.com", 80, "/"), [address], CLOSED) == address


@pytest.mark.parametrize(
    "url",
    [
        "http://2130706433/", "http://0x7f000001/", "http://0x7f.0.0.1/", "http://0177.0.0.1/", "http://127.1/",
        "http://127.0.1/", "http://127.0.0.1./", "http://010.0.0.1/", "http://a.1/", "http://1.2.3.4.5/", "http://0x/",
        "http://１２７.0.0.1/", "http://①②⑦.0.0.1/", "http://127。0。0。1/", "http://[fe80::1%25eth0]/", "http://[fe80::1%eth0]/",
        "http://user:password@hooks.example.com/", "http://8.8.8.8@127.0.0.1/", "http://127.0.0.1#@8.8.8.8/",
        "http://8.8.8.8\\@127.0.0.1/", "http://8.8.8.8\t.x/", "http://8.8.8.8\n/", "http://ho st/", "http:///path",
        "http://", "http:/127.0.0.1/", "//hooks.example.com/", "ftp://hooks.example.com/", "gopher://hooks.example.com/",
        "file:///etc/passwd", "http://hooks.example.com:0/", "http://hooks.example.com:99999/", "http://a..b/", "http://[::1/",
        "http://-a.example/", "http://%31%32%37.0.0.1/", "javascript:alert(1)", "http://localhost%00.example.com/",
    ],
)  # fmt: skip
def test_notation_on_which_parsers_disagree_is_refused(url: str):
    with pytest.raises(InvalidRequest):
        check(url, CLOSED)


def test_one_private_address_among_public_ones_spoils_the_name():
    endpoint = Endpoint("https", "hooks.example.com", 443, "/")

    assert choose(endpoint, ["8.8.8.8", "10.0.0.1"], CLOSED) is None
    assert choose(endpoint, ["8.8.8.8", "fe80::1%eth0"], CLOSED) is None
    assert choose(endpoint, [], CLOSED) is None


def test_named_host_may_be_anywhere():
    policy = Policy.of(["Alertmanager.internal.", "localhost"])

    assert choose(check("http://alertmanager.INTERNAL:9093", policy), ["10.0.0.1"], policy) == "10.0.0.1"
    assert choose(check("http://localhost/", policy), ["::1"], policy) == "::1"
    assert choose(check("http://other.internal/", policy), ["10.0.0.1"], policy) is None


def test_named_network_is_reached_by_whatever_name():
    policy = Policy.of(["10.1.0.0/16", "192.168.7.7", "fd00::/8"])

    assert check("http://10.1.2.3/", policy).host == "10.1.2.3"
    assert check("http://192.168.7.7:9093/", policy).port == 9093
    assert choose(check("http://any.example.com/", policy), ["10.1.2.3", "::ffff:10.1.2.3"], policy) == "10.1.2.3"
    assert choose(check("http://any.example.com/", policy), ["fd00::1"], policy) == "fd00::1"
    with pytest.raises(InvalidRequest):
        check("http://10.2.0.1/", policy)


def test_only_named_hosts_count_as_trusted():
    policy = Policy.of(["hooks.internal", "10.1.0.0/16"])

    assert [policy.names(host) for host in ("hooks.internal", "10.1.2.3", "10.2.0.1", "example.com")] == [
        True,
        True,
        False,
        False,
    ]


def test_authority_is_what_the_url_said():
    assert check("http://[2606:4700::1]:9093/a", CLOSED).authority == "[2606:4700::1]:9093"
    assert check("https://hooks.example.com:443", CLOSED).authority == "hooks.example.com"
