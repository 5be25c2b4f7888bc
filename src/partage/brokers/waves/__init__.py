"""The waves of a plan: which partitions are reassigned together, and in which order."""

from partage.brokers.waves.schedule import Wave, WaveSchedule, schedule_waves

__all__ = ["Wave", "WaveSchedule", "schedule_waves"]
