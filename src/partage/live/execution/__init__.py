"""Executes a plan on a running cluster: ``Executor`` runs the waves of an ``ExecutionPlan``."""
