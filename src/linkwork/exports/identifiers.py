"""Names that C, C++ and JavaScript accept."""

from __future__ import annotations

import re
from collections.abc import Iterable

from linkwork.errors import ArgumentError, shown

KEYWORDS = frozenset(
    """
    alignas alignof and and_eq asm auto bitand bitor bool break case catch char char8_t char16_t char32_t class compl
    concept const consteval constexpr constinit const_cast continue co_await co_return co_yield decltype default delete
    do double dynamic_cast else enum explicit export extern false float for friend goto if inline int long mutable
    namespace new noexcept not not_eq nullptr operator or or_eq private protected public register reinterpret_cast
    requires restrict return short signed sizeof static static_assert static_cast struct switch template this
    thread_local throw true try typedef typeid typename typeof union unsigned using virtual void volatile wchar_t while
    xor xor_eq None True False and as assert def del elif except finally from global is lambda nonlocal or pass raise
    out np sys ctypes pathlib threading run self_test function var let await async yield import in instanceof with
    main NULL sqrt memcpy arguments eval size_t ptrdiff_t uint64_t int32_t std span zip map len tuple int
    """.split()
)
"""Words of these languages, and what the generated text itself uses."""
_TAKEN = frozenset(
    """
    workspace states steps where status memory shared work square state own joint k i sizes inputs outputs stack chunk
    checked given found first few rows numbers load source bytes
    """.split()
)
"""Words that have a meaning in the generated text."""
_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST = 60


def function_name(name: object) -> str:
    """A name for the exported function, which must be one in all these languages."""
    if not isinstance(name, str) or not _PATTERN.fullmatch(name) or len(name) > _LONGEST or "__" in name:
        raise ArgumentError(
            f"name must be an identifier of C: a letter, then letters, digits and single underscores, at most "
            f"{_LONGEST}; not {shown(name)}"
        )
    if name in KEYWORDS or name in _TAKEN or name.startswith("lw_"):
        raise ArgumentError(f"name must not be {name!r}, which is a word of C, C++ or JavaScript, or of the export")
    return name


def default_name(*words: str) -> str:
    """A name for the exported function, of words that may be no identifiers."""
    name = "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") for word in words if word).strip("_")
    name = re.sub(r"__+", "_", name)[:_LONGEST].rstrip("_")
    if not name or not name[0].isalpha():
        name = f"function_{name}".rstrip("_")
    return f"{name}_" if name in KEYWORDS or name in _TAKEN or name.startswith("lw_") else name


def array_names(names: Iterable[str], function: str = "") -> list[str]:
    """Names for arrays of a function, each different, as near to these as possible."""
    chosen: list[str] = []
    for number, name in enumerate(names):
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") if name.isascii() else ""
        own = plain if plain and plain[0].isalpha() and len(plain) <= _LONGEST else f"array{number}"
        while own in KEYWORDS or own in _TAKEN or own in chosen or collides(own, function):
            own = f"the_{own}" if _is_ours(own, function) else f"{own}_"
        chosen.append(own)
    return chosen


_OURS = re.compile(
    "batch|run|(batch|loops|data|ints|size|test|tests|bits|singular|compute|pivots|subroutine|status).*|fine"
)


def collides(name: str, function: str) -> bool:
    """Whether the name of an array is that of a function, or of something that is made for it."""
    return name == function or _is_ours(name, function)


def _is_ours(name: str, function: str) -> bool:
    """Whether a name begins as those of the generated text do."""
    after = name.removeprefix(f"{function}_") if function else name
    return name.startswith("lw_") or (after != name and _OURS.fullmatch(after) is not None)
