"""Messages that only tests send, in the form of kafka-python's schemas."""
