"""The kernel: integral min-cost flows and their certificates. It knows nothing of Kafka."""
