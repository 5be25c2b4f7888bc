"""Placements, assignments and simulations as SVG pictures without script, for pages and slides."""

from partage.report.pictures.assignment import assignment_svg
from partage.report.pictures.placement import placement_svg
from partage.report.pictures.schedule import schedule_svg
from partage.report.pictures.simulation import simulation_svg

__all__ = ["assignment_svg", "placement_svg", "schedule_svg", "simulation_svg"]
