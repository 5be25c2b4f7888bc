"""Brokers and leaders of partitions: plans, their proofs and the strategies that make them."""
