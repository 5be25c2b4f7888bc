"""The cards of the report page: a template in ``cards/``, for some a script in ``scripts/``, and a
module that computes the values they show."""
