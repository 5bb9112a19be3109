"""The joint kinds, one file each, and the base for writing your own."""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
