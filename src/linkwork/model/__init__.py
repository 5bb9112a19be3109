"""The immutable Model, the Builder that makes one, and the tree that algorithms traverse."""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
