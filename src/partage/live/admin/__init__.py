"""Reading a running cluster: connection, snapshot, groups, permissions; and new partitions."""
