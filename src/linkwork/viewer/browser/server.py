"""viser's server, for this machine only: bound to the loopback address, on a free port, never shared by a tunnel.

A page of any other site that is open in the same browser could connect to it, too. Browsers send the origin of a page;
viser does not check it, so its request handler is wrapped when viser starts. A script is added to the page, for
functions that viser lacks.
"""

from __future__ import annotations

import contextlib
import io
import warnings
from collections.abc import Iterator, Sequence
from http import HTTPStatus
from importlib import resources
from threading import Lock
from typing import Any

from linkwork.errors import FileError, LinkworkWarning, MissingExtraError
from linkwork.plain import as_script, one_line

LOOPBACK = "127.0.0.1"
_NAMES = (LOOPBACK, "localhost", "[::1]")
_starting = Lock()


def local_server(title: str, names: Sequence[Sequence[str]], port: int = 0) -> Any:
    """A server; ``names`` are those of the bodies of each mechanism, port 0 is any free one."""
    try:
        import viser
    except ImportError:
        raise MissingExtraError("a view in the browser needs viser: pip install 'linkwork[viewer]'") from None

    class Local(viser.ViserServer):  # type: ignore[misc,unused-ignore]
        def request_share_url(self, verbose: bool = True) -> str | None:
            """None: a page that requests a public address gets none."""
            return None

    with (
        contextlib.redirect_stdout(io.StringIO()),
        _own_pages_only(_script(names)),
    ):  # the view prints the messages itself
        server = Local(host=LOOPBACK, port=port, label=one_line(title), verbose=False)
    actual = server.get_port()
    if port and actual != port:
        stop(server)
        raise FileError(98, f"port {port} is taken; leave it out for one that is free", str(port))
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    return server


@contextlib.contextmanager
def _own_pages_only(script: bytes) -> Iterator[None]:
    """A viser server that starts in this context rejects requests of pages that it has not served itself, and adds a
    script to its own.
    """
    import websockets.asyncio.server as websocket_servers

    plain, guarded = websocket_servers.serve, []

    def serve(*arguments: Any, process_request: Any = None, **options: Any) -> Any:
        if getattr(process_request, "__module__", "").partition(".")[0] != "viser":  # another server in this process
            return plain(*arguments, process_request=process_request, **options)
        guarded.append(True)

        def answer(connection: Any, request: Any) -> Any:
            if not _of_its_own(request.headers.get_all("Origin"), request.headers.get_all("Host")):
                return connection.respond(HTTPStatus.FORBIDDEN, "this view is for its own page\n")
            with contextlib.suppress(KeyError):
                del request.headers["Accept-Encoding"]  # no compression: it gains nothing on the same machine
            return _with_script(process_request(connection, request), script)

        return plain(*arguments, process_request=answer, **options)

    with _starting:
        websocket_servers.serve = serve  # type: ignore[misc,assignment,unused-ignore]
        try:
            yield
        finally:
            websocket_servers.serve = plain  # type: ignore[misc,unused-ignore]
    if not guarded:
        message = "this version of viser answers pages of other sites that are open in your browser, too"
        warnings.warn(message, LinkworkWarning, stacklevel=4)


def _script(names: Sequence[Sequence[str]]) -> bytes:
    """The script element of the page; names are escaped so that they cannot end it."""
    text = (resources.files("linkwork.viewer.browser") / "page.js").read_text(encoding="utf-8")
    return f"<script>\nconst NAMES = {as_script([list(pair) for pair in names])};\n{text}</script>\n".encode()


def _with_script(response: Any, script: bytes) -> Any:
    """A response, with the script at its end if it is a page."""
    if response is not None and response.headers.get("Content-Type", "").startswith("text/html"):
        response.body += script
        del response.headers["Content-Length"]
        response.headers["Content-Length"] = str(len(response.body))
    return response


def _of_its_own(origins: list[str], hosts: list[str]) -> bool:
    """Whether a request comes from a page of this server, by any name and forwarded port of this machine, or from no
    page at all.
    """
    if not origins:
        return True
    ours = [f"http://{host}" for host in hosts if host.rpartition(":")[0] in _NAMES or host in _NAMES]
    return len(ours) == 1 and origins == ours


def stop(server: Any) -> None:
    """Stop the server without output."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
