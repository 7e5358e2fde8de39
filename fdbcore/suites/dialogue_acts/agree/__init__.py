"""Agreement of annotators, and the correlation of the measures with people's ratings."""
