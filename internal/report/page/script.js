"use strict";
// The script adds values under the pointer, other horizontal axes, a switch between vertical axes,
// and buttons that copy commands. The page is complete without it.
(() => {
  const charts = JSON.parse(document.getElementById("charts").textContent) || [];

  const share = (scale, v) => {
    if (scale.log) v = Math.log10(Math.max(v, 10 ** scale.lo));
    return (v - scale.lo) / (scale.hi - scale.lo);
  };
  const number = (v, percent) => {
    if (v === null || v === undefined) return "";
    if (percent) return (100 * v).toFixed(2) + "%";
    const a = Math.abs(v);
    if (a !== 0 && (a < 1e-3 || a >= 1e6)) return v.toExponential(2);
    return String(Number(v.toPrecision(4)));
  };
  const round = (v) => Math.round(10 * v) / 10;

  const start = (data) => {
    const figure = document.getElementById(data.id);
    const find = (name) => figure.querySelector(name);
    const plot = find(".plot"), area = find(".area"), cursor = find(".cursor"), at = find(".at"), button = find(".log");
    const lines = figure.querySelectorAll("path.line"), bands = figure.querySelectorAll("path.band"), sets = figure.querySelectorAll(".marks .set");
    const levels = figure.querySelectorAll("line.level"), values = figure.querySelectorAll(".legend .value");
    const finals = [...values].map((e) => e.textContent);
    const marked = [...sets].map((s) => s.children.length > 0);
    let view = 0, log = data.log, place = null;

    const curve = (k) => {
      const own = data.views[view].curves[k];
      return {
        x: own.x || data.views[view].curves[0].x, y: own.y || data.views[0].curves[k].y || [], low: own.low, high: own.high, notes: own.notes,
      };
    };
    const scales = () => {
      const v = data.views[view];
      return [v.x, log && v.logY ? v.logY : v.y];
    };
    const path = (xs, ys, x, y) => {
      let d = "", pen = "M";
      for (let i = 0; i < xs.length; i++) {
        if (ys[i] === null) { pen = "M"; continue; }
        d += pen + round(1000 * share(x, xs[i])) + " " + round(1000 - 1000 * share(y, ys[i]));
        pen = "L";
      }
      return d;
    };
    const labels = (box, ticks, side) => {
      box.replaceChildren(...ticks.map((t) => {
        const span = document.createElement("span");
        span.textContent = t.label;
        span.style[side] = 100 * t.at + "%";
        return span;
      }));
    };
    const mark = (box, x, y, name) => {
      const dot = document.createElement("i");
      dot.style.left = 100 * x + "%";
      dot.style.top = 100 - 100 * y + "%";
      if (name) dot.className = name;
      box.append(dot);
    };
    const draw = () => {
      const [x, y] = scales();
      labels(find(".xlabels"), x.ticks, "left");
      labels(find(".ylabels"), y.ticks, "bottom");
      find(".axis").textContent = data.views[view].axis;
      const grid = find(".grid");
      grid.replaceChildren(...y.ticks.map((t) => {
        const line = document.createElementNS("http://www.w3.org/2000/svg", "line");
        const h = 1000 - 1000 * t.at;
        for (const [name, v] of [["x1", 0], ["x2", 1000], ["y1", h], ["y2", h]]) line.setAttribute(name, v);
        return line;
      }));
      data.lines.forEach((l, k) => {
        const c = curve(k);
        if (!l.dot) lines[k].setAttribute("d", path(c.x, c.y, x, y));
        if (c.low) bands[k].setAttribute("d", path([...c.x, ...c.x.slice().reverse()], [...c.low, ...c.high.slice().reverse()], x, y) + "Z");
        if (marked[k]) {
          sets[k].replaceChildren();
          c.x.forEach((v, i) => { if (c.y[i] !== null) mark(sets[k], share(x, v), share(y, c.y[i])); });
        }
      });
      levels.forEach((e, k) => {
        const h = 1000 - 1000 * share(y, data.levels[k]);
        e.setAttribute("y1", h);
        e.setAttribute("y2", h);
      });
      clear();
    };
    const clear = () => {
      place = null;
      cursor.hidden = at.hidden = true;
      values.forEach((e, k) => { e.textContent = finals[k]; });
    };
    // The places of the cursor are the points of all curves.
    const places = () => {
      const all = new Set();
      data.lines.forEach((l, k) => { if (values[k] && finals[k] !== "") curve(k).x.forEach((v) => all.add(v)); });
      return [...all].sort((a, b) => a - b);
    };
    const nearest = (xs, v) => {
      let lo = 0, hi = xs.length - 1;
      while (hi - lo > 1) {
        const mid = (lo + hi) >> 1;
        if (xs[mid] <= v) lo = mid; else hi = mid;
      }
      return Math.abs(xs[lo] - v) <= Math.abs(xs[hi] - v) ? lo : hi;
    };
    const show = (v) => {
      const [x, y] = scales();
      place = v;
      cursor.hidden = at.hidden = false;
      cursor.replaceChildren();
      cursor.style.setProperty("--x", 100 * share(x, v) + "%");
      let notes = "";
      data.lines.forEach((l, k) => {
        if (finals[k] === "") return;
        const c = curve(k);
        const i = nearest(c.x, v);
        const outside = c.x.length > 1 && (v < c.x[0] || v > c.x[c.x.length - 1]);
        if (i < 0 || outside || c.y[i] === null || c.y[i] === undefined) { values[k].textContent = "–"; return; }
        let text = number(c.y[i], data.percentY);
        if (c.low && c.low[i] !== null) text += " (" + number(c.low[i], data.percentY) + " to " + number(c.high[i], data.percentY) + ")";
        values[k].textContent = text;
        if (c.notes && c.x[i] === v && !notes.includes(c.notes[i])) notes += " · " + c.notes[i];
        const name = [...figure.querySelectorAll(".legend .key")][k].className.replace("key", "");
        mark(cursor, share(x, c.x[i]), share(y, c.y[i]), name);
      });
      at.textContent = data.views[view].axis + " " + number(v, data.percentX) + notes;
    };
    const move = (event) => {
      const box = area.getBoundingClientRect();
      const [x] = scales();
      const v = x.lo + (x.hi - x.lo) * Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      const all = places();
      if (all.length > 0) show(all[nearest(all, v)]);
    };
    area.addEventListener("pointermove", move);
    area.addEventListener("pointerdown", move);
    area.addEventListener("pointerleave", (event) => { if (event.pointerType === "mouse") clear(); });
    plot.addEventListener("keydown", (event) => {
      const all = places();
      if (all.length === 0) return;
      const now = place === null ? all.length - 1 : all.indexOf(place);
      const step = event.shiftKey ? Math.max(1, Math.round(all.length / 20)) : 1;
      const to = { ArrowLeft: now - step, ArrowRight: now + step, Home: 0, End: all.length - 1 }[event.key];
      if (event.key === "Escape") clear();
      if (to === undefined) return;
      event.preventDefault();
      show(all[Math.min(all.length - 1, Math.max(0, to))]);
    });
    if (button) {
      button.hidden = false;
      button.addEventListener("click", () => {
        log = !log;
        button.setAttribute("aria-pressed", log);
        draw();
      });
    }
    return { figure, axes: data.views.map((v) => v.axis), choose: (k) => { view = k; draw(); } };
  };

  const drawn = charts.map(start);
  document.querySelectorAll(".charts").forEach((section) => {
    const own = drawn.filter((c) => section.contains(c.figure) && c.axes.length > 1);
    const box = section.querySelector(".axes");
    if (own.length === 0 || !box) return;
    box.hidden = false;
    own[0].axes.forEach((name, k) => {
      const button = document.createElement("button");
      button.type = "button";
      button.textContent = name;
      button.setAttribute("aria-pressed", k === 0);
      button.addEventListener("click", () => {
        box.querySelectorAll("button").forEach((b) => b.setAttribute("aria-pressed", b === button));
        own.forEach((c) => c.choose(k));
      });
      box.append(button);
    });
  });
  if (navigator.clipboard) {
    document.querySelectorAll(".copy").forEach((button) => {
      button.hidden = false;
      button.addEventListener("click", async () => {
        await navigator.clipboard.writeText(button.parentElement.querySelector("code").textContent);
        button.textContent = "copied";
        setTimeout(() => { button.textContent = "copy"; }, 1500);
      });
    });
  }
})();
