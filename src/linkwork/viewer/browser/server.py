"""viser's server, for this machine alone: bound to the loopback address, on a free port, never shared by a tunnel."""

from __future__ import annotations

import contextlib
import io
from typing import Any

from linkwork.errors import FileError, MissingExtraError

LOOPBACK = "127.0.0.1"


def local_server(title: str, port: int = 0) -> Any:
    """A server; port 0 is any that is free."""
    try:
        import viser
    except ImportError:
        raise MissingExtraError("a view in the browser needs viser: pip install 'linkwork[viewer]'") from None

    class Local(viser.ViserServer):  # type: ignore[misc,unused-ignore]
        def request_share_url(self, verbose: bool = True) -> str | None:
            """None: a page may ask for a public address, and gets none."""
            return None

    with contextlib.redirect_stdout(io.StringIO()):  # what there is to say, the view says
        server = Local(host=LOOPBACK, port=port, label=title, verbose=False)
    found = server.get_port()
    if port and found != port:
        stop(server)
        raise FileError(98, f"port {port} is taken; leave it out for one that is free", str(port))
    server.gui.configure_theme(show_logo=False, show_share_button=False, control_width="medium")
    return server


def stop(server: Any) -> None:
    """End it, and say nothing."""
    with contextlib.redirect_stdout(io.StringIO()):
        server.stop()
