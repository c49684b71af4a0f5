"""How a process in a test tells the most memory it ever held."""

from __future__ import annotations

from typing import Final

# Put before the code of a process. Not getrusage on Linux: its peak begins with what the parent
# held when it started the process, which for a long run of tests is gibibytes.
READ_PEAK: Final = '''
def read_peak():
    """The most bytes of memory that this process ever held."""
    try:
        with open("/proc/self/status") as status:
            return next(int(line.split()[1]) << 10 for line in status if line[:6] == "VmHWM:")
    except OSError:
        import resource, sys
        peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
        return peak if sys.platform == "darwin" else peak << 10
'''
