from linkwork.simulation.rollouts.result import Rollout as Rollout
from linkwork.simulation.rollouts.rollout import rollout as rollout
from linkwork.simulation.simulate import simulate as simulate
from linkwork.simulation.torques import Controller as Controller
from linkwork.simulation.trajectory import Trajectory as Trajectory
