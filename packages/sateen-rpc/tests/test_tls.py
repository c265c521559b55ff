"""Encrypted connections: sessions as without, and certificates and sides that don't fit."""

import datetime as dt
import threading

import numpy as np
import pytest
import trustme

from sateen.rpc import Registration, RemoteSession, Route, Server, Tracker, certified, query, tracked_session, trusting
from sateen.runtime import ArgumentError, SessionLostError, SessionRefusedError

HOST = "127.0.0.1"


@pytest.fixture(scope="module")
def authority():
    return trustme.CA()


@pytest.fixture
def files(tmp_path):
    """Writes a certificate for a host and its key; their paths."""

    def write(issuer, *hosts, **options):
        issued = issuer.issue_cert(*(hosts or (HOST,)), **options)
        issued.cert_chain_pems[0].write_to_path(tmp_path / "certificate.pem")
        issued.private_key_pem.write_to_path(tmp_path / "key.pem")
        return tmp_path / "certificate.pem", tmp_path / "key.pem"

    return write


@pytest.fixture
def trust(authority, tmp_path):
    authority.cert_pem.write_to_path(tmp_path / "authority.pem")
    return trusting(tmp_path / "authority.pem")


@pytest.fixture
def serve(key, tmp_path):
    """Opens a server, encrypted with a certificate and its key if they are given."""
    opened = []

    def open_(*certificate):
        tls = certified(*certificate) if certificate else None
        server = Server(HOST, 0, [key], tmp_path / "store", tls=tls)
        threading.Thread(target=server.serve, daemon=True).start()
        opened.append(server)
        return server

    yield open_
    for server in opened:
        server.close()


def test_a_session_is_as_without(serve, files, authority, trust, key):
    server = serve(*files(authority))
    values = np.random.default_rng(0).standard_normal((500, 1000))
    with RemoteSession(*server.address, key, tls=trust) as session:
        np.testing.assert_array_equal(session.array(values).numpy(), values)


def test_a_tracker_sends_clients_to_devices_that_encrypt(serve, files, authority, trust, key):
    certificate = files(authority)
    server = serve(*certificate)
    with Tracker(HOST, 0, [key], certified(*certificate)) as tracker:
        threading.Thread(target=tracker.serve, daemon=True).start()
        registration = Registration(server, "pi", Route(*tracker.address, trust), key)
        with tracked_session(*tracker.address, key, "pi", tls=trust) as session:
            assert session.info()["processors"] >= 1
        (device,) = query(*tracker.address, key, trust)["devices"]
        assert device["name"] == "pi"
        registration.close()


def test_a_certificate_of_another_authority_is_refused(serve, files, trust, key):
    server = serve(*files(trustme.CA()))
    with pytest.raises(SessionRefusedError, match=r"expected a certificate that is trusted here .*unable to get local"):
        RemoteSession(*server.address, key, tls=trust)


def test_a_certificate_for_another_host_is_refused(serve, files, authority, trust, key):
    server = serve(*files(authority, "example.org"))
    with pytest.raises(SessionRefusedError, match=r"expected a certificate that is trusted here .*127\.0\.0\.1"):
        RemoteSession(*server.address, key, tls=trust)


def test_a_certificate_that_has_expired_is_refused(serve, files, authority, trust, key):
    day = dt.datetime(2020, 1, 1, tzinfo=dt.UTC)
    server = serve(*files(authority, not_after=day))
    with pytest.raises(SessionRefusedError, match=r"expected a certificate that is trusted here .*expired"):
        RemoteSession(*server.address, key, tls=trust)


def test_a_plain_client_learns_that_the_server_encrypts(serve, files, authority, key):
    server = serve(*files(authority))
    with pytest.raises(SessionRefusedError, match=r"the server encrypts its connections: .*--tls-ca"):
        RemoteSession(*server.address, key)


def test_a_server_that_does_not_encrypt_is_refused(serve, trust, key):
    server = serve()
    with pytest.raises(
        (SessionRefusedError, SessionLostError), match=r"does the server encrypt \(--tls-cert\)\?|expected TLS"
    ):
        RemoteSession(*server.address, key, tls=trust)


def test_files_that_are_no_certificates_are_refused(tmp_path, files, authority):
    certificate, _ = files(authority)
    (tmp_path / "text").write_text("text")
    with pytest.raises(ArgumentError, match="expected a certificate and its key"):
        certified(certificate, tmp_path / "text")
    with pytest.raises(ArgumentError, match="expected a certificate and its key: No such file"):
        certified(certificate, tmp_path / "none")
    with pytest.raises(ArgumentError, match="expected certificates to trust"):
        trusting(tmp_path / "text")
