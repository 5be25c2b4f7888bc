"""Reading a running cluster: connection, snapshot, groups, permissions."""
