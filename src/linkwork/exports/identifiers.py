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
_MACRO = re.compile(
    r"BUFSIZ|EOF|FILE|HUGE_VAL[FL]?|I|INFINITY|NAN|DOMAIN|OVERFLOW|SING|UNDERFLOW|errno|linux|unix|i386|std(err|in|out)|"
    r"math_errhandling|(BIG|LITTLE|PDP)_ENDIAN|BYTE_ORDER|NFDBITS|[A-Z0-9_]+_(MAX|MIN|C)|"
    r"(EXIT|FD|FP|L|M|MATH|SEEK|W)_[A-Za-z0-9_]+"
)
"""Macros of compilers and headers of C."""
_LIBRARY = re.compile(
    r"(acos|asin|atan|cos|sin|tan)h?[fl]?|(atan2|cbrt|ceil|copysign|dre?m|erfc?|exp(2|10|m1)?|fabs|fdim|finite|floor|"
    r"fma|fmax|fmin|fmod|frexp|gamma|hypot|ilogb|j[01n]|ldexp|ll?r(int|ound)|lgamma|log(10|1p|2|b)?|modf|nan|"
    r"nearbyint|next(after|toward)|pow|remainder|remquo|rint|round|scalbl?n?|significand|sqrt|tgamma|trunc|y[01n])"
    r"([fl]|_r)?|is(finite|greater|greaterequal|infl?|less|lessequal|lessgreater|nanl?|normal|unordered)|fpclassify|"
    r"signbit|signgam|abort|alloca|l?l?abs|atexit|ato(f|ll?|i)|bcmp|bcopy|bsearch|bzero|[cm]alloc|calloc|clearerr|"
    r"clock|close|l?l?div|environ|exit|f(close|eof|error|flush|getc|getpos|gets|open|printf|putc|puts|read|reopen|"
    r"scanf|seek|setpos|tell|write)|fork|free|get(c|char|env|line|s|w)|index|kill|link|ll?seek|mb(len|stowcs|towc)|"
    r"mem(chr|cmp|cpy|move|set)|offsetof|open|perror|pipe|v?(f|s|sn)?printf|put(c|char|env|s|w)|qsort|raise|s?rand|"
    r"random|read|realloc|remove|rename|rewind|rindex|v?[fs]?scanf|select|setbuf|setvbuf|signal|sleep|str[a-z]+|system|"
    r"time|tmpfile|tmpnam|ungetc|unlink|va_list|wait|wcstombs|wctomb|write|[a-z0-9_]+_t"
)
"""Names of the library of C, which headers declare and other code of a program calls."""
_PATTERN = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST = 60


def function_name(name: object) -> str:
    """A name for the exported function, which must be one in all these languages."""
    if not isinstance(name, str) or not _PATTERN.fullmatch(name) or len(name) > _LONGEST or "__" in name:
        raise ArgumentError(
            f"name must be an identifier of C: a letter, then letters, digits and single underscores, at most "
            f"{_LONGEST}; not {shown(name)}"
        )
    if _is_taken(name):
        raise ArgumentError(
            f"name must not be {name!r}, which is a word of C, C++ or JavaScript, of their libraries or of the export"
        )
    return name


def _is_taken(name: str) -> bool:
    """Whether no exported function can have this name."""
    return _is_word(name) or name.startswith("lw_") or _LIBRARY.fullmatch(name) is not None


def _is_word(name: str) -> bool:
    """Whether nothing in the text can have this name."""
    return name in KEYWORDS or name in _TAKEN or _MACRO.fullmatch(name) is not None


def default_name(*words: str) -> str:
    """A name for the exported function, of words that may be no identifiers."""
    name = "_".join(re.sub(r"[^A-Za-z0-9]+", "_", word).strip("_") for word in words if word).strip("_")
    name = re.sub(r"__+", "_", name)[:_LONGEST].rstrip("_")
    if not name or not name[0].isalpha():
        name = f"function_{name}".rstrip("_")
    return f"{name}_" if _is_taken(name) else name


def array_names(names: Iterable[str], function: str = "") -> list[str]:
    """Names for arrays of a function, each different, as near to these as possible."""
    chosen: list[str] = []
    for number, name in enumerate(names):
        plain = re.sub(r"[^A-Za-z0-9_]+", "_", name).strip("_") if name.isascii() else ""
        own = plain if plain and plain[0].isalpha() and len(plain) <= _LONGEST else f"array{number}"
        own = f"the_{own}" if _MACRO.fullmatch(own) else own
        while _is_word(own) or own in chosen or collides(own, function):
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
