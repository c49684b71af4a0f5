"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const json = (id) => JSON.parse($(id).textContent);
  const bytes = (text) => Uint8Array.from(atob(text), (c) => c.charCodeAt(0));
  const floats = (text) => new Float32Array(bytes(text).buffer);

  // tables ---------------------------------------------------------------------------------
  const collator = new Intl.Collator("en", { numeric: true });
  const compare = (a, b, sign) => {
    const [x, y] = [a.dataset.order, b.dataset.order];
    if (x === "" || y === "") return (x === "") - (y === "");
    const both = "number" in a.dataset && "number" in b.dataset;
    return sign * (both ? Number(x) - Number(y) : collator.compare(x, y));
  };
  for (const table of document.querySelectorAll("table.sortable")) {
    const heads = [...table.tHead.rows[0].cells];
    heads.forEach((head, column) => {
      head.querySelector("button").addEventListener("click", () => {
        const down = head.getAttribute("aria-sort") === "ascending";
        heads.forEach((other) => other.removeAttribute("aria-sort"));
        head.setAttribute("aria-sort", down ? "descending" : "ascending");
        const rows = [...table.tBodies[0].rows];
        rows.sort((a, b) => compare(a.cells[column], b.cells[column], down ? -1 : 1));
        table.tBodies[0].append(...rows);
      });
    });
  }

  // numbers and colours --------------------------------------------------------------------
  const shown = (value) => {
    if (!Number.isFinite(value)) return "–";
    if (Number.isInteger(value)) return value.toLocaleString("en").replace("-", "−");
    return String(Number(value.toPrecision(4))).replace("-", "−");
  };
  const withUnits = (name, units) => (units && units !== "1" ? `${name} [${units}]` : name);
  const better = { higher: ", higher is better", lower: ", lower is better", zero: ", 0 is best" };
  const CLASSES = ["#0072b2", "#e69f00", "#009e73", "#cc79a7", "#56b4e9", "#d55e00",
    "#f0e442", "#882255", "#332288", "#999933", "#8c8c8c"];
  const mix = (a, b, t) => a.map((v, i) => Math.round(v + (b[i] - v) * t));
  const ANCHORS = [[33, 102, 172], [146, 197, 222], [247, 247, 247], [244, 165, 130], [178, 24, 43]];
  const DIVERGING = Array.from({ length: 255 }, (_, i) => {
    const at = (i / 254) * 4;
    const low = Math.min(3, Math.floor(at));
    const rgb = mix(ANCHORS[low], ANCHORS[low + 1], at - low);
    return `#${rgb.map((v) => v.toString(16).padStart(2, "0")).join("")}`;
  });
  let SEQUENTIAL = [];

  const paint = (mapper, low, high, palette) => {
    mapper.setv({ low, high: high > low ? high : low + 1, palette });
  };
  const ends = (values) => {
    let [low, high] = [Infinity, -Infinity];
    for (const v of values) if (Number.isFinite(v)) { low = Math.min(low, v); high = Math.max(high, v); }
    return low <= high ? [low, high] : [0, 1];
  };

  const embed = async (item, id) => {
    await Bokeh.embed.embed_item(item, id);
    const own = Bokeh.documents[Bokeh.documents.length - 1];
    return (name) => own.get_model_by_name(name);
  };
  const pointed = {};
  window.addEventListener("somscale", (event) => pointed[event.detail.what]?.(event.detail));

  // a map ----------------------------------------------------------------------------------
  const showMap = async () => {
    const data = json("data-map");
    const figures = json("figures-map");
    data.maps.forEach((map) => { map.values = map.fields.map(floats); });
    const made = [];
    const state = { map: 0, field: 0, unit: 0 };

    const row = (name, value) => {
      const tr = document.createElement("tr");
      const th = document.createElement("th");
      const td = document.createElement("td");
      th.scope = "row";
      th.textContent = name;
      td.textContent = value;
      tr.append(th, td);
      return tr;
    };
    const showUnit = () => {
      const map = data.maps[state.map];
      const unit = state.unit;
      $("map-place").textContent = `Unit ${unit} (row ${map.rows[unit]}, column ${map.cols[unit]})`;
      const rows = data.fields.map((field, i) =>
        row(withUnits(field.long_name || field.name, field.units), shown(map.values[i][unit])));
      if (map.classes) {
        rows.unshift(row("most frequent class", data.classes[map.classes[unit]] ?? "–"));
      }
      $("map-values").replaceChildren(...rows);
      $("map-unit").value = unit;
      const cells = made[state.map]("units").data;
      made[state.map]("unit_cursor").data = { x: [cells.x[unit]], y: [cells.y[unit]] };
    };
    const showField = () => {
      const [map, field] = [data.maps[state.map], data.fields[state.field]];
      const values = map.values[state.field];
      const source = made[state.map]("units");
      const [low, high] = ends(values);
      const signed = low < 0 && high > 0;
      const most = Math.max(-low, high);
      const mapper = made[state.map]("unit_colors");
      paint(mapper, signed ? -most : low, signed ? most : high, signed ? DIVERGING : SEQUENTIAL);
      source.data = { ...source.data, value: values };
      const words = withUnits(field.long_name || field.name, field.units);
      $("map-caption").textContent = `Colour: ${words}${better[field.direction] ?? ""}`;
    };
    const showCandidate = async () => {
      for (let i = 0; i < data.maps.length; i += 1) $(`map-figure-${i}`).hidden = i !== state.map;
      if (!made[state.map]) {
        made[state.map] = await embed(figures[state.map], `map-figure-${state.map}`);
        SEQUENTIAL = SEQUENTIAL.length ? SEQUENTIAL : made[state.map]("unit_colors").palette;
      }
      $("map-unit").max = data.maps[state.map].rows.length - 1;
      state.unit = Math.min(state.unit, data.maps[state.map].rows.length - 1);
      showField();
      showUnit();
    };
    pointed.unit = ({ x, y }) => {
      const cells = made[state.map]("units").data;
      let [best, near] = [0.75, -1];
      for (let i = 0; i < cells.x.length; i += 1) {
        const far = Math.hypot(cells.x[i] - x, cells.y[i] - y);
        if (far < best) [best, near] = [far, i];
      }
      if (near >= 0 && near !== state.unit) {
        state.unit = near;
        showUnit();
      }
    };
    $("map-field").addEventListener("change", (e) => { state.field = Number(e.target.value); showField(); });
    $("map-unit").addEventListener("input", (e) => {
      const unit = Number(e.target.value);
      if (e.target.value === "" || !(unit in data.maps[state.map].rows)) return;
      state.unit = unit;
      showUnit();
    });
    $("map-candidate")?.addEventListener("change", (e) => { state.map = Number(e.target.value); showCandidate(); });
    await showCandidate();
  };

  // ranks ----------------------------------------------------------------------------------
  const showRanks = async () => {
    const data = json("data-ranks");
    const figures = json("figures-ranks");
    const { heat, points } = data;
    const state = { candidate: 0, s: heat?.at[0] ?? 0, t: heat?.at[1] ?? 0 };
    const heatModel = heat && await embed(figures[0], "heat-figure");
    const pointModel = points && await embed(figures[figures.length - 1], "points-figure");
    SEQUENTIAL = (heatModel?.("heat_colors") ?? pointModel("point_colors")).palette;
    const colour = $("ranks-colour");

    const showHeat = () => {
      const values = floats(heat.values[state.candidate]);
      const shape = [heat.kappa_t.length, heat.kappa_s.length];
      const source = heatModel("heat");
      const image = source.data.image[0];
      const fresh = new image.constructor(values.buffer, image.shape ?? shape, image.dtype);
      source.data = { image: [fresh] };
      paint(heatModel("heat_colors"), heat.low, heat.high, SEQUENTIAL);
      heat.now = values;
    };
    const showCursor = () => {
      heatModel("heat_cursor").data = { x: [state.s], y: [state.t] };
      const [s, t] = [heat.kappa_s[state.s], heat.kappa_t[state.t]];
      [$("ranks-s").value, $("ranks-t").value] = [state.s, state.t];
      [$("ranks-s-value").value, $("ranks-t-value").value] = [s, t];
      const value = heat.now[state.t * heat.kappa_s.length + state.s];
      $("heat-caption").textContent = `Q′(κs = ${s}, κt = ${t}) = ${shown(value)}`;
    };
    // the nearest pair by ratios: 1 and 2 lie as far apart as 50 and 100
    const nearest = () => {
      if (!heat) return 0;
      const [s, t] = [heat.kappa_s[state.s], heat.kappa_t[state.t]].map((v) => Math.log1p(v));
      const far = points.pairs.map(([ps, pt]) => Math.hypot(Math.log1p(ps) - s, Math.log1p(pt) - t));
      return far.indexOf(Math.min(...far));
    };
    const spread = (text, low, high) => Float32Array.from(bytes(text), (step) =>
      step === 255 ? NaN : low + (step / 254) * (high - low));
    const showLegend = (names) => {
      const legend = $("points-legend");
      legend.hidden = !names;
      legend.replaceChildren(...(names ?? []).map((name, i) => {
        const item = document.createElement("li");
        const dot = document.createElement("span");
        dot.style.background = CLASSES[i];
        item.append(dot, name);
        return item;
      }));
    };
    const setValues = (value) => {
      const source = pointModel("points");
      source.data = { ...source.data, value };
    };
    const showColours = () => {
      const mapper = pointModel("point_colors");
      const bar = pointModel("point_bar");
      bar.visible = colour.value !== "classes" && colour.value !== "nothing";
      showLegend(null);
      let words = "";
      if (colour.value === "classes") {
        const own = points.classes;
        paint(mapper, -0.5, 10.5, CLASSES);
        const places = bytes(own.values);
        const last = own.names.length;
        setValues(Float32Array.from(places));
        showLegend(last < 10 || !own.others.length ? own.names : [...own.names, ...own.others]);
        words = "Colour: labels";
      } else if (colour.value === "nothing") {
        paint(mapper, -0.5, 10.5, CLASSES);
        setValues(new Float32Array(pointModel("points").data.x.length));
        words = "The drawn samples";
      } else if (colour.value === "shades") {
        const pair = nearest();
        const own = points.shades[pair];
        paint(mapper, own.low, own.high, SEQUENTIAL);
        setValues(spread(own.values[state.candidate], own.low, own.high));
        const [s, t] = points.pairs[pair];
        words = `Colour: quality of ranks of each sample at κs = ${s}, κt = ${t}`;
      } else {
        const field = points.fields[Number(colour.value)];
        paint(mapper, field.low, field.high, SEQUENTIAL);
        setValues(spread(field.values[state.candidate], field.low, field.high));
        words = `Colour: ${withUnits(field.name, field.units)}`;
      }
      $("points-caption").textContent = words;
    };
    const showPoints = () => {
      const own = points.x[state.candidate];
      const count = pointModel("points").data.x.length;
      const nothing = new Float32Array(count).fill(NaN);
      const source = pointModel("points");
      source.data = {
        ...source.data,
        x: own ? floats(own) : nothing,
        y: own ? floats(points.y[state.candidate]) : nothing,
      };
      showColours();
    };
    const choose = (s, t) => {
      const inside = (v, list) => Math.max(0, Math.min(list.length - 1, Math.round(v)));
      state.s = inside(s, heat.kappa_s);
      state.t = inside(t, heat.kappa_t);
      showCursor();
      if (points && colour.value === "shades") showColours();
    };
    if (heat) {
      showHeat();
      showCursor();
      pointed.heat = ({ x, y }) => choose(x, y);
      $("ranks-s").addEventListener("input", (e) => choose(Number(e.target.value), state.t));
      $("ranks-t").addEventListener("input", (e) => choose(state.s, Number(e.target.value)));
    }
    if (points) {
      showPoints();
      colour.addEventListener("change", showColours);
    }
    $("ranks-candidate")?.addEventListener("change", (e) => {
      state.candidate = Number(e.target.value);
      if (heat) { showHeat(); showCursor(); }
      if (points) showPoints();
    });
  };

  // the library runs once the text is on the screen, which without it takes no time
  const painted = () => new Promise((resolve) => {
    if (document.hidden) resolve();
    else requestAnimationFrame(() => setTimeout(resolve));
    setTimeout(resolve, 500);
  });
  const loadLibrary = () => {
    const script = document.createElement("script");
    script.textContent = $("library").textContent;
    document.body.append(script);
  };

  const start = async () => {
    if ($("library")) {
      await painted();
      loadLibrary();
    }
    if ($("explorer-map")) await showMap();
    if ($("explorer-ranks")) await showRanks();
    document.documentElement.dataset.ready = "yes";
  };
  start();
})();
