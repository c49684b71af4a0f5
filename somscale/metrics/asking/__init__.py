"""What is asked: the candidates, the samples, and the indices to compute."""

from __future__ import annotations
