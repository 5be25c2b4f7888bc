"""Replica to broker, and who leads: plans, their proofs and the strategies that make them."""
