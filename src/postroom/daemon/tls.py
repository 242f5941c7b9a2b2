"""The certificate that the web server shows."""

import ssl

from postroom.config import Settings
from postroom.errors import InvalidValue


def check(settings: Settings) -> None:
    """Say what is wrong with it, without touching what is served."""
    load(ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER), settings)


def load(context: ssl.SSLContext, settings: Settings) -> None:
    """Show that one from now on; connections that stand keep theirs."""
    try:
        context.load_cert_chain(settings.tls_cert, settings.tls_key or None)
    except (OSError, ssl.SSLError) as exc:
        words = exc.strerror or exc.__class__.__name__
        raise InvalidValue(
            f"tls_cert {settings.tls_cert} cannot be used: {words}",
            hint="Give the path of a certificate (PEM), and its key in tls_key.",
        ) from exc
