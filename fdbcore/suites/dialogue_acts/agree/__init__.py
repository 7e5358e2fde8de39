"""How far annotators agree, and how well the measures go with people's ratings."""
