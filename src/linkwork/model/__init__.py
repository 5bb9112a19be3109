"""The immutable Model, the Builder that makes one, and the tree that algorithms traverse.

The modules, in the order of the data flow:

    placements, inertias, limits    from user input
    geometry, medium, actuators     shapes to draw; air and water; motors
    constraints                     loop closures and bilateral contacts
    contacts, all_contacts          unilateral ones, single and of a model
    model, points, views            the model; points on it; all about one joint or body
    builder, mechanisms             models in code; built-in ones
    queries, describe, parameters   its names, its tree as text, its inertial parameters
    references, contact_edits       names in its parts, and contacts of edited models
    editing, merging, rotors        models made from models
    memo                            results kept with a model, which are no part of its value
    tree, fields, path_walks        what an algorithm walks, and stores its values in
    junctions, paths                where paths to the world meet; these in depth-first order
    loops, loop_walks               the loops of a mechanism, and when each is closed
    splitting, assembly, part_walks  links split, and joined pairwise
    segments, segment_walks, reductions
                                    a chain in segments, and the elimination of its seams
    isomorphism, doubtful           branches that are alike; joints that may move no inertia
"""

from linkwork.late import late

__getattr__, __dir__, __all__ = late(__name__, __file__)
