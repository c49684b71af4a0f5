"""One page on one result: sections by what was evaluated, in a file that needs no network."""

from __future__ import annotations

import html
import os
from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Final

import xarray as xr

from somscale.engine.planview import Plan
from somscale.errors import InputError
from somscale.reporting.wording import cleaned

__all__ = ["Report", "check_libraries", "report"]

_NEEDED: Final = ("jinja2", "bokeh", "matplotlib")
_HEIGHT: Final = 720


class Report:
    """A page on a result, as :func:`somscale.report` makes it.

    Attributes
    ----------
    html : str
        The page, whole: styles, scripts and pictures are in it.
    title : str
        Its title.
    """

    def __init__(self, page: str, title: str) -> None:
        self.html = page
        self.title = title

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the page to a file, whole or not at all.

        Raises
        ------
        InputError
            The name does not end in ``.html`` or ``.htm``, or leads to a folder, or into one
            that is not there.
        """
        target = _target(path)
        fresh = target.with_name(f".{target.name}.partial")
        fresh.write_text(self.html, "utf-8")
        fresh.replace(target)

    def __repr__(self) -> str:
        return f"<somscale.Report {self.title!r}: {len(self.html.encode()) / 2**20:.1f} MiB>"

    def _repr_html_(self) -> str:
        # without allow-same-origin the page reaches nothing of the notebook's
        return (
            f'<iframe title="{html.escape(self.title)}" sandbox="allow-scripts" width="100%" '
            f'height="{_HEIGHT}" style="border:1px solid #ccc" '
            f'srcdoc="{html.escape(self.html)}"></iframe>'
        )


def report(
    q: xr.Dataset,
    path: str | os.PathLike[str] | None = None,
    *,
    projection: Any = None,
    labels: Any = None,
    plan: Plan | None = None,
    pointwise: xr.DataArray | Mapping[str, xr.DataArray] | None = None,
    title: str | None = None,
) -> Report:
    """Make a page on a result: indices in plain sentences, pictures, cost and provenance.

    Parameters
    ----------
    q : Dataset
        Of :func:`somscale.evaluate` or :func:`somscale.compare`: in memory, or opened from
        Zarr or NetCDF, of which only what is drawn is read.
    path : path, optional
        Where the page is written, as ``.html``; a file that is there is replaced.
    projection : map, path, embedding (sample, component), clusters (sample,), or a dict of them
        What was judged, as :func:`somscale.evaluate` was given it.  Maps say on which grid
        units lie, which else only a rectangle's rows and columns do; an embedding gives the
        places of the points, of which the first two components are drawn; clusters part the
        silhouettes.
    labels : array_like, (sample,), optional
        Classes of the samples, to colour an embedding by.
    plan : Plan, optional
        Of :func:`somscale.plan`, to be shown with its cost.
    pointwise : DataArray, (sample, kappa_s, kappa_t), or a dict of them, optional
        ``pointwise_rank_quality`` at lists of κs and κt, asked for in a call of its own; the
        embedding is coloured by it.  Of several candidates a dict by their names, or one
        array along ``candidate``.
    title : str, optional
        Of the page.

    Returns
    -------
    Report
        With ``html``, and ``save(path)``; shown in a notebook.

    Raises
    ------
    ImportError
        jinja2, bokeh or matplotlib is missing: ``pip install 'somscale[report]'``.
    InputError
        `q` is no result; `projection`, `labels` or `pointwise` are of other candidates,
        samples or units; or the page cannot be written at `path`.

    Notes
    -----
    At most 5,000 samples are drawn, chosen by a fixed seed.  Points are coloured at up to
    8 × 8 pairs (κs, κt), those of `pointwise` and those at which `q` holds
    ``pointwise_rank_quality``: on dims ``kappa_s`` and ``kappa_t``, or one pair a variable.

    Examples
    --------
    >>> import numpy as np, somscale as ss
    >>> samples = np.random.default_rng(0).normal(size=(60, 4))
    >>> plane = samples[:, :2]
    >>> q = ss.evaluate(samples, plane, metrics=["trustworthiness", "rank_quality"])
    >>> shades = ss.metrics.pointwise_rank_quality(samples, plane, kappa_s=[5, 20], kappa_t=[0, 5])
    >>> page = ss.report(q, projection=plane, pointwise=shades, title="Two of four")
    >>> page.title
    'Two of four'
    """
    check_libraries()
    from somscale.reporting.rendering import render
    from somscale.reporting.result import Result
    from somscale.reporting.sections import sections

    if plan is not None and not isinstance(plan, Plan):
        raise InputError(f"plan is what ss.plan returns, not a {type(plan).__name__}")
    if title is not None and not isinstance(title, str):
        raise InputError(f"title is a text, not a {type(title).__name__}")
    if path is not None:
        _target(path)
    result = Result(q)
    own = cleaned(title or _title(result.kind, len(result.candidates)))
    page = Report(render(own, sections(result, projection, labels, plan, pointwise)), own)
    if path is not None:
        page.save(path)
    return page


def _target(path: str | os.PathLike[str]) -> Path:
    if not isinstance(path, str | os.PathLike):
        raise InputError(f"path is the name of a .html file, not a {type(path).__name__}")
    target = Path(path)
    if target.suffix.lower() not in (".html", ".htm"):
        raise InputError(f"a report is written as .html, not {target.name!r}")
    if target.is_dir():
        raise InputError(f"{str(target)!r} is a folder; name a file in it")
    if not target.parent.is_dir():
        raise InputError(f"there is no folder {str(target.parent)!r}; make it first")
    return target


def _title(kind: str, count: int) -> str:
    one, several = {
        "map": ("a self-organizing map", "self-organizing maps"),
        "embedding": ("an embedding", "embeddings"),
        "clusters": ("a clustering", "clusterings"),
    }[kind]
    return f"Quality of {f'{count} {several}' if count > 1 else one}"


def check_libraries() -> None:
    """Say in a sentence which libraries of a report are missing.

    Raises
    ------
    ImportError
        One is.
    """
    missing = [name for name in _NEEDED if find_spec(name) is None]
    if missing:
        raise ImportError(
            f"a report needs {' and '.join(missing)}, which "
            f"{'is' if len(missing) == 1 else 'are'} not installed: pip install 'somscale[report]'",
            name=missing[0],
        )
