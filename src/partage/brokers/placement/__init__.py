"""Placements by other criteria than replica counts: disk capacities and bytes."""
