"""STUB until merged"""

from linkwork.engine.ir.program import Address
from linkwork.engine.trace.tracer import Tracer
from linkwork.spatial.functions import atan2, sin_cos, sqrt, where_less


def replay(program, arrays):
    vals = {}
    out = {}
    ops = {
        "add": lambda a, b: a + b,
        "sub": lambda a, b: a - b,
        "mul": lambda a, b: a * b,
        "div": lambda a, b: a / b,
        "neg": lambda a: -a,
        "sqrt": sqrt,
        "sin": lambda a: sin_cos(a)[0],
        "cos": lambda a: sin_cos(a)[1],
        "atan2": atan2,
        "less": where_less,
    }
    for n in program.root.order:
        op = program.operations[n]
        x = [vals[o] if type(o) is int else o for o in program.operands[n]]
        d = program.details[n]
        if op == "load":
            vals[n] = arrays[d.array][d.offset]
        elif op == "store":
            out.setdefault(d.array, {})[d.offset] = x[0]
        elif op == "constant":
            vals[n] = d
        else:
            vals[n] = ops[op](*x)
    return out


def expanded(program):
    t = Tracer(expand=True)

    class L(dict):
        def __missing__(self, name):
            class A:
                def __getitem__(s, i):
                    return t.load(Address(name, i))

            return A()

    for name, vals in replay(program, L()).items():
        for k, v in vals.items():
            t.store(Address(name, k), v)
    return t.program
