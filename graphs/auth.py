"""An example of access by token, off by default.

It is on where langgraph.json names it:

    "auth": {"path": "./graphs/auth.py:auth", "disable_studio_auth": true}

Tokens stand in the environment, `HEARSAY_TOKENS="ann:SECRET bob:SECRET"`, and clients send `Authorization: Bearer
SECRET`. Everybody may run all graphs and sees their own threads only. Without `disable_studio_auth`, `langgraph dev`
lets in whoever sends the header that Studio sends, with no token at all. docs/server.md has the commands.
"""

import hmac
import os
from typing import Any

from langgraph_sdk import Auth

SHORTEST = 16
"""Characters that a token has at least."""


def read_tokens(given: str) -> dict[str, str]:
    """`name:token` pairs, separated by spaces.

    Raises:
        RuntimeError: there is none, or one is too short to be a secret. The server does not start then: it is never
            open because a name was misspelt.
    """
    pairs = [pair.partition(":")[::2] for pair in given.split()]
    if not pairs or not all(name and len(token) >= SHORTEST for name, token in pairs):
        raise RuntimeError(f'set HEARSAY_TOKENS="name:token ...", each token of at least {SHORTEST} characters')
    return {token: name for name, token in pairs}


auth = Auth()
_tokens = read_tokens(os.environ.get("HEARSAY_TOKENS", ""))


@auth.authenticate
async def authenticate(authorization: str | None) -> Auth.types.MinimalUserDict:
    """Know a caller by the token."""
    scheme, _, given = (authorization or "").partition(" ")
    known = [name for token, name in _tokens.items() if hmac.compare_digest(token.encode(), given.strip().encode())]
    if scheme.lower() != "bearer" or not known:
        raise Auth.exceptions.HTTPException(401, "send Authorization: Bearer TOKEN")
    return {"identity": known[0]}


@auth.on
async def deny(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """What nobody has thought of is not allowed: the store, schedules, other people's assistants."""
    return False


@auth.on(resources="assistants", actions=["read", "search"])
async def look(ctx: Auth.types.AuthContext, value: Any) -> bool:
    """Everybody may use the graphs and the methods that the server offers."""
    return True


@auth.on.threads
async def own(ctx: Auth.types.AuthContext, value: Any) -> dict[str, str]:
    """A thread belongs to whoever created it, and its runs with it."""
    owner = {"owner": ctx.user.identity}
    value.setdefault("metadata", {}).update(owner)
    return owner
