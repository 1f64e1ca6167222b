"""A small HTTP gateway that limits what passes: `python -m ratelite.gateway --help`.

It exists to try policies out on the wire, and to stand in front of a service on one machine. It
counts on the raw request line, so `//login` and `/%6Cogin` are what they are.
"""
