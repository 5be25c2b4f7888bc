"""What a plan looks like: terminal tables and one self-contained HTML page.

Everything here is a view of the plan.json document (format_version 1); nothing decides anything.
"""
