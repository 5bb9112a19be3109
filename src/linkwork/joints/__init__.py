"""The joint types, one file each, and the base class for your own."""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
