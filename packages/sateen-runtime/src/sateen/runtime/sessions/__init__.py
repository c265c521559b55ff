"""Sessions: one protocol, one client, one service, over any connection; and the session in a child process."""

from sateen.runtime.sessions.client import ConnectedSession
from sateen.runtime.sessions.local import LocalSession
from sateen.runtime.sessions.protocol import (
    Connection,
    Session,
    SessionArray,
    SessionFiles,
    SessionFunction,
    SessionModel,
    SessionModule,
    SessionRun,
)
from sateen.runtime.sessions.service import SessionService

__all__ = [
    "ConnectedSession",
    "Connection",
    "LocalSession",
    "Session",
    "SessionArray",
    "SessionFiles",
    "SessionFunction",
    "SessionModel",
    "SessionModule",
    "SessionRun",
    "SessionService",
]
