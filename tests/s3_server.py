"""S3 on the loopback interface, whose requests are told and refused where a test asks for it."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

import fsspec
import pytest
from moto.server import create_backend_app
from werkzeug.serving import WSGIRequestHandler, make_server

BUCKET = "bucket"
_REFUSED = b"<Error><Code>AccessDenied</Code><Message>Access Denied</Message></Error>"


class _Quiet(WSGIRequestHandler):
    def log(self, type: str, message: str, *args: Any) -> None:
        """Say nothing of a request."""


class S3Server:
    """A server of moto with one bucket.

    Attributes
    ----------
    url : str
        Its endpoint.
    seen : list of (str, str)
        Method and path of every request, but for the bucket; what is listed has no path.
    """

    def __init__(self) -> None:
        self.seen: list[tuple[str, str]] = []
        self._refuses: Callable[[str, str], bool] = _nothing
        self._application = create_backend_app("s3")
        self._server = make_server(
            "127.0.0.1", 0, self._answer, threaded=True, request_handler=_Quiet
        )
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever)
        self._thread.start()

    @property
    def options(self) -> dict[str, Any]:
        """What fsspec is told to come here; the keys are anything."""
        # a server that is gone is given up at once
        retries = {"retries": {"max_attempts": 0}}
        return {"endpoint_url": self.url, "key": "x", "secret": "y", "config_kwargs": retries}

    def close(self) -> None:
        """Serve no more."""
        self._server.shutdown()
        self._thread.join()
        self._server.server_close()

    @contextmanager
    def refusing(self, refuses: Callable[[str, str], bool]) -> Iterator[None]:
        """Deny requests, by method and path, as to one who lacks the right."""
        self._refuses = refuses
        try:
            yield
        finally:
            self._refuses = _nothing

    @contextmanager
    def writes(self) -> Iterator[list[str]]:
        """The keys that are written meanwhile, in order."""
        begun, keys = len(self.seen), list[str]()
        try:
            yield keys
        finally:
            keys += [path for method, path in self.seen[begun:] if method == "PUT"]

    def _answer(self, environ: dict[str, Any], start: Callable[..., Any]) -> Iterable[bytes]:
        method = environ["REQUEST_METHOD"]
        path = environ["PATH_INFO"].encode("latin-1").decode().removeprefix(f"/{BUCKET}/")
        self.seen.append((method, path))
        if self._refuses(method, path):
            start("403 Forbidden", [("Content-Type", "application/xml")])
            return [_REFUSED]
        answer: Iterable[bytes] = self._application(environ, start)
        return answer


@contextmanager
def serving() -> Iterator[S3Server]:
    """A server with its bucket, and an environment that leads to no other."""
    with pytest.MonkeyPatch.context() as patch:
        for name in [name for name in os.environ if name.startswith(("AWS_", "FSSPEC_"))]:
            patch.delenv(name)
        patch.setenv("AWS_EC2_METADATA_DISABLED", "true")
        for name in ("AWS_CONFIG_FILE", "AWS_SHARED_CREDENTIALS_FILE"):
            patch.setenv(name, os.devnull)
        server = S3Server()
        try:
            # what moto keeps is the process's, whichever server it was told to
            fsspec.filesystem("s3", **server.options).makedirs(BUCKET, exist_ok=True)
            yield server
        finally:
            server.close()


def _nothing(method: str, path: str) -> bool:
    return False
