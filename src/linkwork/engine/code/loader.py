"""Code by the digest of what it depends on: in memory already, on disk, or compiled now."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from weakref import WeakValueDictionary

from linkwork.engine.code import cache, fingerprint, jit

_loaded: WeakValueDictionary[str, jit.Code] = WeakValueDictionary()


def key_of(cpu: tuple[str, str], *what: object) -> str:
    """The digest of code for a CPU: of ``what`` it was made from, and of everything that makes it."""
    return fingerprint.key(fingerprint.library(), jit.version(), jit.triple(), cpu, *what)


def is_kept(key: str) -> bool:
    """Whether code needs no compilation."""
    return key in _loaded or cache.holds(key)


def load(key: str, text: Callable[[], str], cpu: tuple[str, str], names: Sequence[str]) -> jit.Code:
    """The code of a key with its functions; ``text`` writes the module, if it must be compiled."""
    with jit.lock:
        found = _loaded.get(key)
        if found is None:
            image = cache.read(key)
            if image is None:
                image = jit.compile_object(text(), cpu)
                cache.write(key, image)
            found = _loaded[key] = jit.link(image, list(names))
        return found
