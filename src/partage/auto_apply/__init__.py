"""``partage watch --apply``: bring the load below the threshold again, within a budget.

judgement ─ policy (may anything be done now?) ─ relief (a plan for the running cluster)
          └ keeper: check, preflight, a run with its journal ─ ledger (what was spent)

The watch measures and judges. After a judgement that the load is uneven, ``Keeper`` reads the
cluster, plans, and applies the plan, if it may; otherwise it reports why not. ``Background`` does
that in a thread, so that the watch goes on measuring.
"""
