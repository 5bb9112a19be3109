from linkwork.simulation.rollouts.result import Rollout as Rollout
from linkwork.simulation.rollouts.rollout import rollout as rollout
