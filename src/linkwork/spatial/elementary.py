"""STUB until merged"""

from linkwork.spatial.functions import absolute as absolute, rint as rint, where_less as where_less


def _no(*a):
    raise NotImplementedError


exp = expm1 = exp2 = log = log1p = log2 = log10 = tan = arcsin = arccos = arctan = sinh = cosh = arcsinh = arccosh = (
    arctanh
) = hypot = cbrt = floor = ceil = trunc = remainder = fmod = _no


def tanh(x):
    return x


def power(x, y):
    return x * x if y == 2.0 else _no()


def sign(x):
    return where_less(x, 0.0, -1.0, where_less(0.0, x, 1.0, 0.0))


def minimum(a, b):
    return where_less(b, a, b, a)


def maximum(a, b):
    return where_less(a, b, b, a)
