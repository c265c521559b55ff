"""Loads a net, as a message or as text."""

from __future__ import annotations

import re

from google.protobuf import text_format  # type: ignore[import-untyped]
from google.protobuf.message import DecodeError  # type: ignore[import-untyped]

from sateen.frontends.caffe2.schemas import net_pb2
from sateen.frontends.core.source import Limits, Source
from sateen.runtime.errors import FrontendError

MOST_TEXT_BYTES = 1 << 26
"""The most bytes of a net as text."""


def load_network(source: Source, limits: Limits) -> net_pb2.Net:
    """The net of a file. Raises FrontendError, which names it, for a damaged one."""
    net = net_pb2.Net()
    try:
        if re.match(rb"[\t\n\r\x20-\x7e]{16}", source.data) and b"\0" not in source.data:
            if len(source.data) > MOST_TEXT_BYTES:
                raise FrontendError(f"expected at most {MOST_TEXT_BYTES} bytes of text, found {len(source.data)}")
            text_format.Parse(source.data.decode(), net)
        else:
            net.ParseFromString(source.data)
    except DecodeError as error:
        raise FrontendError(
            f"{source.place}: expected a net of Caffe2, found what protobuf can't parse: the file is damaged, or cut "
            f"short ({error})"
        ) from None
    except (UnicodeDecodeError, text_format.ParseError) as error:
        raise FrontendError(f"{source.place}: expected a net of Caffe2 as text: {error}") from None
    except FrontendError as error:
        raise FrontendError(f"{source.place}: {error}") from None
    if len(net.op) > limits.nodes:
        raise FrontendError(f"{source.place}: expected at most {limits.nodes} operators, found {len(net.op)}")
    return net
