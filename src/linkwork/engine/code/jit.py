"""LLVM through llvmlite: module text to object code for a CPU, and object code to callable memory.

Object code is position independent and refers to Python's functions by name, so it can be cached on disk. If ``linker``
supports it, LLVM is neither needed nor loaded to bring it into memory. Memory is never writable and executable at once:
a linker writes it first, then protects it.

All objects of LLVM are made, used and disposed of on the thread of ``undisturbed``, a module before its context. A
context whose module meets an error is never disposed of, nor is a linker.
"""

from __future__ import annotations

import ctypes
import itertools
import os
import sys
import threading
import weakref
from collections import deque
from collections.abc import Callable, Sequence
from functools import cache
from typing import Any, TypeVar

from linkwork.arguments import variable
from linkwork.engine.code import linker, undisturbed
from linkwork.engine.code.target import Target, target
from linkwork.engine.emit import builtin
from linkwork.errors import LinkworkError
from linkwork.memory import check_available
from linkwork.properties import cached_property

Result = TypeVar("Result")

lock = threading.RLock()
"""Held while code is compiled, one module at a time; a fork waits for it."""
if hasattr(os, "register_at_fork"):  # it waits for this lock first: who holds it may wait for LLVM
    os.register_at_fork(before=lock.acquire, after_in_parent=lock.release, after_in_child=lock.release)

_serial = itertools.count()
_LEAST_MEMORY, _MEMORY = 64 * 2**20, 64
"""Bytes that LLVM takes at most, and for a byte of text: 1.5 times the measured values."""
_INSTEAD = "free some, or use lw.interpreted(), which needs no code"


class Code:
    """Linked code: its functions by address. It stays in memory as long as this object."""

    def __init__(self, memory: object, addresses: dict[str, int]) -> None:
        self._memory = memory
        self.addresses = addresses

    def function(self, name: str, brief: bool = False) -> Callable[[int], int]:
        """A function that is called with the address of its words; it runs without the GIL, unless it is so brief that
        releasing and reacquiring the GIL would take longer.
        """
        kind = ctypes.PYFUNCTYPE if brief else ctypes.CFUNCTYPE
        function = kind(ctypes.c_int64, ctypes.c_void_p)(self.addresses[name])
        function.code = self  # type: ignore[attr-defined]
        return function

    @cached_property
    def integers(self) -> tuple[int, ...]:
        """The compile-time integers of rolled code."""
        integer = ctypes.CFUNCTYPE(ctypes.c_int64, ctypes.c_int64)(self.addresses["integer"])
        return tuple(int(integer(which)) for which in range(1, 1 + int(integer(0))))


@cache
def _llvm() -> Any:
    reason = unsuitable()
    if reason:
        raise LinkworkError(f"no machine code: {reason}")
    try:
        import llvmlite.binding as llvm
    except (ImportError, OSError) as error:
        raise LinkworkError(f"no machine code: {_MISSING} ({error})") from None
    finally:
        if "llvmlite.binding" not in sys.modules:  # interrupted: a part of it may have its lock held
            for name in [name for name in sys.modules if name.startswith("llvmlite.binding.")]:
                del sys.modules[name]
    return llvm


@cache
def _ready() -> Any:
    """LLVM with what this machine needs."""
    _llvm().initialize_native_target()
    _llvm().initialize_native_asmprinter()
    _llvm().initialize_native_asmparser()
    return _llvm()


def _by_llvm(function: Callable[..., Result], *given: object) -> Result:
    """The result of a function that calls LLVM. The caller imports it: Python's import lock stays with a thread that is
    interrupted in the middle of an import, so no other thread may need it.
    """
    _llvm()
    return undisturbed.run(function, *given)


LANES = "LINKWORK_LANES"
"""The environment variable that holds the most lanes to use: 2, 4 or 8."""


@cache
def _target() -> Target:
    """LLVM's description of this machine."""
    return target(lambda: _by_llvm(_asked))


def _asked() -> Target:
    """LLVM's current answer. On Windows code comes in ELF objects, since LLVM's linker does not support the constant
    sections of COFF.
    """
    llvm = _llvm()
    triple = llvm.get_process_triple()
    triple = f"{triple}-elf" if "-windows" in triple and not triple.endswith("-elf") else triple
    flags = [f"{'+' if there else '-'}{name}" for name, there in sorted(llvm.get_host_cpu_features().items())]
    return Target(".".join(map(str, llvm.llvm_version_info)), triple, llvm.get_host_cpu_name(), ",".join(flags))


@cache
def host() -> tuple[str, str]:
    """The CPU's name and features, without those whose vectors have more lanes than are wanted."""
    unwanted = {"2": ("avx", "fma", "f16c", "xop", "vaes", "vpclmulqdq"), "4": ("avx512", "avx10", "evex512")}
    names = unwanted.get(variable(LANES, "2", "4", "8") or "8", ("\0",))
    flags = _target().features.split(",")
    return _target().cpu, ",".join(f"-{flag[1:]}" if flag[1:].startswith(names) else flag for flag in flags)


BASELINE = ("x86-64", "+sse2,-avx")
"""Any 64-bit x86: for tests that results do not depend on the CPU."""


def lanes(cpu: tuple[str, str]) -> int:
    """How many float64 numbers fit a vector of this CPU."""
    features = set(cpu[1].split(","))
    if "+avx512f" in features:
        return 8
    return 4 if "+avx" in features else 2


def triple() -> str:
    """The target that code is generated for: this process's."""
    return _target().triple


@cache
def _machine(cpu: tuple[str, str], triple: str) -> Any:
    target = _ready().Target.from_triple(triple)
    return target.create_target_machine(cpu=cpu[0], features=cpu[1], opt=1, reloc="pic", codemodel="small", jit=False)


@cache
def _linker(cpu: tuple[str, str], triple: str) -> Any:
    """LLVM's newer linker, which places all sections of an object side by side. The older one allocates section by
    section: among large arrays it may place constants too far from the code that reads them, and ends the process.
    """
    return _llvm().create_lljit_compiler(_machine(cpu, triple), use_jit_link=True)


def version() -> str:
    """What object code depends on besides its source: LLVM's version."""
    return _target().version


def compile_object(text: str, cpu: tuple[str, str]) -> bytes:
    """Object code of a module for a CPU."""
    _check_memory(len(text))
    with lock:
        return _by_llvm(_compile, text, cpu, triple())


_contexts: list[Any] = []
"""They stay here until their modules are disposed of."""


def _compile(text: str, cpu: tuple[str, str], triple: str) -> bytes:
    """The same on LLVM's thread."""
    # constants stay in a context as long as it lives, and every mechanism has its own
    _contexts.append(_llvm().create_context())
    with _llvm().parse_assembly(text, _contexts[-1]) as module:
        image = bytes(_machine(cpu, triple).emit_object(module))
    _contexts.pop().close()
    return image


def compile_for(texts: Sequence[str], triple: str, cpu: str, features: str) -> bytes:
    """Object code of modules, linked into one, for another machine than this one."""
    _check_memory(sum(map(len, texts)))
    with lock:
        return _by_llvm(_compile_for, texts, triple, cpu, features)


@cache
def _any_target() -> None:
    _ready().initialize_all_targets()
    _llvm().initialize_all_asmprinters()


def _compile_for(texts: Sequence[str], triple: str, cpu: str, features: str) -> bytes:
    """The same on LLVM's thread; cross compilation is rare, and a context with an error stays."""
    _any_target()
    try:
        kind = _llvm().Target.from_triple(triple)
    except RuntimeError as error:
        raise LinkworkError(f"LLVM has no machine for triple {triple!r}: {error}") from None
    try:
        return _object_of(kind, texts, triple, cpu, features)
    except RuntimeError as error:
        why = str(error).strip().partition("\n")[0]
        raise LinkworkError(f"LLVM makes no object code of this function for triple {triple!r}: {why}") from None


def _object_of(kind: Any, texts: Sequence[str], triple: str, cpu: str, features: str) -> bytes:
    reloc = "static" if triple.startswith("wasm") else "pic"
    code = kind.create_target_machine(cpu=cpu, features=features, opt=2, reloc=reloc, codemodel="small", jit=False)
    _contexts.append(_llvm().create_context())
    with _llvm().parse_assembly(texts[0], _contexts[-1]) as module:
        for text in texts[1:]:
            module.link_in(_llvm().parse_assembly(text, _contexts[-1]))
        module.triple, module.data_layout = triple, str(code.target_data)
        module.verify()
        image = bytes(code.emit_object(module))
    _contexts.pop().close()
    return image


def link(image: bytes, names: list[str]) -> Code:
    """Object code linked into executable memory."""
    needed = {**_system_symbols(), **(builtin.addresses() if names == [builtin.NAME] else {})}
    try:
        found = linker.linked(image, needed, names) or _linked(image, needed, names)
    except linker.Damaged:
        raise LinkworkError("object code is damaged; remove what is kept of it with: linkwork cache --clear") from None
    except (OSError, RuntimeError) as error:
        raise LinkworkError(f"the system gives no memory that code can be brought into: {error}") from None
    return Code(*found)


def _linked(image: bytes, needed: dict[str, int], names: list[str]) -> linker.Linked:
    """The same by LLVM."""
    _check_memory(len(image))
    with lock:
        return _by_llvm(_link, image, needed, names, host(), triple())


class _Memory:
    """Stands for code that LLVM has loaded: when nobody has it any more, the next link unloads that code."""


_loaded: dict[weakref.ref[_Memory], Any] = {}
_unused: deque[weakref.ref[_Memory]] = deque()


def _link(image: bytes, needed: dict[str, int], names: list[str], cpu: tuple[str, str], triple: str) -> linker.Linked:
    """The same on LLVM's thread."""
    while _unused:
        _loaded.pop(_unused.popleft()).close()
    library = _llvm().JITLibraryBuilder().add_object_img(image)
    for name, address in needed.items():
        library.import_symbol(name, address)
    for name in names:
        library.export_symbol(name)
    tracker = library.link(_linker(cpu, triple), f"linkwork{next(_serial)}")
    memory = _Memory()
    _loaded[weakref.ref(memory, _unused.append)] = tracker
    return linker.Linked(memory, {name: tracker[name] for name in names})


def _check_memory(size: int) -> None:
    """Refuse to compile so many bytes of text if LLVM may run out of memory: it would end the process."""
    check_available("the compiler and linker of machine code", _LEAST_MEMORY + _MEMORY * size, _INSTEAD)


@cache
def _system_symbols() -> dict[str, int]:
    """Functions of the system that LLVM itself calls: on Windows one that probes every page of a large stack frame."""
    if sys.platform != "win32":
        return {}
    probe = getattr(ctypes.CDLL("ntdll"), "__chkstk", None)
    return {"__chkstk": ctypes.cast(probe, ctypes.c_void_p).value or 0} if probe else {}


_MISSING = "llvmlite is missing, or its library cannot be loaded"


def obstacle() -> str | None:
    """Why there can be no machine code in this process; None if there can."""
    reason = unsuitable()
    if reason is None:
        try:
            import llvmlite  # noqa: F401

            _target()
        except (ImportError, OSError, LinkworkError) as error:
            return f"{_MISSING} ({error})"
    return reason if reason or linker.executable_memory() else "this system does not allow executable memory"


def unsuitable() -> str | None:
    """Why generated code would be wrong on this machine: it assumes 64-bit addresses and little-endian order."""
    if sys.maxsize < 2**32:
        return "this is a 32-bit Python, and machine code is made for 64 bits"
    if sys.byteorder != "little":
        return "this machine is big-endian, and machine code is made for little-endian ones"
    return None
