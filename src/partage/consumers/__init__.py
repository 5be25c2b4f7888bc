"""Partition → member: who of a consumer group gets which partition."""
