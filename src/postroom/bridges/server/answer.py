"""How a server may fail to answer: what is certain after each."""


class Refusal(Exception):
    """It answered that it does not do that: nothing was done."""


class Unsent(Exception):
    """Not a byte was sent: there is no connection, or it takes none."""


class Silence(Exception):
    """It was sent, or a part of it, and no answer came: nobody can tell whether it is done."""


UNANSWERED = (Refusal, Unsent, Silence)
