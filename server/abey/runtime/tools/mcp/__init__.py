"""Tools of MCP servers: one connection for a session and a server, over the pipes of a program or over HTTP.

Only `connection`, `lines`, `reaching` and `spoken` know the SDK: it is an extra, it is large, and it is imported when
the first session needs it.
"""
