"""Odd environments: what is broken is warned of once and left out; the rest works."""

import logging
import ssl

import pytest

from abey.runtime.models.network import Network

URL = "https://api.example.org/v1/x"


@pytest.mark.parametrize(
    ("env", "url", "proxy"),
    [
        ({}, URL, None),
        ({"https_proxy": "http://p:1"}, URL, "http://p:1"),
        ({"HTTPS_PROXY": "p:1"}, URL, "http://p:1"),
        ({"https_proxy": "http://p:1"}, "http://api.example.org/", None),
        ({"http_proxy": "http://p:1"}, "http://api.example.org/", "http://p:1"),
        ({"ALL_PROXY": "http://p:1"}, URL, "http://p:1"),
        ({"https_proxy": "http://p:1", "all_proxy": "http://q:2"}, URL, "http://p:1"),
        ({"all_proxy": "http://p:1"}, "http://localhost:11434/v1", None),
        ({"all_proxy": "http://p:1"}, "http://[::1]:80/", None),
        ({"all_proxy": "http://p:1"}, "http://127.0.0.1:80/", None),
        ({"all_proxy": "http://p:1", "no_proxy": "*"}, URL, None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "example.org"}, URL, None),
        ({"all_proxy": "http://p:1", "NO_PROXY": ".example.org"}, URL, None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "*.example.org, x"}, URL, None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "ample.org"}, URL, "http://p:1"),
        ({"all_proxy": "http://p:1", "NO_PROXY": "api.example.org:444"}, URL, "http://p:1"),
        ({"all_proxy": "http://p:1", "NO_PROXY": "api.example.org:444"}, "https://api.example.org:444/", None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "[::1],[fe80::2]"}, "http://[fe80::2]/", None),
        ({"all_proxy": "http://p:1", "NO_PROXY": "[::1]"}, URL, "http://p:1"),
        ({"all_proxy": "http://p:1", "NO_PROXY": "10.0.0.0/8"}, "http://10.9.8.7/", None),
        ({"all_proxy": "http://p:1", "NO_PROXY": ",,[,]:,:::,/"}, URL, "http://p:1"),
    ],
)
def test_the_proxy_is_the_one_that_the_environment_names(env: dict[str, str], url: str, proxy: str | None) -> None:
    assert Network(env).proxy(url) == proxy


@pytest.mark.parametrize("broken", ["foo://x", "http://", "http://p:99999", "socks4://p:1", "::::"])
def test_a_proxy_that_is_none_is_warned_of_once(broken: str, caplog: pytest.LogCaptureFixture) -> None:
    network = Network({"all_proxy": broken})
    with caplog.at_level(logging.WARNING):
        assert [network.proxy(URL), network.proxy(URL)] == [None, None]
    assert [record.getMessage() for record in caplog.records] == [
        "the variable all_proxy is left out of account: it is no URL of a proxy"
    ]


def test_a_certificate_file_that_is_missing_is_left_out(caplog: pytest.LogCaptureFixture) -> None:
    network = Network({"SSL_CERT_FILE": "/missing/certs.pem"})
    with caplog.at_level(logging.WARNING):
        context = network.certificates()
    assert (context.verify_mode, len(context.get_ca_certs()) > 10) == (ssl.CERT_REQUIRED, True)
    assert caplog.messages == ["the variable SSL_CERT_FILE is left out of account: it does not exist"]
    assert network.certificates() is context


def test_a_certificate_file_that_holds_none_is_left_out(tmp_path_factory: pytest.TempPathFactory) -> None:
    file = tmp_path_factory.mktemp("certs") / "certs.pem"
    file.write_text("nothing")
    assert len(Network({"SSL_CERT_FILE": str(file)}).certificates().get_ca_certs()) > 10
