"""All contacts of a model, and the softness of limits, joint friction and constraints. Single contacts are imported
late: most models have none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from typing import TYPE_CHECKING, Any, overload

from linkwork.arguments import finite_array, is_listed, not_negative, positive
from linkwork.errors import ArgumentError, shown
from linkwork.properties import cached_property

if TYPE_CHECKING:
    from linkwork.model.contacts import Contact, Softness
    from linkwork.model.medium import Medium


@dataclass(frozen=True)
class Contacts(Sequence["Contact"]):
    """Contacts, and the softness of limits, joint friction and constraints: ``model.contacts`` of an MJCF model.

    A list of ``lw.Contact`` is accepted wherever contacts are; limits and friction of joints then have MuJoCo's default
    softness.

    Attributes:
        each: the contacts. limits: for each joint by name, the softness of its limits and the margin (m or rad) before
            them; friction: the softness of its dry friction. friction_ratio: the impedance of friction relative to the
            normal direction (MuJoCo's ``impratio``). reference: the configuration in which effective masses are
            measured, if it is not the model's neutral one; centres: for frames by name, the point in them (m) at which
            masses are measured, if it is not the centre of mass of the frame's body. bonds: the softness of the model's
            constraints in a contact problem. left_out: features of a file that are not represented, reported when the
            contacts are used. medium: the fluid in which the mechanism moves, if it resists. rotors: for free bodies by
            name, the armature (kg) that acts on their velocity in the world's axes, as in MuJoCo, not in the body's:
            the difference is a force -r ω × v. tolerance: 0 to compute
            accelerations to rounding; otherwise the search ends with a step that lowers the cost by less than this,
            relative to the trace of the mass matrix: MuJoCo's ``tolerance``, 1e-8 in most files.
    """

    each: tuple[Contact, ...] = ()
    limits: tuple[tuple[str, Softness, float], ...] = ()
    friction: tuple[tuple[str, Softness], ...] = ()
    friction_ratio: float = 1.0
    reference: tuple[float, ...] | None = None
    centres: tuple[tuple[str, tuple[float, float, float]], ...] = ()
    bonds: tuple[Softness, ...] = ()
    left_out: tuple[str, ...] = ()
    medium: Medium | None = None
    tolerance: float = 0.0
    rotors: tuple[tuple[str, float], ...] = ()

    @property
    def resisted(self) -> tuple[str, ...]:
        """The frames whose motion the medium or a rotor resists."""
        boxes = () if self.medium is None else self.medium.boxes
        return (*(frame for frame, _, _ in boxes), *(frame for frame, _ in self.rotors))

    def __post_init__(self) -> None:
        if self.medium is not None:
            from linkwork.model.medium import Medium

            if not isinstance(self.medium, Medium):
                raise ArgumentError(f"medium of contacts must be lw.Medium, not {shown(self.medium)}")
        _tuples("each", self.each, "Contact")
        _tuples("limits", self.limits, "str", "Softness", "float")
        _tuples("friction", self.friction, "str", "Softness")
        _tuples("centres", self.centres, "str", "tuple")
        _tuples("bonds", self.bonds, "Softness")
        _tuples("rotors", self.rotors, "str", "float")
        _tuples("left_out", self.left_out, "str")
        object.__setattr__(self, "friction_ratio", positive("friction_ratio", self.friction_ratio))
        object.__setattr__(self, "tolerance", not_negative("tolerance of contacts", self.tolerance))
        if self.reference is not None:
            numbers = finite_array("reference", self.reference)
            object.__setattr__(self, "reference", tuple(float(x) for x in numbers.ravel()))

    @cached_property
    def digest(self) -> str:
        """A digest of all numbers: the same for equal contacts."""
        return sha256(repr(self).encode()).hexdigest()

    @overload
    def __getitem__(self, index: int) -> Contact: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Contact, ...]: ...
    def __getitem__(self, index: int | slice) -> Contact | tuple[Contact, ...]:
        return self.each[index]

    def __len__(self) -> int:
        return len(self.each)

    def __iter__(self) -> Iterator[Contact]:
        return iter(self.each)


def as_contacts(contacts: Any) -> Contacts:
    """The contacts of a call, checked; a single one stands for a list of one."""
    if isinstance(contacts, Contacts):
        return contacts
    if type(contacts) is tuple and not contacts:
        return Contacts()
    from linkwork.model.contacts import Contact

    if isinstance(contacts, Contact):
        return Contacts((contacts,))
    if not is_listed(contacts):
        raise ArgumentError(f"contacts must be model.contacts or a list of lw.Contact objects, not {shown(contacts)}")
    for contact in contacts:
        if not isinstance(contact, Contact):
            raise ArgumentError(f"contacts must hold lw.Contact objects, not {shown(contact)}")
    return Contacts(tuple(contacts))


def _tuples(what: str, values: Any, *names: str) -> None:
    """Raise an error unless a value is a tuple of objects of the named class, or of tuples of such."""
    fits = isinstance(values, tuple)
    if fits and not values:
        return
    from linkwork.model.contacts import Contact, Softness

    types = {kind.__name__: kind for kind in (Contact, Softness, str, float, tuple)}
    kinds = [types[name] for name in names]
    if fits and len(kinds) == 1:
        fits = all(isinstance(one, kinds[0]) for one in values)
    elif fits:
        fits = all(
            isinstance(one, tuple) and len(one) == len(kinds) and all(map(isinstance, one, kinds)) for one in values
        )
    if not fits:
        raise ArgumentError(f"{what} of contacts must be a tuple of {', '.join(names)}, not {shown(values)}")
