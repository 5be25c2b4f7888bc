"""A live demonstration: a real cluster grows while a producer and a consumer group work."""
