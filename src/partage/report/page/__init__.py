"""The cards of the report page: what each shows, as plain values for its template and its script.

A card is a template in ``cards/``, perhaps a script in ``scripts/``, and a module here that counts
what they draw.
"""
