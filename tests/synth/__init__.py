"""Synthesised libraries: small files that real loaders accept, made to look like NVIDIA's."""
