"""What abey costs, beside what the machine itself takes: `python -m bench` (docs/performance.md)."""
