"""The published measures as the release computes them, each with its known defect."""
