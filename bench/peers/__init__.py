"""abey beside other libraries that keep sessions durable: the same work, in one table (`python -m bench.peers`).

The work and the scripts of the others are no part of this repository: a folder has them, with a module `common` whose
`Peer` every one of them extends, and whose `main` drives it.
"""
