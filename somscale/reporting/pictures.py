"""Pictures of :mod:`somscale.plot` in the page, with a text for those who do not see them."""

from __future__ import annotations

import base64
import io
import re
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, Final

import matplotlib as mpl
import numpy as np
import xarray as xr
from matplotlib.axes import Axes
from matplotlib.backends.backend_agg import FigureCanvasAgg
from matplotlib.figure import Figure
from matplotlib.image import imsave
from matplotlib.ticker import Formatter, LogFormatter

from somscale import plot
from somscale.reporting.blocks import Block, Gallery, Picture, Text, number
from somscale.reporting.drawn import draw_of, points_of
from somscale.reporting.feature_fields import MOST_FEATURES, UnitFields, codes_of, unit_fields_of
from somscale.reporting.map_explorer import MOST_UNITS, unit_fields
from somscale.reporting.result import Result
from somscale.reporting.wording import distinct
from somscale.topology import Grid

__all__ = ["Pictures"]

_SIZE: Final = (4.1, 2.9)  # inches
_DOTS: Final = 160
_CURVES: Final = (
    *("r_nx", "q_nx", "trustworthiness", "continuity", "b_nx", "lcmc", "neighborhood_hit"),
)
_FIELDS: Final = (
    *("hits", "u_matrix", "unit_quantization_error", "unit_topographic_error"),
    *("unit_distortion", "unit_label_entropy", "unit_trustworthiness", "unit_continuity"),
)
_MOST_PANELS: Final = 8
_MOST_MAPS: Final = 6
_MOST_NAME: Final = 24
_SETTINGS: Final[dict[Any, Any]] = {
    "text.parse_math": False,  # "$" in a name is a dollar
    "font.family": "DejaVu Sans",  # which comes with matplotlib
    "font.size": 9.0,
}


class Pictures:
    """What matplotlib draws of a result.

    Parameters
    ----------
    result : Result
        The result.
    projection : mapping
        What was judged, by candidate.

    Attributes
    ----------
    drawn : set of str
        Variables that were drawn.
    """

    def __init__(self, result: Result, projection: Mapping[str, Any]) -> None:
        self.result = result
        self.short = distinct(result.heads, _MOST_NAME)
        self.q = result.q.assign_coords(candidate=self.short) if result.candidates else result.q
        self.projection = projection
        self.drawn: set[str] = set()

    def curves(self) -> list[Block]:
        """Indices along K, along the temperature, and along δ."""
        names = {name: plot.rank_curves for n in _CURVES for name in self._along("k", n)}
        names |= {name: plot.distortion for name in self._along("temperature", "distortion")}
        found = self._along("delta", "topographic_function")
        names |= {name: plot.topographic_function for name in found}
        return _gallery([self._curve(name, function) for name, function in names.items()])

    def _along(self, dim: str, index: str) -> list[str]:
        found = self.result.named(index)
        return [
            n for n in found if self.result.own_dims(n) == (dim,) and self.result.q.sizes[dim] > 1
        ]

    def _curve(self, name: str, function: Callable[..., Any]) -> Picture:
        self.drawn.add(name)
        array = self.q[name].compute()
        words = _sentence(array, name)
        held = [n for n in self.result.q.data_vars if str(n).startswith(name)]
        data = self.q[held].compute()
        ends = [_ends(self.result.of(array, c)) for c in range(min(3, len(self.result.heads)))]
        told = "; ".join(f"{h}: {e}" for h, e in zip(self.result.heads, ends, strict=False))
        told = told if self.result.candidates else ends[0]
        alt = f"Curve of {words[:1].lower()}{words[1:]}. {told}"
        return _picture(lambda ax: function(data, name, ax=ax), alt, f"{words}.")

    def distances(self) -> list[Block]:
        """Shepard diagrams."""
        names = list(self.result.named("shepard_diagram"))
        if "shepard_diagram" not in names:
            return []
        self.drawn.add("shepard_diagram")
        pictures = []
        for place, head in enumerate(self.result.heads[:_MOST_PANELS]):
            own = self.q["shepard_diagram"]
            own = (own.isel(candidate=place) if self.result.candidates else own).compute()
            whose = f" of {head}" if self.result.candidates else ""
            words = (
                f"Shepard diagram{whose}: pairs of samples by their distances in the data and in "
                "the projection"
            )
            pictures.append(_picture(_drawer(plot.shepard_diagram, own), words, f"{words}."))
        return [*_gallery(pictures), *self._beyond()]

    def front(self) -> list[Block]:
        """Quantization against topographic error of compared maps."""
        if "on_front" not in self.result.q:
            return []
        q = self.q.drop_vars(self.result.arrays).compute()
        names = [
            n for n, on in zip(self.result.candidates, q["on_front"].values, strict=True) if on
        ]
        words = "Quantization against topographic error of each map"
        alt = f"{words}; on the front, where no other is as low in both: {', '.join(names)}"
        return _gallery(
            [_picture(_drawer(plot.trade_off, q), alt, f"{words}; both are better low.")]
        )

    def silhouettes(self) -> list[Block]:
        """Silhouettes of the drawn samples by cluster, where the clusters are given."""
        names = list(self.result.named("sample_silhouette"))
        if not names or not self.projection or self.result.n_samples is None:
            return []
        name = names[0]
        drawn = draw_of(self.result)
        dims = self.result.sample_dims(name)
        given = [(c, self.projection.get(h)) for c, h in enumerate(self.result.heads)]
        pictures = []
        for place, clusters in [(c, own) for c, own in given if own is not None][:_MOST_PANELS]:
            own = self.result.of(self.result.array(name), place)
            values = drawn.of(own, dims)
            labels = points_of(clusters, drawn, dims, self.result.q[name], "the clustering")
            whose = f" of {self.result.heads[place]}" if self.result.candidates else ""
            words = f"Silhouettes{whose}, sorted within each cluster"
            alt = f"{words}; mean {number(float(np.nanmean(values)))}"
            pictures.append(
                _picture(_drawer(plot.silhouettes, values, labels), alt, f"{words}.", (4.6, 3.8))
            )
        self.drawn.add(name)
        return [*_gallery(pictures), Text([drawn.words])]

    def maps(self, grids: Sequence[Grid | None]) -> list[Block]:
        """Fields of units, on their maps."""
        fields = list(self._fields(all(g is None or g.size > MOST_UNITS for g in grids)))
        places = [(c, g) for c, g in enumerate(grids) if g is not None]
        few = fields[: max(1, _MOST_MAPS // max(1, len(places)))]
        pictures = [
            self._field(name, array, place, grid)
            for place, grid in places[:_MOST_PANELS]
            for name, array in few
        ]
        return _gallery(pictures)

    def _fields(self, every: bool) -> Iterator[tuple[str, xr.DataArray]]:
        found = dict(unit_fields(self.result))
        for index in _FIELDS:
            for name in self.result.named(index):
                if name in found:
                    yield name, found.pop(name)
        if every:
            yield from found.items()

    def _field(self, name: str, array: xr.DataArray, place: int, grid: Grid) -> Picture:
        own = self.result.of(array, place).isel(unit=slice(grid.size)).compute()
        if "candidate" in own.coords:
            own = own.assign_coords(candidate=self.short[place])
        words = _sentence(own, name)
        whose = f", {self.result.heads[place]}" if self.result.candidates else ""
        finite = own.values[np.isfinite(own.values)]
        told = (
            f"from {number(float(finite.min()))} to {number(float(finite.max()))}"
            if finite.size
            else ""
        )
        alt = f"Map of {words[:1].lower()}{words[1:]}{whose}: {told or 'no values'}"
        return _picture(_drawer(plot.units, own, grid), alt, f"{words}{whose}.")

    def features(self, grids: Sequence[Grid | None]) -> list[Block]:
        """Composites, or code vectors, of up to twelve units of each map, as fields."""
        found = [*self.result.named("composite"), *self.result.named("codes")]
        pictures = []
        for place, grid in enumerate(grids[:MOST_FEATURES]):
            som = self.projection.get(self.result.heads[place])
            if found:
                array = self.result.of(self.result.array(found[0]), place)
            elif som is not None:
                array = codes_of(som)
            else:
                continue
            own = unit_fields_of(self.result, array, place, grid)
            if own is not None:
                pictures.append(self._feature(own, place))
                self.drawn |= set(found[:1])
        if not pictures:
            return []
        beyond = len(grids) - MOST_FEATURES
        few = [f"The first {MOST_FEATURES} of {len(grids)} maps have their fields here."]
        return [Gallery(pictures, wide=True), *([Text(few)] if beyond > 0 else [])]

    def _feature(self, own: UnitFields, place: int) -> Picture:
        whose = f", {self.result.heads[place]}" if self.result.candidates else ""
        count = own.values.sizes["unit"]
        _, up, across = own.values.dims
        alt = f"{own.words}{whose}: fields of {count} units over {across} and {up}, {own.told}"
        rows = -(-count // 4)
        caption = f"{own.words}{whose}: {own.which}, each with its row and column."
        return _figure(own.draw, alt, caption, (9.0, 0.7 + 1.5 * rows))

    def _beyond(self) -> list[Block]:
        count = len(self.result.heads)
        if count <= _MOST_PANELS:
            return []
        return [Text([f"The first {_MOST_PANELS} of {count} candidates are drawn."])]


def _gallery(pictures: Sequence[Picture]) -> list[Block]:
    return [Gallery(pictures)] if pictures else []


def _drawer(function: Callable[..., Any], *data: Any) -> Callable[[Axes], Any]:
    return lambda ax: function(*data, ax=ax)


def _sentence(array: xr.DataArray, name: str) -> str:
    words = str(array.attrs.get("long_name", name))
    units = str(array.attrs.get("units", "1"))
    words = f"{words[:1].upper()}{words[1:]}"
    return words if units in ("", "1") else f"{words} [{units}]"


def _ends(array: xr.DataArray) -> str:
    """Where a curve begins and ends."""
    values = np.asarray(array.values, dtype=float)
    known = np.flatnonzero(np.isfinite(values))
    if not known.size:
        return "no values"
    along = array[array.dims[0]].values
    first, last = (f"{number(float(values[p]))} at {along[p]:g}" for p in (known[0], known[-1]))
    return f"{first} to {last}"


def _picture(
    draw_on: Callable[[Axes], Any], alt: str, caption: str, size: tuple[float, float] = _SIZE
) -> Picture:
    """What is drawn on axes, as PNG in the page."""
    return _figure(lambda figure: draw_on(figure.subplots()), alt, caption, size)


def _figure(
    draw_in: Callable[[Figure], Any], alt: str, caption: str, size: tuple[float, float]
) -> Picture:
    """What is drawn in a figure, as PNG in the page."""
    file = io.BytesIO()
    with mpl.rc_context(_SETTINGS), warnings.catch_warnings():
        # names in scripts that the font lacks become boxes; the caption has them
        warnings.filterwarnings("ignore", r"Glyph \d+ .* missing from", UserWarning)
        # long names may leave no room: the picture is crowded then, but there
        warnings.filterwarnings("ignore", "constrained_layout not applied", UserWarning)
        figure = Figure(figsize=size, dpi=_DOTS, layout="constrained")
        draw_in(figure)
        _write_powers(figure)
        canvas: Any = FigureCanvasAgg(figure)
        canvas.draw()  # once: savefig draws everything twice
        facts: Any = {"Software": None}
        imsave(file, canvas.buffer_rgba(), format="png", metadata=facts)
    source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
    return Picture(source, alt, caption, round(96 * size[0]))


_SUPERSCRIPTS: Final = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")


class _Powers(Formatter):
    """Powers of ten without mathtext, which is switched off for the sake of names with "$"."""

    def __init__(self, inner: Formatter) -> None:
        self.inner = inner

    def __call__(self, x: float, pos: int | None = None) -> str:
        text = re.sub(r"\$\\mathdefault\{(.*)\}\$", r"\1", self.inner(x, pos))
        text = text.replace(r"\times", "×")
        return re.sub(r"\^\{([-0-9]*)\}", lambda found: found[1].translate(_SUPERSCRIPTS), text)

    def set_locs(self, locs: Any) -> None:
        self.inner.set_locs(locs)


def _write_powers(figure: Figure) -> None:
    for axis in (axis for ax in figure.axes for axis in (ax.xaxis, ax.yaxis)):
        major, minor = axis.get_major_formatter(), axis.get_minor_formatter()
        if isinstance(major, LogFormatter):
            axis.set_major_formatter(_Powers(major))
        if isinstance(minor, LogFormatter):
            axis.set_minor_formatter(_Powers(minor))
