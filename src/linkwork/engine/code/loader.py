"""Code by the digest of what it depends on: already in memory, on disk, or compiled now."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from weakref import WeakValueDictionary

from linkwork.engine import optimisations
from linkwork.engine.code import cache, fingerprint, jit
from linkwork.progress import waiting

_anew: ContextVar[bool] = ContextVar("linkwork_anew", default=False)
_loaded: WeakValueDictionary[str, jit.Code] = WeakValueDictionary()


def key_of(cpu: tuple[str, str], *what: object) -> str:
    """The digest of code for a CPU: of ``what`` it is generated from, and of everything that generates it."""
    return fingerprint.key(
        fingerprint.library(), jit.version(), jit.triple(), cpu, sorted(optimisations.without()), *what
    )


@contextmanager
def anew() -> Iterator[None]:
    """Compile all code that is loaded inside, and cache none of it."""
    token = _anew.set(True)
    try:
        yield
    finally:
        _anew.reset(token)


def is_kept(key: str) -> bool:
    """Whether code needs no compilation."""
    return not _anew.get() and (key in _loaded or cache.holds(key))


def is_too_long(key: str, most: int) -> bool:
    """Whether what this key is of has been found too long for code of at most so many instructions."""
    return is_kept(fingerprint.key(key, "too long", most))


def keep_too_long(key: str, most: int) -> None:
    """Keep that it is, so that no other process traces it to find out."""
    if not _anew.get():
        cache.write(fingerprint.key(key, "too long", most), b"")


def load(key: str, text: Callable[[], str], cpu: tuple[str, str], names: Sequence[str]) -> jit.Code:
    """The code of a key with its functions; ``text`` writes the module, if it must be compiled."""
    with jit.lock:
        if _anew.get():
            return jit.link(jit.compile_object(text(), cpu), list(names))
        found = _loaded.get(key)
        if found is None:
            image = cache.read(key)
            if image is None:
                with waiting("compiling, once for this model and machine"):
                    image = jit.compile_object(text(), cpu)
                cache.write(key, image)
            found = _loaded[key] = jit.link(image, list(names))
        return found
