"""What Zarr, its codecs and stores raise where stored bytes are not those that were written."""

from __future__ import annotations

__all__ = ["DAMAGED", "cause_of", "reason_of"]

# A torn shard may ask for any amount of memory; Zarr 3.4 reads shards in groups of tasks.
DAMAGED = (
    OSError,
    ValueError,
    RuntimeError,
    TypeError,
    IndexError,
    KeyError,
    AssertionError,
    MemoryError,
    ExceptionGroup,
)


def cause_of(error: BaseException) -> BaseException:
    """The first error of a group, or the error itself."""
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


def reason_of(error: BaseException) -> str:
    """What an error says, on one line."""
    cause = cause_of(error)
    return str(cause).splitlines()[0] if str(cause) else type(cause).__name__
