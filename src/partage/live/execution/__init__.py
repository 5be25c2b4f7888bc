"""A plan carried out on a running cluster, and undone: apply, rollback, verify."""
