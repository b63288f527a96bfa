"""Serves a GGUF model with the HTTP server of llama.cpp, at any port, until stdin ends: serve_llama.py MODEL TEMPLATE.

It runs with a Python that has xllamacpp, and needs nothing else.
"""

import sys
from pathlib import Path

import xllamacpp

CONTEXT = 2048
"""Tokens, in two conversations at a time."""


def main(model: str, template: str) -> None:
    params = xllamacpp.CommonParams()
    params.model.path = model
    params.chat_template = Path(template).read_text()
    params.use_jinja = True
    params.hostnames, params.port = ["127.0.0.1"], 0
    params.n_ctx, params.n_parallel = CONTEXT, 2
    params.n_gpu_layers = 0
    params.cpuparams.n_threads = 1  # two that wait for each other crawl where the cores are shared
    params.sampling.seed = 1
    params.endpoint_slots = True
    server = xllamacpp.Server(params)
    print(server.listening_address, flush=True)
    sys.stdin.read()


main(*sys.argv[1:])
