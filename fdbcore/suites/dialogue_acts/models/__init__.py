"""What language models are asked to write and to annotate, and whether their answers can be used."""
