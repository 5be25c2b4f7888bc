"""Placements that count more than replicas: less than the fairest share, bytes, disks.

Each is a room of its own; ``strategies.exact`` puts them together.
"""
