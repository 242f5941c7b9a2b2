"""Routes, as people are told of them."""

UNVERIFIED = ("claude-team",)  # what goes by these is not proven by anything that is documented


def told(route: str) -> str:
    return f"{route} (unverified)" if route in UNVERIFIED else route
