"""Pictures of maps, embeddings and clusterings, by matplotlib and in xarray's style.

Every function takes the data first and then keywords alone: `ax` (by default the current
axes), and further ones that go to the artist.  It returns the artist, or the axes of several
panels; it shows nothing and changes no setting of matplotlib.  Labels and units come from the
data's attributes.

Labels have room under a layout of matplotlib, ``plt.subplots(layout="constrained")``, or where
the picture is saved by ``savefig(..., bbox_inches="tight")``.  With neither, the margins of a
figure 100 mm wide are narrower than labels of axes, of these pictures as of any others; legends
and colour bars keep inside the figure even so.
"""

from __future__ import annotations

from importlib import import_module
from importlib.util import find_spec
from typing import TYPE_CHECKING, Any, Final

if TYPE_CHECKING:
    from somscale.plot.choosing import trade_off as trade_off
    from somscale.plot.classes import label_map as label_map
    from somscale.plot.clusters import silhouettes as silhouettes
    from somscale.plot.counting import coranking_matrix as coranking_matrix
    from somscale.plot.counting import shepard_diagram as shepard_diagram
    from somscale.plot.curves import distortion as distortion
    from somscale.plot.curves import rank_curves as rank_curves
    from somscale.plot.curves import topographic_function as topographic_function
    from somscale.plot.embeddings import embedding as embedding
    from somscale.plot.heights import u_matrix as u_matrix
    from somscale.plot.histories import training as training
    from somscale.plot.maps import hits as hits
    from somscale.plot.maps import units as units
    from somscale.plot.nets import connectivity as connectivity
    from somscale.plot.nets import map_in_data as map_in_data
    from somscale.plot.planes import component_planes as component_planes
    from somscale.plot.surfaces import rank_quality as rank_quality

__all__ = [
    "component_planes",
    "connectivity",
    "coranking_matrix",
    "distortion",
    "embedding",
    "hits",
    "label_map",
    "map_in_data",
    "rank_curves",
    "rank_quality",
    "shepard_diagram",
    "silhouettes",
    "topographic_function",
    "trade_off",
    "training",
    "u_matrix",
    "units",
]

# The module that each function is in, which is loaded where the function is first asked for.
# (No module is called like a function: a loaded module is an attribute of the package, too.)
_NAMES: Final = {
    "component_planes": "planes",
    "connectivity": "nets",
    "coranking_matrix": "counting",
    "distortion": "curves",
    "embedding": "embeddings",
    "hits": "maps",
    "label_map": "classes",
    "map_in_data": "nets",
    "rank_curves": "curves",
    "rank_quality": "surfaces",
    "shepard_diagram": "counting",
    "silhouettes": "clusters",
    "topographic_function": "curves",
    "trade_off": "choosing",
    "training": "histories",
    "u_matrix": "heights",
    "units": "maps",
}


def __getattr__(name: str) -> Any:
    if name not in _NAMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if find_spec("matplotlib") is None:
        raise ImportError(
            f"ss.plot.{name} needs matplotlib, which is not installed: "
            "pip install 'somscale[plot]'",
            name="matplotlib",
        )
    return getattr(import_module(f"{__name__}.{_NAMES[name]}"), name)


def __dir__() -> list[str]:
    return sorted(__all__)
