"""The command: keys, pairing, servers, trackers and what they show."""

import re
import signal
import socket
import subprocess
import sys
from argparse import ArgumentTypeError
from contextlib import ExitStack

import pytest
import trustme

from sateen.rpc import (
    RemoteSession,
    Server,
    add_key,
    await_pair,
    new_code,
    pair,
    pairing,
    query,
    read_key,
    tracked_session,
    trusting,
)
from sateen.rpc.command import byte_count, main
from sateen.runtime import ArgumentError, SessionLostError, SessionRefusedError, SessionTimeoutError


@pytest.fixture
def start():
    """Starts the command in a process, and gives what its first line says behind "at "; stopped after the test."""
    with ExitStack() as stack:

        def begin(*arguments, **options):
            command = [sys.executable, "-m", "sateen.rpc.command", *map(str, arguments)]
            process = stack.enter_context(subprocess.Popen(command, stdout=subprocess.PIPE, text=True, **options))
            stack.callback(process.send_signal, signal.SIGTERM)
            line = process.stdout.readline()
            host, port = re.search(r"at ([0-9.]+):(\d+)", line).groups()
            return process, (host, int(port))

        yield begin


@pytest.fixture
def key_file(tmp_path):
    assert main(["key", "--key-file", str(tmp_path / "key")]) == 0
    return tmp_path / "key"


def test_a_server_gives_sessions_and_ends_when_it_is_asked_to(start, key_file, tmp_path):
    process, place = start("server", "--bind", "127.0.0.1:0", "--key-file", key_file, "--store", tmp_path / "store")
    with RemoteSession(*place, read_key(key_file)) as session:
        assert session.info()["processors"] >= 1
    process.send_signal(signal.SIGTERM)
    assert process.wait(20) == 0


def test_devices_are_shown_with_their_holders(start, key_file, tmp_path, capsys):
    _, at = start("tracker", "--bind", "127.0.0.1:0", "--key-file", key_file)
    bind = ("server", "--bind", "127.0.0.1:0", "--key-file", key_file, "--store", tmp_path / "store")
    _, place = start(*bind, "--tracker", "{}:{}".format(*at), "--name", "pi")
    with tracked_session(*at, read_key(key_file), "pi") as session:
        session.info()
        capsys.readouterr()
        assert main(["query", "{}:{}".format(*at), "--key-file", str(key_file)]) == 0
    header, row = capsys.readouterr().out.splitlines()
    assert header.split() == ["name", "address", "state", "held", "by", "since", "last", "heard"]
    assert row.startswith("pi    {}:{}".format(*place))
    assert re.search(r"  held   \S+@\S+ \(key [0-9a-f]{16}\)  ", row)


def test_a_device_waits_at_a_proxy_that_opens_no_sessions(start, key_file, tmp_path, capsys, eventually):
    authority = trustme.CA()
    issued = authority.issue_cert("127.0.0.1")
    certificate, private_key, trusted = (tmp_path / f"{name}.pem" for name in ("certificate", "key", "authority"))
    issued.cert_chain_pems[0].write_to_path(certificate)
    issued.private_key_pem.write_to_path(private_key)
    authority.cert_pem.write_to_path(trusted)
    proxy_file, bind = tmp_path / "proxy_key", ("--bind", "127.0.0.1:0")
    assert main(["key", "--key-file", str(proxy_file)]) == 0
    _, at = start("proxy", *bind, "--key-file", proxy_file, "--tls-cert", certificate, "--tls-key", private_key)
    place, key, proxy_key, tls = "{}:{}".format(*at), read_key(key_file), read_key(proxy_file), trusting(trusted)
    kept = ("--key-file", key_file, "--store", tmp_path / "store", "--tls-ca", trusted)
    waits = ("--proxy", place, "--proxy-key-file", proxy_file, "--name", "pi")
    _, direct = start("server", *bind, *kept, *waits)
    eventually(lambda: query(*at, proxy_key, tls)["devices"])
    with pytest.raises(SessionRefusedError, match="does not know this key"):
        RemoteSession(*direct, proxy_key)
    with RemoteSession(*at, key, tls=tls, device="pi", proxy_key=proxy_key) as session:
        session.info()
        capsys.readouterr()
        assert main(["query", place, "--key-file", str(proxy_file), "--tls-ca", str(trusted)]) == 0
    assert re.match(r"pi +127\.0\.0\.1 +connected ", capsys.readouterr().out.splitlines()[1])


@pytest.mark.parametrize(
    "wrong",
    [
        ("server", "--name", "pi"),
        ("server", "--proxy", "a:1"),
        ("tracker", "--tls-cert", "a"),
        ("proxy", "--tls-key", "a"),
        ("server", "--proxy-key-file", "a"),
        ("server", "--tracker-key-file", "a"),
        ("server", "--proxy-name", "a"),
    ],
)
def test_options_that_belong_together(key_file, wrong, capsys):
    with pytest.raises(SystemExit) as ended:
        main([*wrong, "--key-file", str(key_file)])
    assert ended.value.code == 2
    assert "belong" in capsys.readouterr().err


def test_a_server_that_its_proxy_refuses_says_so(start, key_file, tmp_path):
    other = tmp_path / "other"
    assert main(["key", "--key-file", str(other)]) == 0
    _, at = start("proxy", "--bind", "127.0.0.1:0", "--key-file", other)
    kept = ("--key-file", key_file, "--store", tmp_path / "store")
    waits = ("--proxy", "{}:{}".format(*at), "--name", "pi")
    process, _ = start("server", "--bind", "127.0.0.1:0", *kept, *waits, stderr=subprocess.PIPE)
    assert "the server does not know this key" in process.stderr.readline()


def test_two_machines_pair_by_a_code():
    code = new_code()
    assert re.fullmatch(r"([A-Z0-9]{5}-){3}[A-Z0-9]{5}", code)
    with socket.create_server(("127.0.0.1", 0)) as listener:
        port = listener.getsockname()[1]
        program = f"from sateen.rpc import pair; print(pair('127.0.0.1', {port}, {code.lower()!r}).secret.hex())"
        with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as other:
            ours = await_pair(listener, code)
            assert other.stdout.read().strip() == ours.secret.hex()


def test_who_says_nothing_keeps_nobody_from_pairing(other_side):
    code = new_code()
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place = listener.getsockname()
        waiting = other_side(await_pair, listener, code)
        strangers = [socket.create_connection(place) for _ in range(20)]
        assert pair(*place, code) == waiting.result()
        for stranger in strangers:
            stranger.settimeout(10)
            assert stranger.recv(1) == b""
            stranger.close()


def test_the_command_pairs(tmp_path, capsys):
    ours, theirs = tmp_path / "ours", tmp_path / "theirs"
    command = [sys.executable, "-m", "sateen.rpc.command", "pair", "--bind", "127.0.0.1:0", "--key-file", str(ours)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as showing:
        place, code = re.search(r"sateen rpc pair (\S+) (\S+) --key-file", showing.stdout.readline()).groups()
        assert main(["pair", place, code, "--key-file", str(theirs)]) == 0
        assert capsys.readouterr().out == f"the new key is in {theirs}\n"
        assert showing.stdout.read() == f"the new key is in {ours}\n"
    assert read_key(ours) == read_key(theirs)


def test_a_wrong_code_is_refused_and_soon_none_works():
    with socket.create_server(("127.0.0.1", 0)) as listener:
        place, code = listener.getsockname(), new_code()
        program = f"""
import socket
from sateen.rpc import await_pair
from sateen.runtime import SessionTimeoutError
with socket.socket(fileno={listener.fileno()}) as listener:
    try:
        await_pair(listener, {code!r})
    except SessionTimeoutError as error:
        print(error)
"""
        waiting = subprocess.Popen(
            [sys.executable, "-c", program], stdout=subprocess.PIPE, text=True, pass_fds=[listener.fileno()]
        )
    with waiting:
        for _ in range(8):
            with pytest.raises(SessionRefusedError, match="does not know this key"):
                pair(*place, new_code())
        assert "expected a client with the code, none came in time" in waiting.stdout.read()
    with pytest.raises(SessionLostError):
        pair(*place, code)


def test_nobody_comes(monkeypatch):
    monkeypatch.setattr(pairing, "SECONDS", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as listener, pytest.raises(SessionTimeoutError, match="none came"):
        await_pair(listener, new_code())
    for text in ("", "abc", "U" * 20):
        with pytest.raises(ArgumentError, match="expected a code of 4 groups of 5 letters and digits"):
            pair("127.0.0.1", 1, text)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["server", "--key-file", "none"], "none: expected the file of a key: No such file or directory"),
        (["query", "127.0.0.1:1", "--key-file", "{key}"], "expected a server of sateen-rpc: Connection refused"),
        (["server", "--key-file", "{key}", "--lease-seconds", "0"], "expected a positive lease_seconds, found 0"),
    ],
)
def test_errors_are_told_in_one_line(key_file, capsys, arguments, message):
    capsys.readouterr()
    assert main([word.format(key=key_file) for word in arguments]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert message in line


def test_pairing_says_that_an_address_is_in_use(tmp_path, capsys):
    with socket.create_server(("127.0.0.1", 0)) as other:
        place = f"127.0.0.1:{other.getsockname()[1]}"
        assert main(["pair", "--bind", place, "--key-file", str(tmp_path / "key")]) == 1
    (line,) = capsys.readouterr().err.splitlines()
    assert f"expected an address to listen at, found {place}: Address already in use" in line


def test_the_command_pairs_by_ipv6(tmp_path):
    try:
        socket.create_server(("::1", 0), family=socket.AF_INET6).close()
    except OSError:
        pytest.skip("needs a loopback of IPv6")
    ours = tmp_path / "ours"
    command = [sys.executable, "-m", "sateen.rpc.command", "pair", "--bind", "[::1]:0", "--key-file", str(ours)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as showing:
        place, code = re.search(r"sateen rpc pair (\S+) (\S+) --key-file", showing.stdout.readline()).groups()
        assert place.startswith("[::1]:")
        assert main(["pair", place, code, "--key-file", str(tmp_path / "theirs")]) == 0
    assert read_key(ours) == read_key(tmp_path / "theirs")


@pytest.mark.parametrize("arguments", [["x"], ["server"], ["query", "x", "--key-file", "k"]])
def test_wrong_usage_has_status_2(arguments, capsys):
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 2
    capsys.readouterr()


def test_numbers_of_bytes_have_units():
    assert [byte_count(text) for text in ("7", "1K", "3M", "2G")] == [7, 1024, 3 << 20, 2 << 30]
    for text in ("", "-1", "1.5M", "64k", "64KB", "K"):
        with pytest.raises(ArgumentTypeError, match="expected a number of bytes, such as 1048576, 1024K, 1M or 1G"):
            byte_count(text)


def test_a_file_with_more_than_one_key_is_told(tmp_path, capsys):
    file = tmp_path / "key"
    assert main(["key", "--key-file", str(file)]) == 0
    assert capsys.readouterr().out == f"the new key is in {file}\n"
    assert main(["key", "--key-file", str(file)]) == 0
    words = "which has 2: a server knows them all, a client needs a file of one"
    assert capsys.readouterr().out == f"the new key is in {file}, {words}\n"
    assert main(["query", "127.0.0.1:1", "--key-file", str(file)]) == 1
    assert "expected one key, found 2; keep the line of the one that is meant in a file" in capsys.readouterr().err


def test_a_proxy_without_websockets_does_not_begin(key_file, capsys, monkeypatch):
    monkeypatch.setitem(sys.modules, "sateen.rpc.websocket", None)
    capsys.readouterr()
    assert main(["proxy", "--bind", "127.0.0.1:0", "--websocket", "127.0.0.1:0", "--key-file", str(key_file)]) == 1
    told = capsys.readouterr()
    assert told.out == ""
    assert "which is not installed: pip install 'websockets>=14.2'" in told.err


def test_a_server_knows_all_keys_of_its_file(tmp_path, key, key_file):
    add_key(key, key_file)
    assert main(["server", "--key-file", str(tmp_path / "none")]) == 1
    with Server("127.0.0.1", 0, [key], tmp_path) as server:
        assert server.address[1] > 0
