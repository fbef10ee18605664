"""Policies that are after return, not after success.

`blind` holds those that see neither brief nor telemetry; `reader`, `dodger` and `spoiler` look. Beside them
fly command scripts that are searched for (`studies/open_loop.py`), and the script of another mission.
"""
