"""The first question: which partition a record goes to."""
